import Foundation
import SecureStorage
import Testing
import TestSupport

/// Everything that ends a statement's wait for another connection's lock.
struct LockWaitTests {
    let database: TemporaryDatabase
    /// The connection that holds the write lock.
    let holder: SecureDatabaseStore
    let db: SecureDatabaseStore

    init() throws {
        database = try TemporaryDatabase()
        holder = try database.openStore()
        try holder.executeUpdate("CREATE TABLE t (a)")
        // The busy timeout is far longer than the test's time limit.
        db = try database.openStore { $0.busyTimeout = .seconds(3600) }
        try holder.beginImmediateTransaction()
    }

    private static let insert = "INSERT INTO t VALUES (1)"

    @Test func `a wait lasts as long as the busy timeout`() throws {
        for milliseconds in [0, 1, 150] {
            let impatient = try database.openStore {
                $0.busyTimeout = .milliseconds(milliseconds)
            }
            let began = ContinuousClock.now
            check(storageError { try impatient.executeUpdate(Self.insert) }?.code, equals: 5)
            check(ContinuousClock.now - began >= .milliseconds(milliseconds))
        }
    }

    @Test func `a lock that is released in time is acquired`() throws {
        let release = Thread { [holder = Unguarded(holder)] in
            usleep(60_000)
            try? holder.value.rollback()
        }
        release.start()
        try db.executeUpdate(Self.insert)
        try check(db.int("SELECT count(*) FROM t"), equals: 1)
    }

    @Test func `interrupt ends a wait`() throws {
        let queue = SecureDatabaseQueue(databaseStore: db)
        let isOver = Shared(false)
        let interrupter = Thread {
            while !isOver.current {
                queue.interrupt()
                usleep(1000)
            }
        }
        interrupter.start()
        let error = storageError { try queue.inDatabase { try $0.executeUpdate(Self.insert) } }
        isOver.withLock { $0 = true }
        check(error?.code, equals: 9)
        check("\(error as Any)".contains("lock"))
        try holder.rollback()
        try queue.inDatabase { try $0.executeUpdate(Self.insert) }
    }

    @Test func `a deadline ends a wait`() throws {
        let error = storageError {
            try db.withDeadline(.milliseconds(50)) { try db.executeUpdate(Self.insert) }
        }
        check(error?.code, equals: 9)
        // The deadline does not affect the next wait.
        let impatient = try database.openStore { $0.busyTimeout = .milliseconds(20) }
        check(
            storageError {
                try impatient.withDeadline(.seconds(3600)) {
                    try impatient.executeUpdate(Self.insert)
                }
            }?.code, equals: 5)
        try holder.rollback()
        try db.executeUpdate(Self.insert)
    }

    @Test func `cancelling the task ends a wait`() async throws {
        let pool = SecureDatabasePool(
            url: database.url, configuration: db.configuration)
        db.close()
        try await pool.open(with: .raw(TemporaryDatabase.key))
        let write = Task { try await pool.write { try $0.executeUpdate(Self.insert) } }
        try await Task.sleep(for: .milliseconds(30))
        write.cancel()
        await #expect(throws: CancellationError.self) { try await write.value }
        try holder.rollback()
        try await pool.write { try $0.executeUpdate(Self.insert) }
        try await check(pool.read { try $0.int("SELECT count(*) FROM t") }, equals: 1)
        await pool.close()
    }
}

/// Passes on a value that is not Sendable and that only one thread uses at a time.
private struct Unguarded<Value>: @unchecked Sendable {
    let value: Value

    init(_ value: Value) { self.value = value }
}
