import Foundation
import SecureStorage
import Testing

/// What ends a statement that waits for the lock of another connection.
@Suite(.timeLimit(.minutes(10))) struct LockWaitTests {
    let database: TemporaryDatabase
    /// Has the write lock.
    let holder: SecureDatabaseStore
    let db: SecureDatabaseStore

    init() throws {
        database = try TemporaryDatabase()
        holder = try database.openStore()
        try holder.executeUpdate("CREATE TABLE t (a)")
        // Far longer than the time limit.
        db = try database.openStore { $0.busyTimeout = .seconds(3600) }
        try holder.beginImmediateTransaction()
    }

    private static let insert = "INSERT INTO t VALUES (1)"

    @Test func `a wait lasts as long as the busy timeout says`() throws {
        for milliseconds in [0, 1, 150] {
            let impatient = try database.openStore {
                $0.busyTimeout = .milliseconds(milliseconds)
            }
            let began = ContinuousClock.now
            #expect(storageError { try impatient.executeUpdate(Self.insert) }?.code == 5)
            #expect(ContinuousClock.now - began >= .milliseconds(milliseconds))
        }
    }

    @Test func `a lock that is given up in time is taken`() throws {
        let release = Thread { [holder = Unguarded(holder)] in
            usleep(60_000)
            try? holder.value.rollback()
        }
        release.start()
        try db.executeUpdate(Self.insert)
        #expect(try db.int("SELECT count(*) FROM t") == 1)
    }

    @Test func `interrupt ends it`() throws {
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
        #expect(error?.code == 9)
        #expect("\(error as Any)".contains("lock"))
        try holder.rollback()
        try queue.inDatabase { try $0.executeUpdate(Self.insert) }
    }

    @Test func `a deadline ends it`() throws {
        let error = storageError {
            try db.withDeadline(.milliseconds(50)) { try db.executeUpdate(Self.insert) }
        }
        #expect(error?.code == 9)
        // The next wait knows nothing of it.
        let impatient = try database.openStore { $0.busyTimeout = .milliseconds(20) }
        #expect(
            storageError {
                try impatient.withDeadline(.seconds(3600)) {
                    try impatient.executeUpdate(Self.insert)
                }
            }?.code == 5)
        try holder.rollback()
        try db.executeUpdate(Self.insert)
    }

    @Test func `cancelling the task ends it`() async throws {
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
        #expect(try await pool.read { try $0.int("SELECT count(*) FROM t") } == 1)
        await pool.close()
    }
}

/// Hands over what is not Sendable, where only one thread at a time uses it.
private struct Unguarded<Value>: @unchecked Sendable {
    let value: Value

    init(_ value: Value) { self.value = value }
}
