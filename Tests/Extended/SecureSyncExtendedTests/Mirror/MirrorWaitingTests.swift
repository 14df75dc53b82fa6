import Foundation
import StoreChecks
@testable import ObjectStores
@testable import SecureMirror
import SecureStorage
import SecureStoragePlatform
import SecureSync
import Testing
import TestSupport
@testable import SecureSyncTests

/// Callers that wait for a store.
struct MirrorWaitingTests {
    private let home: TemporaryDatabase
    /// A directory that is slow, and that cannot be reached while `isAway`.
    private let store: HookedStore
    private let created = Locked(0)
    /// Callers that have still to commit: no object is created before.
    private let missing = Locked(0)
    private let isAway = Locked(false)
    private let pool: SecureDatabasePool

    init() throws {
        home = try TemporaryDatabase()
        let directory = URL(fileURLWithPath: home.path).deletingLastPathComponent()
            .appendingPathComponent("store")
        store = HookedStore(DirectoryObjectStore(directory: directory)) {
            [created, missing, isAway] step, _ in
            guard step == .create else { return }
            repeat {
                try await Task.sleep(for: .milliseconds(100))
            } while missing.withLock { $0 > 0 }
            if isAway.withLock({ $0 }) {
                throw StoreError.failed(code: "away", message: "not reached", isTransient: true)
            }
            created.withLock { $0 += 1 }
        }
        pool = try home.openPool()
        try pool.write { try $0.executeUpdate("CREATE TABLE t (id INTEGER PRIMARY KEY, x)") }
    }

    private func restoredCount() async throws -> Int? {
        let url = URL(fileURLWithPath: home.path + "-\(UUID().uuidString)")
        let key = DatabaseKey.raw(SecretBytes(copying: TemporaryDatabase.key))
        try await DatabaseMirror.restore("notes", from: store, to: url, key: key)
        let db = SecureDatabaseStore(url: url)
        try db.open(with: key)
        defer { db.close() }
        return try db.int("SELECT count(*) FROM t")
    }

    @Test func `callers that flush at the same time share a shipment, and none returns too early`()
        async throws
    {
        let mirror = try DatabaseMirror(of: pool, in: store, name: "notes")
        try await mirror.flush()
        let before = created.withLock { $0 }
        missing.withLock { $0 = 40 }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<40 {
                group.addTask {
                    try await Task.sleep(for: .milliseconds(number * 5))
                    try await pool.write { try $0.executeUpdate("INSERT INTO t (x) VALUES (1)") }
                    missing.withLock { $0 -= 1 }
                    let count = try await pool.read { try $0.int("SELECT count(*) FROM t") ?? 0 }
                    try await mirror.flush()
                    let restored = try await restoredCount() ?? 0
                    check(restored >= count)
                }
            }
            try await group.waitForAll()
        }
        check(created.withLock { $0 } - before < 10)
    }

    @Test
    func `while the store is away, a mirror says since when it is behind, and continues later`()
        async throws
    {
        let start = Date()
        let mirror = try DatabaseMirror(of: pool, in: store, name: "notes")
        let running = Task { try await mirror.run() }
        try await mirror.flush()
        isAway.withLock { $0 = true }
        try await pool.write { try $0.executeUpdate("INSERT INTO t (x) VALUES (1)") }
        while mirror.status.nextTry == nil { try await Task.sleep(for: .milliseconds(10)) }
        let status = mirror.status
        let since = try require(status.behindSince)
        check(since >= start && since < Date())
        check((status.failure as? MirrorError)?.isTransient, equals: true)
        isAway.withLock { $0 = false }
        while mirror.status.behindSince != nil { try await Task.sleep(for: .milliseconds(10)) }
        check(mirror.status.failure == nil && mirror.status.nextTry == nil)
        try await check(restoredCount(), equals: 1)
        running.cancel()
        await #expect(throws: CancellationError.self) { try await running.value }
    }

    @Test func `a log that grows too large while the store is away is let go`() async throws {
        var settings = DatabaseMirror.Settings()
        settings.logLimit = 100_000
        let mirror = try DatabaseMirror(of: pool, in: store, name: "notes", settings: settings)
        let running = Task { try await mirror.run() }
        try await mirror.flush()
        isAway.withLock { $0 = true }
        for _ in 0..<20 {
            try await pool.write {
                try $0.executeUpdate("INSERT INTO t (x) VALUES (randomblob(20000))")
            }
        }
        while mirror.status.nextTry == nil { try await Task.sleep(for: .milliseconds(10)) }
        // Nothing is in the way of emptying it.
        try await pool.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
        isAway.withLock { $0 = false }
        while mirror.status.behindSince != nil { try await Task.sleep(for: .milliseconds(10)) }
        try await check(restoredCount(), equals: 20)
        running.cancel()
        await #expect(throws: CancellationError.self) { try await running.value }
    }
}
