import Foundation
import StoreChecks
import SecureKeys
import SecureMirror
import SecureStorage
import SecureSync
import Testing
import TestSupport

/// A file to which several processes write, while one mirrors it.
struct SharedMirrorTests {
    private let home: TemporaryDatabase

    init() throws {
        home = try TemporaryDatabase()
        try Ledger.create(at: home)
    }

    /// The writers also vacuum the file, and empty its log.
    @Test(arguments: MirrorPlace.Kind.available)
    func `every state is right while others write, and the last one is the file's`(
        _ kind: MirrorPlace.Kind
    ) async throws {
        let place = MirrorPlace(kind, in: home.directory)
        let pool = try home.openPool()
        let mirror = try place.mirror(of: pool)
        let running = Task { try await mirror.run() }
        try await mirror.flush()
        let count = environmentNumber("SECURESTORAGE_COMMITS", default: 60)
        let workers = try (0..<3).map { _ in try Worker(["write", home.path, "\(count)"]) }
        let writing = Task { for worker in workers { try await worker.finish() } }
        var last = 0
        while last < 3 * count {
            let before = try await pool.read { try Ledger.check($0) }
            if Bool.random() {
                try await mirror.flush()
                last = before.commits
            }
            let restored = try await place.restored()
            check(restored.commits >= last)
            last = restored.commits
            // The last commits come by `run` alone.
        }
        try await writing.value
        try await mirror.flush()
        try await check(place.restored(), equals: pool.read { try Ledger.check($0) })
        running.cancel()
        await #expect(throws: CancellationError.self) { try await running.value }
        await pool.close()
        try await place.empty()
    }

    @Test func `after another process has changed the key, the mirror continues with the new one`()
        async throws
    {
        let place = MirrorPlace(.directory, in: home.directory)
        let pool = try home.openPool()
        let mirror = try place.mirror(of: pool)
        let old = try await pool.write { try Ledger.commit($0) }
        let running = Task { try await mirror.run() }
        try await mirror.flush()
        let date = Date()
        try await Task.sleep(for: .milliseconds(5))

        try await Worker(["change-key", home.path, "77"]).finish()
        let error = await #expect(throws: SecureStorageError.self) { try await running.value }
        guard case .authenticationFailed = error else {
            Issue.record("\(error as Any)")
            return
        }
        try await check(place.restored(), equals: old)
        await pool.close()

        let newKey = Data(repeating: 77, count: 32)
        try await pool.open(with: .raw(SecretBytes(copying: newKey)))
        let new = try await pool.write { try Ledger.commit($0) }
        try await mirror.flush()
        try await check(place.restored(key: newKey), equals: new)
        try await check(place.restored(at: .date(date)), equals: old)
        await pool.close()
    }
}
