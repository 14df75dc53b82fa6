import Foundation
import SecureStorage
import Testing
import TestSupport

/// `SecureDatabaseInterruption`, for everything that can end a call early.
struct SecureDatabaseInterruptionTests {
    let database: TemporaryDatabase
    let queue: SecureDatabaseQueue

    private static let endless = AsyncQueueTests.endless

    init() throws {
        database = try TemporaryDatabase()
        let db = try database.openStore()
        try db.executeUpdate("CREATE TABLE t (x)")
        queue = SecureDatabaseQueue(databaseStore: db)
    }

    /// Returns what `call` throws while another thread performs `action` repeatedly.
    private func error(
        while action: @escaping @Sendable () -> Void, _ call: () throws -> Void
    ) -> (any Error)? {
        let rounds = Rounds()
        let hasEnded = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            while !rounds.isOver {
                usleep(1000)
                action()
            }
            hasEnded.signal()
        }
        defer {
            rounds.end()
            hasEnded.wait()
        }
        do { try call() } catch { return error }
        return nil
    }

    @Test func `a call of interrupt is an interruption`() throws {
        let queue = queue
        let error = error(while: { queue.interrupt() }) {
            try queue.inDatabase { _ = try $0.int(Self.endless) }
        }
        check(error.flatMap { SecureDatabaseInterruption($0) }, equals: .request)
        check((error as? SecureStorageError)?.resultCode, equals: .interrupted)
    }

    @Test func `a deadline is an interruption in a statement, before one and in a wait for a lock`()
        throws
    {
        let errors = try queue.inDatabase { db in
            [
                storageError {
                    try db.withDeadline(.milliseconds(20)) { _ = try db.int(Self.endless) }
                },
                storageError { try db.withDeadline(.zero) { _ = try db.int("SELECT 1") } },
            ]
        }
        let other = try database.openStore()
        try other.beginExclusiveTransaction()
        let waiting = storageError {
            try queue.inDatabase { db in
                try db.withDeadline(.milliseconds(20)) {
                    try db.executeUpdate("INSERT INTO t VALUES (1)")
                }
            }
        }
        for error in errors + [waiting] {
            check(error?.interruption, equals: .deadline)
            check(error?.description.contains("the deadline of the call has passed"), equals: true)
            guard case .backingStoreError(9, _) = error else {
                Issue.record("\(error as Any)")
                continue
            }
        }
        check(waiting?.description.contains("while it waited for a lock"), equals: true)
        // Neither deadline affects the next call.
        try other.rollback()
        let interrupted = queue
        let next = self.error(while: { interrupted.interrupt() }) {
            try interrupted.inDatabase { _ = try $0.int(Self.endless) }
        }
        check(next.flatMap { SecureDatabaseInterruption($0) }, equals: .request)
    }

    @Test func `a cancelled task is an interruption for the caller and inside its block`()
        async throws
    {
        let queue = queue
        let inside = Shared<SecureDatabaseInterruption?>(nil)
        let begun = Shared(false)
        let task = Task {
            try await queue.inDatabase { db in
                begun.withLock { $0 = true }
                do { _ = try db.int(Self.endless) } catch {
                    inside.withLock { $0 = SecureDatabaseInterruption(error) }
                    throw error
                }
            }
        }
        while !begun.current { try await Task.sleep(for: .milliseconds(1)) }
        task.cancel()
        let error = await #expect(throws: CancellationError.self) { try await task.value }
        check(error.flatMap { SecureDatabaseInterruption($0) }, equals: .cancellation)
        check(inside.current, equals: .cancellation)
    }

    @Test func `a suspension is an interruption, whether the call had begun or not`() throws {
        let queue = queue
        let error = error(while: { queue.suspend(waiting: .zero) }) {
            try queue.inDatabase { _ = try $0.int(Self.endless) }
        }
        check(error.flatMap { SecureDatabaseInterruption($0) }, equals: .suspension)
        let refused = storageError { try queue.inDatabase { _ = try $0.int("SELECT 1") } }
        check(refused?.interruption, equals: .suspension)
        let change = storageError {
            try queue.inDatabase { try $0.changeEncryptionKey(with: TemporaryDatabase.key) }
        }
        check(change, equals: .suspended)
        queue.resume()
        try check(queue.inDatabase { try $0.int("SELECT 1") }, equals: 1)
    }

    @Test func `a function's statement and a migration's step pass on the reason`() throws {
        let (migrations, wrapped) = try queue.inDatabase { db in
            try db.makeFunction(named: "forever", argumentCount: 0) { [unowned db] _ in
                try db.withDeadline(.milliseconds(20)) { try db.int(Self.endless) }
            }
            var steps = SchemaMigrations()
            steps.add("endless") { _ = try $0.int(Self.endless) }
            let migrations = steps
            return (
                storageError {
                    try db.withDeadline(.milliseconds(20)) { _ = try migrations.apply(to: db) }
                },
                storageError { _ = try db.int("SELECT forever()") }
            )
        }
        check(migrations?.interruption, equals: .deadline)
        check(wrapped?.interruption, equals: .deadline)
    }

    @Test func `no other error is an interruption`() {
        check(SecureDatabaseInterruption(CocoaError(.fileNoSuchFile)) == nil)
        check(SecureDatabaseInterruption(SecureStorageError.closed) == nil)
        let busy = SecureStorageError.backingStoreError(
            code: 5, message: "m [SQLITE_INTERRUPT: deadline]")
        check(SecureDatabaseInterruption(busy) == nil)
        let plain = SecureStorageError.backingStoreError(code: 9, message: "")
        check(plain.interruption, equals: .request)
    }
}
