import Foundation
import ObjectStores
import SecureMirror
import SecureStorage
import SecureSync
import Testing
import TestSupport

/// A database and its mirror in a directory.
struct DatabaseMirrorTests {
    private let home: TemporaryDatabase
    private let store: DirectoryObjectStore
    private let pool: SecureDatabasePool

    init() throws {
        home = try TemporaryDatabase()
        store = DirectoryObjectStore(beside: home)
        pool = try home.openPool()
        try pool.write { try $0.executeUpdate("CREATE TABLE note (id INTEGER PRIMARY KEY, text)") }
    }

    private func add(_ text: String, bytes: Int = 10) throws {
        try pool.write {
            try $0.executeUpdate(
                "INSERT INTO note (text) VALUES (? || hex(randomblob(?)))", text, bytes / 2)
        }
    }

    private func contents(_ db: SecureDatabaseStore) throws -> [String?] {
        try db.strings("SELECT text FROM note ORDER BY id")
    }

    private func current() throws -> [String?] { try pool.read { try contents($0) } }

    private func restored(
        _ name: String = "notes", at point: DatabaseMirror.Point = .latest
    ) async throws -> [String?] {
        let url = URL(fileURLWithPath: home.path + "-restored-\(UUID().uuidString)")
        try await DatabaseMirror.restore(
            name, from: store, to: url,
            key: .raw(SecretBytes(copying: TemporaryDatabase.key)), at: point)
        defer { _ = try? SecureDatabaseStore.remove(at: url) }
        let db = SecureDatabaseStore(url: url)
        try db.open(with: TemporaryDatabase.key)
        defer { db.close() }
        return try contents(db)
    }

    @Test func `what flush has stored is restored`() async throws {
        let mirror = try DatabaseMirror(of: pool, in: store, name: "notes")
        try add("one")
        try await mirror.flush()
        try await check(restored(), equals: current())
        for round in 0..<5 {
            try add("round \(round)", bytes: 100_000)
            try await mirror.flush()
            try await check(restored(), equals: current())
        }
        try await pool.writeWithoutTransaction { try $0.executeUpdate("VACUUM") }
        try await mirror.flush()
        try await check(restored(), equals: current())
        check(mirror.status.failure == nil && mirror.status.storedBytes > 100_000)
        // The beginning, the snapshot in one part, the manifest, and a segment for each flush but
        // the first.
        let url = URL(fileURLWithPath: home.path + "-counted")
        let restoration = try await DatabaseMirror.restore(
            "notes", from: store, to: url,
            key: .raw(SecretBytes(copying: TemporaryDatabase.key)))
        check(restoration.objectCount, equals: 9)
    }

    @Test func `a transaction of many objects is restored whole`() async throws {
        let mirror = try DatabaseMirror(of: pool, in: store, name: "notes")
        try await mirror.flush()
        try await pool.write { db in
            for _ in 0..<30 {
                try db.executeUpdate("INSERT INTO note (text) VALUES (hex(randomblob(250000)))")
            }
        }
        try await mirror.flush()
        try await check(store.listAll("notes/0000000000000001/log/").count > 3)
        try await check(restored(), equals: current())
    }

