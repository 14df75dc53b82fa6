import Foundation
import SecureStorage
import Testing
import TestSupport

/// A process that releases a file in a shared container for a while.
struct SuspensionTests {
    private let database: TemporaryDatabase

    private static let endless =
        "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"

    init() throws { database = try TemporaryDatabase() }

    private func openPool() throws -> SecureDatabasePool {
        let pool = try database.openPool()
        try pool.write {
            try $0.executeStatements(
                "CREATE TABLE IF NOT EXISTS t (x); INSERT INTO t VALUES ('before')")
        }
        return pool
    }

    private func openQueue() throws -> SecureDatabaseQueue {
        let db = try database.openStore()
        try db.executeStatements(
            "CREATE TABLE IF NOT EXISTS t (x); INSERT INTO t VALUES ('before')")
        return SecureDatabaseQueue(databaseStore: db)
    }

    #if os(Linux)
        @Test func `a suspended process holds no lock on the file`() throws {
            let pool = try openPool()
            _ = try pool.read { try $0.int("SELECT count(*) FROM t") }
            // The control: an open pool holds locks.
            check(HeldLocks.onFiles(of: database.path) != [])
            check(pool.suspend())
            check(HeldLocks.onFiles(of: database.path), equals: [])
            pool.resume()
            try check(pool.read { try $0.strings("SELECT x FROM t") }, equals: ["before"])
            check(HeldLocks.onFiles(of: database.path) != [])
            pool.close()

            let queue = try openQueue()
            check(HeldLocks.onFiles(of: database.path) != [])
            check(queue.suspend())
            check(HeldLocks.onFiles(of: database.path), equals: [])
            queue.resume()
            try check(queue.inDatabase { try $0.int("SELECT count(*) FROM t") }, equals: 2)
        }

        @Test func `reads continue from a copy, without a lock on the file`() throws {
            let pool = try openPool()
            try check(pool.suspend(keepingReads: true))
            check(HeldLocks.onFiles(of: database.path), equals: [])
            let other = try database.openStore()
            try other.executeUpdate("INSERT INTO t VALUES ('meanwhile')")
            other.close()
            try check(pool.read { try $0.strings("SELECT x FROM t") }, equals: ["before"])
            check(HeldLocks.onFiles(of: database.path), equals: [])
            let error = storageError { try pool.write { try $0.executeUpdate("DELETE FROM t") } }
            check(error, equals: .suspended)
            // Once the pool has the file again, a new read sees it, even while an old read runs.
            try pool.read { db in
                pool.resume()
                let rows = try db.strings("SELECT x FROM t")
                check(rows, equals: ["before"])
            }
            try check(
                pool.read { try $0.strings("SELECT x FROM t") }, equals: ["before", "meanwhile"])
        }
    #endif

