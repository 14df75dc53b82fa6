import Foundation
@testable import ObjectStores
@testable import SecureMirror
import SecureStorage
import SecureStoragePlatform
import SecureSync
import Testing
import TestSupport
@testable import SecureSyncTests

/// An hour of an app's random work, of which random points in time are restored.
struct MirrorPointsTests {
    private let home: TemporaryDatabase
    private let store: DirectoryObjectStore
    private let key = DatabaseKey.raw(SecretBytes(copying: TemporaryDatabase.key))

    init() throws {
        home = try TemporaryDatabase()
        store = DirectoryObjectStore(beside: home)
    }

    private func contents(_ db: SecureDatabaseStore) throws -> String {
        try db.strings("SELECT id || ' ' || x || ' ' || hex(y) FROM t ORDER BY id")
            .map { $0 ?? "" }.joined(separator: "\n")
    }

    private func work(_ pool: SecureDatabasePool, _ random: inout SplitMix64) async throws {
        let (kind, number, size) = (
            Int.random(in: 0..<40, using: &random), Int.random(in: 0..<300, using: &random),
            Int.random(in: 0..<3000, using: &random)
        )
        switch kind {
        case 0..<20:
            try await pool.write {
                try $0.executeUpdate("INSERT INTO t (x, y) VALUES (?, randomblob(?))", number, size)
            }
        case 20..<32:
            try await pool.write {
                try $0.executeUpdate("UPDATE t SET y = randomblob(?) WHERE id % 50 = ?", size, kind)
            }
        case 32..<37:
            try await pool.write {
                try $0.executeUpdate("DELETE FROM t WHERE id % 13 = ?", number % 13)
            }
        case 37:
            try await pool.writeWithoutTransaction { try $0.executeUpdate("VACUUM") }
        case 38:
            try await pool.writeWithoutTransaction { db in _ = try? db.checkpoint(.passive) }
        default:
            // Larger than an object.
            try await pool.write { db in
                try db.executeUpdate("INSERT INTO t (x, y) VALUES (0, zeroblob(3000000))")
                try db.executeUpdate("UPDATE t SET y = NULL WHERE length(y) = 3000000")
            }
        }
    }

    /// `SECURESTORAGE_POINTS=1000` tries that many; the default is smaller.
    @Test func `each point in time of an hour is restored as the app saw it`() async throws {
        let clock = Locked(Date(timeIntervalSince1970: 1_800_000_000))
        let pool = try home.openPool()
        try await pool.write {
            try $0.executeUpdate("CREATE TABLE t (id INTEGER PRIMARY KEY, x, y)")
        }
        var random = SplitMix64(seed: Campaign.seeds(1)[0])
        let count = environmentNumber("SECURESTORAGE_POINTS", default: 25)
        var mirror: DatabaseMirror?
        var states: [(date: Date, contents: String)] = []
        for step in 0..<max(count, 100) {
            if step % 50 == 0 {
                // Another start, which mostly continues with the generation.
                mirror = try DatabaseMirror(of: pool, in: store, name: "notes", settings: .init()) {
                    clock.withLock { $0 }
                }
            }
            for _ in 0..<Int.random(in: 1...3, using: &random) { try await work(pool, &random) }
            try await mirror?.flush()
            let state = try await pool.read { try contents($0) }
            states.append((clock.withLock { $0 }, state))
            clock.withLock { $0 += Double.random(in: 0.01...12, using: &random) }
            if step % 7 == 6 { try await mirror?.maintain() }
        }
        let first = states[0].date
        let length = states[states.count - 1].date.timeIntervalSince(first)
        let url = URL(fileURLWithPath: home.path + "-restored")
        for _ in 0..<count {
            let date = first + Double.random(in: 0...length, using: &random)
            let restoration = try await DatabaseMirror.restore(
                "notes", from: store, to: url, key: key, at: .date(date))
            let db = SecureDatabaseStore(url: url)
            try db.open(with: key)
            let restored = try contents(db)
            db.close()
            try SecureDatabaseStore.remove(at: url)
            let expected = states.last { $0.date <= date }
            check(restored, equals: expected?.contents, "\(date.timeIntervalSince(first))")
            check(restoration.date <= date)
        }
    }
}
