import Foundation
@testable import ObjectStores
@testable import SecureMirror
import SecureStorage
import SecureStoragePlatform
import SecureSync
import Testing
import TestSupport
@testable import SecureSyncTests

/// What can be known of a mirror without restoring it, and restores of unusual files.
struct MirrorHistoryTests {
    private let home: TemporaryDatabase
    private let store: DirectoryObjectStore
    private let key = DatabaseKey.raw(SecretBytes(copying: TemporaryDatabase.key))

    init() throws {
        home = try TemporaryDatabase()
        store = DirectoryObjectStore(beside: home)
    }

    private func makePool(
        _ configuration: SecureDatabaseConfiguration = .init()
    ) throws -> SecureDatabasePool {
        let pool = SecureDatabasePool(fullDatabasePath: home.path, configuration: configuration)
        try pool.open(with: key)
        try pool.write { try $0.executeUpdate("CREATE TABLE t (id INTEGER PRIMARY KEY, x)") }
        return pool
    }

    private func add(_ pool: SecureDatabasePool, bytes: Int = 100) throws {
        try pool.write { try $0.executeUpdate("INSERT INTO t (x) VALUES (randomblob(?))", bytes) }
    }

    private func restored() -> URL { URL(fileURLWithPath: home.path + "-restored") }