    @Test func `asynchronous calls are refused with the same error`() async throws {
        let pool = try openPool()
        try await Self.suspend(pool, keepingReads: false)
        await #expect(throws: SecureStorageError.suspended) {
            try await pool.write { try $0.executeUpdate("DELETE FROM t") }
        }
        await #expect(throws: SecureStorageError.suspended) {
            try await pool.read { try $0.int("SELECT 1") }
        }
        pool.resume()
        try await check(pool.read { try $0.strings("SELECT x FROM t") }, equals: ["before"])
    }

    /// Suspends on a separate thread, since the call blocks.
    private static func suspend(_ pool: SecureDatabasePool, keepingReads: Bool) async throws {
        let isSuspended = try await Task.detached {
            try pool.suspend(keepingReads: keepingReads)
        }.value
        check(isSuspended)
    }

    @Test func `calls are refused with one error until the database is resumed`() throws {
        let pool = try openPool()
        check(pool.suspend())
        check(pool.suspend())
        check(
            storageError { try pool.write { try $0.executeUpdate("DELETE FROM t") } },
            equals: .suspended)
        check(storageError { _ = try pool.read { try $0.int("SELECT 1") } }, equals: .suspended)
        check(pool.isOpen())
        pool.resume()
        pool.resume()
        try check(pool.read { try $0.strings("SELECT x FROM t") }, equals: ["before"])
        try pool.write { try $0.executeUpdate("INSERT INTO t VALUES ('after')") }
        pool.close()

        let queue = try openQueue()
        check(queue.suspend())
        check(
            storageError { try queue.inDatabase { try $0.executeUpdate("DELETE FROM t") } },
            equals: .suspended)
        check(
            storageError {
                try queue.inExclusiveTransaction { _ in false }
            }, equals: .suspended)
        check(
            storageError { try queue.inDatabase { try $0.open(with: TemporaryDatabase.key) } }
                == nil)
        queue.resume()
        try check(queue.inDatabase { try $0.int("SELECT count(*) FROM t") }, equals: 3)
    }

    @Test func `a running call may finish within the grace period`() async throws {
        let pool = try openPool()
        let begun = DispatchSemaphore(value: 0)
        let writing = Task {
            try await pool.write { db in
                try db.executeUpdate("INSERT INTO t VALUES ('during')")
                begun.signal()
                usleep(200_000)
                try db.executeUpdate("INSERT INTO t VALUES ('during')")
            }
        }
        await Task.detached { begun.wait() }.value
        await check(Task.detached { pool.suspend(waiting: .seconds(60)) }.value)
        try await writing.value
        pool.resume()
        try await check(
            pool.read { try $0.strings("SELECT x FROM t") },
            equals: [
                "before", "during", "during",
            ])
    }

    @Test func `a call that does not finish is interrupted and rolled back`() async throws {
        let pool = try openPool()
        let begun = DispatchSemaphore(value: 0)
        let endless = "SELECT count(*) FROM (\(Self.endless))"
        let writing = Task {
            try await pool.write { db in
                try db.executeUpdate("INSERT INTO t VALUES ('during')")
                begun.signal()
                _ = try db.int(endless)
            }
        }
        let reading = Task {
            try await pool.read { db in
                begun.signal()
                _ = try db.int(endless)
            }
        }
        await Task.detached {
            begun.wait()
            begun.wait()
        }.value
        await check(Task.detached { pool.suspend(waiting: .milliseconds(50)) }.value)
        await #expect(throws: SecureStorageError.self) { try await writing.value }
        await #expect(throws: SecureStorageError.self) { try await reading.value }
        pool.resume()
        try await check(pool.read { try $0.strings("SELECT x FROM t") }, equals: ["before"])
    }

    @Test(arguments: [true, false])
    func `a block that continues after the grace period gets the error at its next statement`(
        _ isPool: Bool
    ) throws {
        let pool = isPool ? try openPool() : nil
        let queue = isPool ? nil : try openQueue()
        let begun = DispatchSemaphore(value: 0)
        let goOn = DispatchSemaphore(value: 0)
        let error = Shared<SecureStorageError?>(nil)
        let isSuspended = Shared(false)
        // Separate threads, since all of them wait.
        onThreads(3) { number in
            switch number {
            case 0:
                let block: (SecureDatabaseStore) throws -> Void = { db in
                    try db.executeUpdate("INSERT INTO t VALUES ('during')")
                    begun.signal()
                    goOn.wait()
                    try db.executeUpdate("INSERT INTO t VALUES ('during')")
                }
                let thrown = storageError {
                    try pool?.write { try block($0) }
                    try queue?.inExclusiveTransaction {
                        try block($0)
                        return false
                    }
                }
                error.withLock { $0 = thrown }
            case 1:
                begun.wait()
                let result =
                    pool?.suspend(waiting: .milliseconds(10))
                    ?? queue?.suspend(waiting: .milliseconds(10))
                isSuspended.withLock { $0 = result ?? false }
            default:
                usleep(400_000)
                goOn.signal()
            }
        }
        check(error.current, equals: .suspended)
        check(isSuspended.current)
        pool?.resume()
        queue?.resume()
        let inPool = try pool?.read { try $0.int("SELECT count(*) FROM t") }
        let inQueue = try queue?.inDatabase { try $0.int("SELECT count(*) FROM t") }
        check(inPool ?? inQueue, equals: 1)
    }

    @Test func `suspending inside the database's own block returns false`() throws {
        let pool = try openPool()
        try pool.write { _ in check(!pool.suspend(waiting: .zero)) }
        try pool.read { _ in check(!pool.suspend(waiting: .zero)) }
        pool.close()
        let queue = try openQueue()
        try queue.inDatabase { _ in check(!queue.suspend(waiting: .zero)) }
        try check(queue.inDatabase { try $0.int("SELECT count(*) FROM t") }, equals: 2)
    }

    @Test func `suspending ends a loop over rows`() async throws {
        let pool = try openPool()
        var rows = pool.rows(of: { try $0.executeQuery(Self.endless) }) {
            $0.int(forColumnIndex: 0)
        }.makeAsyncIterator()
        try await check(rows.next() != nil)
        await check(Task.detached { pool.suspend(waiting: .milliseconds(50)) }.value)
        await #expect(throws: SecureStorageError.self) {
            while try await rows.next() != nil {}
        }
        pool.resume()
    }

    @Test(arguments: [true, false])
    func `observers learn afterwards of changes made during the suspension`(
        _ isPool: Bool
    ) async throws {
        let pool = isPool ? try openPool() : nil
        let queue = isPool ? nil : try openQueue()
        let query: @Sendable (SecureDatabaseStore) throws -> Int? = {
            try $0.int("SELECT count(*) FROM t")
        }
        guard let values = pool?.values(of: query) ?? queue?.values(of: query) else { return }
        var iterator = values.makeAsyncIterator()
        try await check(iterator.next()?.get(), equals: 1)
        await check(
            Task.detached { (pool?.suspend() ?? queue?.suspend()) == true }.value)
        let other = try database.openStore()
        try other.executeUpdate("INSERT INTO t VALUES ('meanwhile')")
        other.close()
        pool?.resume()
        queue?.resume()
        try await check(iterator.next()?.get(), equals: 2)
    }

    @Test func `notifications are posted before suspending and after resuming`() async throws {
        let pool = try openPool()
        let names = Shared<[String]>([])
        let observers = [Notification.Name.secureDatabaseWillSuspend, .secureDatabaseDidResume].map
        {
            name in
            NotificationCenter.default.addObserver(forName: name, object: pool, queue: nil) { _ in
                names.withLock {
                    $0.append(name == .secureDatabaseWillSuspend ? "will suspend" : "did resume")
                }
            }
        }
        defer { observers.forEach { NotificationCenter.default.removeObserver($0) } }
        pool.suspend()
        pool.suspend()
        pool.resume()
        pool.resume()
        check(names.current, equals: ["will suspend", "did resume"])
    }

    @Test func `a suspended pool can be closed and reopened`() throws {
        let pool = try openPool()
        try pool.suspend(keepingReads: true)
        pool.close()
        check(storageError { _ = try pool.read { try $0.int("SELECT 1") } }, equals: .closed)
        try pool.open(with: .raw(TemporaryDatabase.key))
        try check(pool.read { try $0.strings("SELECT x FROM t") }, equals: ["before"])
    }

    @Test func `suspending and resuming under load loses nothing`() throws {
        let pool = try openPool()
        try pool.write { try $0.executeUpdate("CREATE TABLE n (i INTEGER)") }
        let rounds = Rounds()
        let stored = Shared(0)
        onThreads(5) { number in
            guard number > 0 else {
                for number in 1...30 {
                    let isSuspended = try? pool.suspend(
                        keepingReads: number % 3 == 0, waiting: .milliseconds(number % 5))
                    check(isSuspended, equals: true)
                    usleep(2000)
                    pool.resume()
                    let before = stored.current
                    // Waits until a call has been admitted again.
                    for _ in 1...60_000 where stored.current == before { usleep(1000) }
                    check(stored.current > before)
                }
                rounds.end()
                return
            }
            while !rounds.isOver {
                let error = storageError {
                    try pool.write { try $0.executeUpdate("INSERT INTO n VALUES (1)") }
                    stored.withLock { $0 += 1 }
                    _ = try pool.read { try $0.int("SELECT count(*) FROM n") }
                }
                // A statement may be interrupted, and a call may be refused.
                if let error { check(error == .suspended || error.code == 9, "\(error)") }
            }
        }
        try check(pool.read { try $0.int("SELECT count(*) FROM n") }, equals: stored.current)
    }
}
