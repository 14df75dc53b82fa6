import Foundation
@testable import ObjectStores
@testable import SecureMirror
import SecureStorage
import SecureSync
import Testing
import TestSupport
@testable import SecureSyncTests

/// Files that are put back to an earlier state, while their mirror knows a later one.
struct MirrorRollbackTests {
    private let home: TemporaryDatabase
    private let store: DirectoryObjectStore
    private let key = DatabaseKey.raw(SecretBytes(copying: TemporaryDatabase.key))

    init() throws {
        home = try TemporaryDatabase()
        store = DirectoryObjectStore(beside: home)
    }

    private func add(_ text: String, _ pool: SecureDatabasePool) throws {
        try pool.write { try $0.executeUpdate("INSERT INTO t (x) VALUES (?)", text) }
    }

    private func restored(at point: DatabaseMirror.Point = .latest) async throws -> [String?] {
        try await store.restored(at: point) { try $0.strings("SELECT x FROM t ORDER BY id") }
    }

    // `grows`: whether the older file gets a longer log than the newer one had.
    @Test(arguments: [false, true])
    func `a file that was put back starts over, and what was shipped before is not lost`(
        grows: Bool
    ) async throws {
        let pool = try home.openPool()
        try await pool.write {
            try $0.executeUpdate("CREATE TABLE t (id INTEGER PRIMARY KEY, x)")
        }
        try add("one", pool)
        try await DatabaseMirror(of: pool, in: store, name: "notes").flush()
        let older = try home.copiedFiles()
        for text in ["two", "three"] { try add(text, pool) }
        try await DatabaseMirror(of: pool, in: store, name: "notes").flush()
        await pool.close()
        let between = Date()
        try await Task.sleep(for: .milliseconds(10))

        let olderPool = try older.openPool()
        defer { olderPool.close() }
        let texts = grows ? ["a", "b", "c", "d", "e"] : ["a"]
        for text in texts { try add(text, olderPool) }
        try await DatabaseMirror(of: olderPool, in: store, name: "notes").flush()
        try await check(restored(), equals: ["one"] + texts)
        try await check(restored(at: .date(between)), equals: ["one", "two", "three"])
        try await check(DatabaseMirror.verify("notes", in: store, key: key).isSound)
    }

    @Test func `a restored file continues under the same name`() async throws {
        let pool = try home.openPool()
        try await pool.write {
            try $0.executeUpdate("CREATE TABLE t (id INTEGER PRIMARY KEY, x)")
        }
        try add("one", pool)
        let mirror = try DatabaseMirror(of: pool, in: store, name: "notes")
        try await mirror.flush()
        let url = URL(fileURLWithPath: home.path + "-elsewhere")
        try await DatabaseMirror.restore("notes", from: store, to: url, key: key)
        let elsewhere = SecureDatabasePool(url: url)
        try await elsewhere.open(with: key)
        defer { elsewhere.close() }
        try add("two", elsewhere)
        try await DatabaseMirror(of: elsewhere, in: store, name: "notes").flush()
        // The old machine comes back, and is told.
        try add("lost", pool)
        await #expect(throws: MirrorError.otherMirror("notes")) { try await mirror.flush() }
        try await check(restored(), equals: ["one", "two"])
        // Started again, it takes over.
        try await DatabaseMirror(of: pool, in: store, name: "notes").flush()
        try await check(restored(), equals: ["one", "lost"])
    }
}
