import Foundation
import SecureStorage
import SecureStoragePlatform
import SecureSync
import Testing
import TestSupport

/// A directory that is slow, or cannot be reached for a while.
private final class SlowStore: SyncObjectStore {
    private let directory: DirectoryObjectStore
    private let delay: Duration
    let created = Locked(0)
    let isAway = Locked(false)

    init(_ directory: DirectoryObjectStore, delay: Duration) {
        self.directory = directory
        self.delay = delay
    }

    func create(_ name: String, _ bytes: Data) async throws -> Bool {
        try await Task.sleep(for: delay)
        if isAway.withLock({ $0 }) {
            throw SyncError.store(code: "away", message: "not reached", isTransient: true)
        }
        created.withLock { $0 += 1 }
        return try await directory.create(name, bytes)
    }

    func read(_ name: String) async throws -> Data? { try await directory.read(name) }
    func list(_ prefix: String, after: String?) async throws -> [SyncObject] {
        try await directory.list(prefix, after: after)
    }
    func remove(_ names: [String]) async throws { try await directory.remove(names) }
    func mark(_ name: String, _ bytes: Data) async throws { try await directory.mark(name, bytes) }
    func waitForMark(
        _ name: String, since tag: String?, atMost limit: Duration
    ) async throws -> String? {
        try await directory.waitForMark(name, since: tag, atMost: limit)
    }
}

/// Callers that wait for a store.
@Suite(.timeLimit(.minutes(10))) struct MirrorWaitingTests {
    private let home: TemporaryDatabase
    private let store: SlowStore
    private let pool: SecureDatabasePool

    init() throws {
        home = try TemporaryDatabase()
        store = SlowStore(
            DirectoryObjectStore(
                directory: URL(fileURLWithPath: home.path).deletingLastPathComponent()
                    .appendingPathComponent("store")), delay: .milliseconds(100))
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
        let before = store.created.withLock { $0 }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<40 {
                group.addTask {
                    try await Task.sleep(for: .milliseconds(number * 5))
                    try await pool.write { try $0.executeUpdate("INSERT INTO t (x) VALUES (1)") }
                    let count = try await pool.read { try $0.int("SELECT count(*) FROM t") ?? 0 }
                    try await mirror.flush()
                    let restored = try await restoredCount() ?? 0
                    #expect(restored >= count)
                }
            }
            try await group.waitForAll()
        }
        #expect(store.created.withLock { $0 } - before < 20)
    }

    @Test func `while the store is away, a mirror says since when it is behind, and goes on later`()
        async throws
    {
        let start = Date()
        let mirror = try DatabaseMirror(of: pool, in: store, name: "notes")
        let running = Task { try await mirror.run() }
        try await mirror.flush()
        store.isAway.withLock { $0 = true }
        try await pool.write { try $0.executeUpdate("INSERT INTO t (x) VALUES (1)") }
        while mirror.status.nextTry == nil { try await Task.sleep(for: .milliseconds(10)) }
        let status = mirror.status
        let since = try #require(status.behindSince)
        #expect(since >= start && since < Date())
        #expect((status.failure as? SyncError)?.isTransient == true)
        store.isAway.withLock { $0 = false }
        while mirror.status.behindSince != nil { try await Task.sleep(for: .milliseconds(10)) }
        #expect(mirror.status.failure == nil && mirror.status.nextTry == nil)
        #expect(try await restoredCount() == 1)
        running.cancel()
        await #expect(throws: CancellationError.self) { try await running.value }
    }

    @Test func `a log that grows too large while the store is away is let go`() async throws {
        var settings = DatabaseMirror.Settings()
        settings.logLimit = 100_000
        let mirror = try DatabaseMirror(of: pool, in: store, name: "notes", settings: settings)
        let running = Task { try await mirror.run() }
        try await mirror.flush()
        store.isAway.withLock { $0 = true }
        for _ in 0..<20 {
            try await pool.write {
                try $0.executeUpdate("INSERT INTO t (x) VALUES (randomblob(20000))")
            }
        }
        while mirror.status.nextTry == nil { try await Task.sleep(for: .milliseconds(10)) }
        // Nothing is in the way of emptying it.
        try await pool.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
        store.isAway.withLock { $0 = false }
        while mirror.status.behindSince != nil { try await Task.sleep(for: .milliseconds(10)) }
        #expect(try await restoredCount() == 20)
        running.cancel()
        await #expect(throws: CancellationError.self) { try await running.value }
    }
}