    @Test func `each point in time is restored as it was`() async throws {
        let mirror = try DatabaseMirror(of: pool, in: store, name: "notes")
        var states: [(Date, [String?])] = []
        for round in 0..<12 {
            try add("round \(round)")
            try await mirror.flush()
            states.append((Date(), try current()))
            try await Task.sleep(for: .milliseconds(5))
        }
        for (date, contents) in states {
            try await check(restored(at: .date(date)), equals: contents)
        }
        await #expect(throws: MirrorError.noMirror("notes")) {
            try await restored(at: .date(Date(timeIntervalSince1970: 1)))
        }
    }

    @Test func `run ships by itself until it is cancelled`() async throws {
        let mirror = try DatabaseMirror(of: pool, in: store, name: "notes")
        let running = Task { try await mirror.run() }
        for round in 0..<3 {
            try add("round \(round)")
            let now = Date()
            while mirror.status.completeAt.map({ $0 > now }) != true {
                try await Task.sleep(for: .milliseconds(10))
            }
            try await check(restored(), equals: current())
        }
        running.cancel()
        await #expect(throws: CancellationError.self) { try await running.value }
    }

    @Test func `another start continues with the same generation, if the log allows it`()
        async throws
    {
        try add("one")
        try await DatabaseMirror(of: pool, in: store, name: "notes").flush()
        try add("two")
        try await DatabaseMirror(of: pool, in: store, name: "notes").flush()
        try await check(store.listAll("notes/generations/").count, equals: 1)
        try await check(restored(), equals: current())
        _ = try await pool.writeWithoutTransaction { try $0.checkpoint(.truncate) }
        try add("three")
        try await DatabaseMirror(of: pool, in: store, name: "notes").flush()
        try await check(store.listAll("notes/generations/").count, equals: 2)
        try await check(restored(), equals: current())
    }

    @Test func `of two mirrors of one name, the earlier one stops`() async throws {
        let first = try DatabaseMirror(of: pool, in: store, name: "notes")
        try await first.flush()
        let other = try home.copiedFiles()
        let otherPool = try other.openPool()
        defer { otherPool.close() }
        try await otherPool.write {
            try $0.executeUpdate("INSERT INTO note (text) VALUES ('other')")
        }
        let second = try DatabaseMirror(of: otherPool, in: store, name: "notes")
        try await second.flush()
        try add("lost, and known to be")
        // It does not take the name back.
        for _ in 0..<2 {
            await #expect(throws: MirrorError.otherMirror("notes")) { try await first.flush() }
        }
        await #expect(throws: MirrorError.otherMirror("notes")) { try await first.run() }
        try await check(restored(), equals: ["other"])
    }

    @Test func `a wrong key and changed objects are errors, and nothing is written`() async throws {
        let mirror = try DatabaseMirror(of: pool, in: store, name: "notes")
        try add("one")
        try await mirror.flush()
        try add("two")
        try await mirror.flush()
        let url = URL(fileURLWithPath: home.path + "-restored")
        await #expect(throws: MirrorError.wrongKey("notes/0000000000000001/snapshot/manifest")) {
            try await DatabaseMirror.restore(
                "notes", from: store, to: url, key: .raw(SecretBytes.random(count: 32)))
        }
        for entry in try await store.listAll("notes/") {
            let bytes = try await require(store.read(entry.name))
            for position in [0, 20, 40, 130, bytes.count / 2, bytes.count - 1] {
                var changed = bytes
                changed[position] ^= 1
                try await store.remove([entry.name])
                _ = try await store.create(entry.name, changed)
                await #expect(throws: MirrorError.self, "\(entry.name) \(position)") {
                    try await restored()
                }
            }
            try await store.remove([entry.name])
            _ = try await store.create(entry.name, bytes)
        }
        try await check(restored().count, equals: 2)
        check(!FileManager.default.fileExists(atPath: url.path))
    }

    @Test func `after a change of the key, a new snapshot is restored with the new one`()
        async throws
    {
        let mirror = try DatabaseMirror(of: pool, in: store, name: "notes")
        try add("one")
        try await mirror.flush()
        let before = Date()
        try await Task.sleep(for: .milliseconds(5))
        let newKey = SecretBytes.random(count: 32)
        try await pool.changeEncryptionKey(with: .raw(newKey))
        try add("two")
        try await mirror.flush()
        try await check(store.listAll("notes/generations/").count, equals: 2)
        try await check(restored(at: .date(before)).count, equals: 1)
        let url = URL(fileURLWithPath: home.path + "-restored")
        try await DatabaseMirror.restore("notes", from: store, to: url, key: .raw(newKey))
        let db = SecureDatabaseStore(url: url)
        try db.open(with: .raw(newKey))
        defer { db.close() }
        try check(contents(db), equals: current())
    }

    @Test func `a suspended pool ships nothing, and what is committed afterwards is shipped`()
        async throws
    {
        let mirror = try DatabaseMirror(of: pool, in: store, name: "notes")
        let running = Task { try await mirror.run() }
        try add("one")
        try await mirror.flush()
        pool.suspend()
        check(Descriptors.count(of: home.path), equals: 0)
        pool.resume()
        try add("two")
        while try await restored().count < 2 { try await Task.sleep(for: .milliseconds(20)) }
        try await check(restored(), equals: current())
        running.cancel()
        await #expect(throws: CancellationError.self) { try await running.value }
    }

    @Test func `the store sees no plaintext`() async throws {
        try await pool.write { try $0.executeUpdate("CREATE TABLE canarytable (canarycolumn)") }
        try add("canaryvalue")
        try await DatabaseMirror(of: pool, in: store, name: "notes").flush()
        try add("canaryvalue")
        try await DatabaseMirror(of: pool, in: store, name: "notes").flush()
        for entry in try await store.listAll("") {
            let bytes = try await require(store.read(entry.name))
            check(bytes.range(of: Data("canary".utf8)) == nil)
            check(bytes.range(of: TemporaryDatabase.key) == nil)
        }
    }
}
