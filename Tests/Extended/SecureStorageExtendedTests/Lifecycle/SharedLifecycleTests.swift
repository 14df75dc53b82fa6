import Foundation
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// Copies and checks of a queue's or a pool's database.
struct SharedLifecycleTests {
    let database: TemporaryDatabase
    let copy: TemporaryDatabase

    init() throws {
        database = try TemporaryDatabase()
        copy = try TemporaryDatabase(name: "copy.db")
    }

    private static let rows = """
        CREATE TABLE t (x);
        WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
        INSERT INTO t SELECT randomblob(3000) FROM n;
        """

    @Test func `a queue accepts calls while its database is copied`() throws {
        let store = try database.openStore()
        try store.executeStatements(Self.rows)
        let queue = SecureDatabaseQueue(databaseStore: store)
        var callsMeanwhile = 0
        try queue.backup(to: copy.url) { _ in
            // From another thread, which would have to wait if this one had the queue.
            let done = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                try? queue.inDatabase { try $0.executeUpdate("INSERT INTO t VALUES (1)") }
                done.signal()
            }
            check(done.wait(timeout: .now() + 20), equals: .success)
            callsMeanwhile += 1
        }
        check(callsMeanwhile > 3)
        try check(copy.openStore().int("SELECT count(*) FROM t"), equals: 2000)
        try check(queue.verifyIntegrity().isSound)
        try check(queue.inDatabase { try $0.int("SELECT count(*) FROM t") } ?? 0 > 2000)
    }

    @Test func `a pool's writer keeps working while its database is copied`() throws {
        let pool = try database.openPool()
        try pool.write { try $0.executeStatements(Self.rows) }
        var writes = 0
        try pool.backup(to: copy.url) { _ in
            let done = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                try? pool.write { try $0.executeUpdate("INSERT INTO t VALUES (1)") }
                done.signal()
            }
            check(done.wait(timeout: .now() + 20), equals: .success)
            writes += 1
        }
        check(writes > 3)
        try check(copy.openStore().int("SELECT count(*) FROM t"), equals: 2000)
        try check(pool.verifyIntegrity().isSound)
    }

    @Test func `tasks copy and check, and cancelling one leaves no copy`() async throws {
        let pool = try database.openPool()
        try await pool.write { try $0.executeStatements(Self.rows) }
        try await pool.backup(to: copy.url)
        try await check(pool.verifyIntegrity().isSound)
        try FileManager.default.removeItem(at: copy.url)
        let store = try database.openStore()
        let queue = SecureDatabaseQueue(databaseStore: store)
        let (hasBegun, isCancelled) = (Shared(false), Shared(false))
        let task = Task { [copy] in
            try await queue.backup(to: copy.url) { _ in
                hasBegun.withLock { $0 = true }
                while !isCancelled.current { usleep(1_000) }
            }
        }
        while !hasBegun.current { try await Task.sleep(for: .milliseconds(1)) }
        task.cancel()
        isCancelled.withLock { $0 = true }
        await #expect(throws: CancellationError.self) { try await task.value }
        try check(copy.fileNames(), equals: [])
        try await check(queue.verifyIntegrity().isSound)
        await pool.close()
    }

    @Test func `a closed queue and a closed pool refuse copies and checks`() async throws {
        let queue = SecureDatabaseQueue(databaseStore: database.store())
        check(storageError { try queue.backup(to: copy.url) }, equals: .closed)
        check(storageError { _ = try queue.verifyIntegrity() }, equals: .closed)
        let pool = SecureDatabasePool(url: database.url)
        check(storageError { try pool.backup(to: copy.url) }, equals: .closed)
        await #expect(throws: SecureStorageError.closed) { try await pool.verifyIntegrity() }
    }
}
