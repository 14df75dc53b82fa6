import Foundation
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// What a call throws when a suspension ends it.
///
/// An app repeats such a call after `resume()`, so its error must not look like any other failure.
struct SuspendedCallTests {
    private let database: TemporaryDatabase

    private static let endless = AsyncQueueTests.endless
    private static let endlessInsert =
        "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) INSERT INTO t SELECT i FROM n"

    init() throws { database = try TemporaryDatabase() }

    private func openPool() throws -> SecureDatabasePool {
        let pool = try database.openPool()
        try pool.write { try $0.executeUpdate("CREATE TABLE t (x)") }
        return pool
    }

    private func openQueue() throws -> SecureDatabaseQueue {
        let db = try database.openStore()
        try db.executeUpdate("CREATE TABLE t (x)")
        return SecureDatabaseQueue(databaseStore: db)
    }

    /// Returns what `call` throws if `database` is suspended while it runs.
    private func error(
        suspending database: any SuspendableDatabase, during call: @Sendable () throws -> Void
    ) -> (any Error)? {
        let hasEnded = DispatchSemaphore(value: 0)
        let hasSuspended = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            usleep(50_000)
            // A suspension announced before anything runs refuses the call with the same error,
            // which is just as correct.
            database.suspend(waiting: .milliseconds(50))
            hasEnded.wait()
            database.resume()
            hasSuspended.signal()
        }
        var thrown: (any Error)?
        do { try call() } catch { thrown = error }
        hasEnded.signal()
        hasSuspended.wait()
        return thrown
    }

    @Test func `a queue's statement that a suspension ends throws suspended`() throws {
        let queue = try openQueue()
        let calls: [@Sendable () throws -> Void] = [
            { try queue.inDatabase { _ = try $0.int(Self.endless) } },
            { try queue.inDatabase { try $0.executeUpdate(Self.endlessInsert) } },
            {
                try queue.inTransaction {
                    try $0.executeUpdate("INSERT INTO t VALUES (1)")
                    try $0.executeStatements(Self.endless)
                    return false
                }
            },
            {
                try queue.inDatabase {
                    let rows = try $0.executeQuery(
                        "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n")
                    while try rows.next() {}
                }
            },
        ]
        for call in calls {
            let thrown = error(suspending: queue, during: call)
            check(thrown as? SecureStorageError, equals: .suspended, "\(thrown as Any)")
        }
        try check(queue.inDatabase { try $0.int("SELECT count(*) FROM t") }, equals: 0)
    }

    @Test func `a pool's statement that a suspension ends throws suspended`() throws {
        let pool = try openPool()
        let calls: [@Sendable () throws -> Void] = [
            { try pool.read { _ = try $0.int(Self.endless) } },
            { try pool.write { try $0.executeUpdate(Self.endlessInsert) } },
            { try pool.writeWithoutTransaction { try $0.executeUpdate(Self.endlessInsert) } },
        ]
        for call in calls {
            let thrown = error(suspending: pool, during: call)
            check(thrown as? SecureStorageError, equals: .suspended, "\(thrown as Any)")
        }
        try check(pool.read { try $0.int("SELECT count(*) FROM t") }, equals: 0)
    }

    @Test func `a wait for a lock that a suspension ends throws suspended`() throws {
        let db = try database.openStore()
        let store = try SecureKeyValueStore(databaseStore: db, name: "settings")
        let queue = SecureDatabaseQueue(databaseStore: db)
        let other = try database.openStore()
        try other.beginExclusiveTransaction()
        let thrown = error(suspending: queue) { try store.put("v", forKey: "k") }
        check(thrown as? SecureStorageError, equals: .suspended, "\(thrown as Any)")
        try other.rollback()
        try store.put("v", forKey: "k")
        try check(store.getString("k"), equals: "v")
    }

    @Test func `asynchronous calls that a suspension ends throw suspended`()
        async throws
    {
        let pool = try openPool()
        let writing = Task { try await pool.write { try $0.executeUpdate(Self.endlessInsert) } }
        let reading = Task { try await pool.read { _ = try $0.int(Self.endless) } }
        try await Task.sleep(for: .milliseconds(100))
        await check(Task.detached { pool.suspend(waiting: .milliseconds(50)) }.value)
        await #expect(throws: SecureStorageError.suspended) { try await writing.value }
        await #expect(throws: SecureStorageError.suspended) { try await reading.value }
        pool.resume()
        await pool.close()

        let queue = SecureDatabaseQueue(databaseStore: try database.openStore())
        let counting = Task { try await queue.inDatabase { _ = try $0.int(Self.endless) } }
        try await Task.sleep(for: .milliseconds(100))
        await check(Task.detached { queue.suspend(waiting: .milliseconds(50)) }.value)
        await #expect(throws: SecureStorageError.suspended) { try await counting.value }
    }

    /// The suspension ends with `resume()`, which may come before the statement has noticed it.
    @Test func `a statement throws suspended even if the suspension is over when it ends`() throws {
        let queue = try openQueue()
        let begun = DispatchSemaphore(value: 0)
        let resumed = DispatchSemaphore(value: 0)
        try queue.inDatabase { db in
            try db.makeFunction(named: "wait_once", argumentCount: 0) { _ in
                begun.signal()
                resumed.wait()
                resumed.signal()
                return 1
            }
        }
        Thread.detachNewThread {
            begun.wait()
            Thread.detachNewThread {
                usleep(300_000)
                queue.resume()
                resumed.signal()
            }
            queue.suspend(waiting: .zero)
        }
        let error = storageError {
            try queue.inTransaction { db in
                try db.executeUpdate("INSERT INTO t VALUES (0)")
                try db.executeUpdate(
                    "WITH n(i) AS (SELECT wait_once() UNION ALL SELECT i + 1 FROM n) "
                        + "INSERT INTO t SELECT i FROM n")
                return false
            }
        }
        check(error, equals: .suspended, "\(error as Any)")
        // The error belongs to that suspension, not to the next interruption.
        let interrupter = Rounds()
        Thread.detachNewThread {
            while !interrupter.isOver {
                queue.interrupt()
                usleep(1000)
            }
        }
        let next = storageError { try queue.inDatabase { _ = try $0.int(Self.endless) } }
        interrupter.end()
        check(next?.code, equals: 9)
    }

    @Test(arguments: [true, false])
    func `a loop over rows that a suspension ends throws suspended`(
        _ isPool: Bool
    ) async throws {
        let pool = isPool ? try openPool() : nil
        let queue = isPool ? nil : try openQueue()
        let counting =
            "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
        // One loop is between two rows, the other waits for its first.
        for query in [counting, Self.endless] {
            let (begun, beginning) = AsyncStream.makeStream(of: Void.self)
            let select = { @Sendable (db: SecureDatabaseStore) in
                beginning.yield()
                return try db.executeQuery(query)
            }
            let rows = pool?.rows(as: Int.self, select) ?? queue?.rows(as: Int.self, select)
            let loop = Task {
                var count = 0
                if let rows { for try await _ in rows { count += 1 } }
                return count
            }
            // A loop that begins after `resume()` would be endless.
            for await _ in begun { break }
            try await Task.sleep(for: .milliseconds(50))
            await Task.detached {
                _ =
                    pool?.suspend(waiting: .milliseconds(50))
                    ?? queue?.suspend(waiting: .milliseconds(50))
            }.value
            pool?.resume()
            queue?.resume()
            await #expect(throws: SecureStorageError.suspended) { _ = try await loop.value }
        }
    }

    @Test func `a loop over rows whose pool is closed throws closed`() async throws {
        let pool = try openPool()
        var rows = pool.rows(as: Int.self) {
            try $0.executeQuery(
                "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n")
        }.makeAsyncIterator()
        try await check(rows.next(), equals: 1)
        await Task.detached { pool.close() }.value
        await #expect(throws: SecureStorageError.closed) { while try await rows.next() != nil {} }
    }
}