    @Test func `the history tells what can be restored, without a key`() async throws {
        await #expect(throws: MirrorError.noMirror("notes")) {
            try await DatabaseMirror.history(of: "notes", in: store)
        }
        let pool = try makePool()
        let mirror = try DatabaseMirror(of: pool, in: store, name: "notes")
        let begin = Date()
        for _ in 0..<3 {
            try await mirror.flush()
            try add(pool)
        }
        try await mirror.flush()
        try await pool.changeEncryptionKey(with: .raw(SecretBytes.random(count: 32)))
        try await mirror.flush()
        let history = try await DatabaseMirror.history(of: "notes", in: store)
        check(history.map(\.number), equals: [1, 2])
        check(history.map(\.hasEnded), equals: [true, false])
        check(history.map(\.stateCount), equals: [3, 0])
        let sizes = try await store.listAll("notes/").reduce(0) { $0 + $1.size }
        check(history.reduce(0) { $0 + $1.byteCount }, equals: sizes)
        for generation in history {
            check(generation.begin >= begin - 1 && generation.end >= generation.begin)
            check(generation.end <= Date())
        }
    }

    @Test func `a check reads everything, and finds what is changed or missing`() async throws {
        let pool = try makePool()
        let mirror = try DatabaseMirror(of: pool, in: store, name: "notes")
        for _ in 0..<4 {
            try await mirror.flush()
            try add(pool, bytes: 10_000)
        }
        try await mirror.flush()
        let sound = try await DatabaseMirror.verify("notes", in: store, key: key)
        // The beginning, a part, the manifest, and four segments.
        check(sound.isSound && sound.objectCount == 7 && sound.pageCount > 12)
        await #expect(throws: MirrorError.wrongKey("notes/0000000000000001/snapshot/manifest")) {
            try await DatabaseMirror.verify(
                "notes", in: store, key: .raw(SecretBytes.random(count: 32)))
        }
        for object in try await store.listAll("notes/") {
            let bytes = try await require(store.read(object.name))
            var changed = bytes
            changed[bytes.count / 2] ^= 1
            try await store.remove([object.name])
            let last = object.name.hasSuffix("4-0000000000000004")
            if object.name.contains("generations") {
                await #expect(throws: MirrorError.noMirror("notes")) {
                    try await DatabaseMirror.verify("notes", in: store, key: key)
                }
            } else if !last {
                // Nobody can know of a last segment that is gone.
                let report = try await DatabaseMirror.verify("notes", in: store, key: key)
                check(!report.isSound, "\(object.name)")
            }
            _ = try await store.create(object.name, changed)
            let report = try await DatabaseMirror.verify("notes", in: store, key: key)
            check(!report.isSound, "\(object.name)")
            try await store.remove([object.name])
            _ = try await store.create(object.name, bytes)
        }
        try await check(DatabaseMirror.verify("notes", in: store, key: key).isSound)
    }

    @Test func `what was stored with an old key goes at once when it is known to others`()
        async throws
    {
        let pool = try makePool()
        let mirror = try DatabaseMirror(of: pool, in: store, name: "notes")
        try await mirror.flush()
        let new = SecretBytes.random(count: 32)
        try await pool.changeEncryptionKey(with: .raw(new))
        try add(pool)
        try await mirror.purgeOldKeys()
        try await check(DatabaseMirror.history(of: "notes", in: store).map(\.number), equals: [2])
        let left = try await store.listAll("notes/0000000000000001/")
        check(left.allSatisfy { $0.size < 300 } && left.count == 1)
        try await DatabaseMirror.restore(
            "notes", from: store, to: restored(), key: .raw(new))
        try await check(DatabaseMirror.verify("notes", in: store, key: .raw(new)).isSound)
    }

    @Test func `a file with a plaintext header is restored with its salt`() async throws {
        var configuration = SecureDatabaseConfiguration()
        configuration.cipher.plaintextHeaderSize = 32
        let key = DatabaseKey.passphrase("correct horse")
        let pool = SecureDatabasePool(fullDatabasePath: home.path, configuration: configuration)
        try await pool.open(with: key)
        try await pool.write { try $0.executeUpdate("CREATE TABLE t (id INTEGER PRIMARY KEY, x)") }
        try add(pool)
        try await DatabaseMirror(of: pool, in: store, name: "notes").flush()
        try await DatabaseMirror.restore(
            "notes", from: store, to: restored(), key: key, configuration: configuration)
        let db = SecureDatabaseStore(url: restored(), configuration: configuration)
        try db.open(with: key)
        defer { db.close() }
        try check(db.int("SELECT count(*) FROM t"), equals: 1)
    }

    @Test func `rows that violate a foreign key are restored as they were`() async throws {
        let pool = try makePool()
        try await pool.writeWithoutTransaction { db in
            try db.executeStatements(
                "PRAGMA foreign_keys = OFF; CREATE TABLE child (t REFERENCES t); "
                    + "INSERT INTO child VALUES (7);")
        }
        try await DatabaseMirror(of: pool, in: store, name: "notes").flush()
        try await DatabaseMirror.restore("notes", from: store, to: restored(), key: key)
        let db = SecureDatabaseStore(url: restored())
        try db.open(with: key)
        defer { db.close() }
        try check(db.int("SELECT t FROM child"), equals: 7)
    }

    @Test func `another page size than the database's is an error that names it`() async throws {
        var configuration = SecureDatabaseConfiguration()
        configuration.cipher.pageSize = 8192
        let pool = try makePool(configuration)
        try await DatabaseMirror(of: pool, in: store, name: "notes").flush()
        await #expect(throws: MirrorError.otherPageSize(8192)) {
            try await DatabaseMirror.restore("notes", from: store, to: restored(), key: key)
        }
        await #expect(throws: MirrorError.otherPageSize(8192)) {
            try await DatabaseMirror.verify("notes", in: store, key: key)
        }
        try await DatabaseMirror.restore(
            "notes", from: store, to: restored(), key: key, configuration: configuration)
    }

    @Test func `what a killed restore has left goes with the next one`() async throws {
        let pool = try makePool()
        try await DatabaseMirror(of: pool, in: store, name: "notes").flush()
        let left = restored().path + ".restoring-0"
        try Data("left".utf8).write(to: URL(fileURLWithPath: left))
        let progress = Locked<[Double]>([])
        try await DatabaseMirror.restore(
            "notes", from: store, to: restored(), key: key,
            progress: { step in progress.withLock { $0.append(step.fraction) } })
        check(!FileManager.default.fileExists(atPath: left))
        let names = try FileManager.default.contentsOfDirectory(
            atPath: restored().deletingLastPathComponent().path)
        check(names.allSatisfy { !$0.contains("restoring") })
        let fractions = progress.withLock { $0 }
        check(fractions == fractions.sorted() && fractions.last == 1 && fractions.count > 1)
    }

    @Test func `a restore that its progress ends leaves nothing`() async throws {
        let pool = try makePool()
        try await DatabaseMirror(of: pool, in: store, name: "notes").flush()
        struct Enough: Error {}
        for limit in [0.1, 0.6] {
            await #expect(throws: Enough.self) {
                try await DatabaseMirror.restore(
                    "notes", from: store, to: restored(), key: key,
                    progress: { if $0.fraction > limit { throw Enough() } })
            }
        }
        let names = try FileManager.default.contentsOfDirectory(
            atPath: restored().deletingLastPathComponent().path)
        check(names.allSatisfy { !$0.contains("restor") }, "\(names)")
    }

    @Test func `the statuses follow what happens`() async throws {
        let pool = try makePool()
        let mirror = try DatabaseMirror(of: pool, in: store, name: "notes")
        var statuses = mirror.statuses.makeAsyncIterator()
        await check(statuses.next()?.completeAt == nil)
        try await mirror.flush()
        var status = await statuses.next()
        while status?.completeAt == nil { status = await statuses.next() }
        check(status?.storedBytes, equals: mirror.status.storedBytes)
    }
}
