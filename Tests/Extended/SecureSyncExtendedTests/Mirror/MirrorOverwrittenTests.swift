import Foundation
@testable import ObjectStores
@testable import SecureMirror
import SecureStorage
import SecureSync
import Testing
import TestSupport
@testable import SecureSyncTests

/// A file that is overwritten in place while its mirror runs.
struct MirrorOverwrittenTests {
    private let home: TemporaryDatabase
    private let store: DirectoryObjectStore
    private let pool: SecureDatabasePool
    private let key = DatabaseKey.raw(SecretBytes(copying: TemporaryDatabase.key))

    init() throws {
        home = try TemporaryDatabase()
        store = DirectoryObjectStore(beside: home)
        pool = try home.openPool()
        try pool.write { db in
            try db.executeUpdate("CREATE TABLE t (id INTEGER PRIMARY KEY, x)")
            for _ in 0..<200 {
                try db.executeUpdate("INSERT INTO t (x) VALUES (randomblob(100))")
            }
        }
    }

    private func changeAll() async throws {
        try await pool.write { try $0.executeUpdate("UPDATE t SET x = randomblob(100)") }
    }

    private func checkpoint() async throws {
        _ = try await pool.writeWithoutTransaction { try $0.checkpoint(.passive) }
    }

    private func restored() async throws -> [Data] {
        try await store.restored { try MirroredRows.all($0) }
    }

    // `commits`: whether somebody commits before the mirror looks; `isSeen`: whether the mirror
    // looks between the last checkpoint and the overwriting.
    @Test(arguments: [false, true], [true, false])
    func `the mirror stores all pages again, as they are in the file now`(
        commits: Bool, isSeen: Bool
    ) async throws {
        try await checkpoint()
        let earlier = try Data(contentsOf: home.url)
        let mirror = try DatabaseMirror(of: pool, in: store, name: "notes")
        try await mirror.flush()
        try await changeAll()
        try await mirror.flush()
        try await checkpoint()
        if isSeen { try await mirror.flush() }
        let before = try await restored()
        let file = try FileHandle(forWritingTo: home.url)
        try file.truncate(atOffset: 0)
        try file.write(contentsOf: earlier)
        if commits {
            try await pool.write { try $0.executeUpdate("UPDATE t SET x = x WHERE id = 1") }
        }
        try await mirror.flush()
        let other = try home.openStore()
        defer { other.close() }
        let now = try MirroredRows.all(other)
        check(now != before)
        try await check(restored(), equals: now)
        try await check(DatabaseMirror.verify("notes", in: store, key: key).isSound)
    }

    @Test func `checkpoints are not taken for that, whoever makes them`() async throws {
        let other = try home.openPool()
        let mirror = try DatabaseMirror(of: pool, in: store, name: "notes")
        for round in 0..<12 {
            try await changeAll()
            // The mirror may be in the way of some of its pages.
            if round % 2 == 0 { try? await checkpoint() }
            if round % 3 == 0 {
                try await other.writeWithoutTransaction { _ = try? $0.checkpoint(.passive) }
            }
            try await mirror.flush()
            if round % 4 == 0 { try? await checkpoint() }
        }
        try await check(store.listAll("notes/generations/").count, equals: 1)
        await other.close()
    }
}
