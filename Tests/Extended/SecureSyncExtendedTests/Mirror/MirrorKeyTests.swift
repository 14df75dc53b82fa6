import Foundation
@testable import ObjectStores
@testable import SecureMirror
import SecureStorage
import SecureStoragePlatform
import Testing
import TestSupport
@testable import SecureSync
@testable import SecureSyncTests

/// A mirror of a file whose key was changed: what is of which key, and what was changed.
struct MirrorKeyTests {
    private let home: TemporaryDatabase
    private let store: DirectoryObjectStore
    private let names: MirrorNames
    private let first = DatabaseKey.raw(SecretBytes(copying: TemporaryDatabase.key))
    private let second = DatabaseKey.raw(SecretBytes.random(count: 32))

    /// Two generations of the first key, then two of the second.
    init() async throws {
        home = try TemporaryDatabase()
        store = DirectoryObjectStore(beside: home)
        names = try MirrorNames("notes")
        let pool = try home.openPool()
        defer { pool.close() }
        try await pool.write { try $0.executeUpdate("CREATE TABLE t (id INTEGER PRIMARY KEY, x)") }
        for generation in 1...4 {
            if generation == 3 { try await pool.changeEncryptionKey(with: second) }
            try await pool.writeWithoutTransaction { db in
                try db.checkpoint(.truncate)
                try db.executeUpdate("INSERT INTO t (x) VALUES (1)")
            }
            try await DatabaseMirror(of: pool, in: store, name: "notes").flush()
        }
    }

    private func verify(_ key: DatabaseKey) async throws -> DatabaseMirror.Verification {
        try await DatabaseMirror.verify("notes", in: store, key: key)
    }

    private func restore(_ key: DatabaseKey, at point: DatabaseMirror.Point) async throws {
        let target = try TemporaryDatabase(name: "restored.db")
        try await DatabaseMirror.restore("notes", from: store, to: target.url, key: key, at: point)
    }

    private func change(_ name: String) async throws {
        var bytes = try await require(store.read(name))
        bytes[bytes.count - 1] ^= 1
        try await store.remove([name])
        _ = try await store.create(name, bytes)
    }

    @Test func `with the new key all is sound, and what is of the old one is named`() async throws {
        let report = try await verify(second)
        check(report.isSound, "\(report.problems)")
        check(report.uncheckedGenerations, equals: [1, 2])
    }

    @Test func `with the old key what is of the new one is a finding`() async throws {
        let report = try await verify(first)
        let wrong: [MirrorError] = [3, 4].map { .wrongKey(names.manifest(of: $0)) }
        check(report.problems, equals: wrong)
        check(report.uncheckedGenerations.isEmpty)
    }

    @Test func `a key that nothing is of is a wrong one, to check and to restore`() async throws {
        let none = DatabaseKey.raw(SecretBytes.random(count: 32))
        let error = MirrorError.wrongKey(names.manifest(of: 4))
        await #expect(throws: error) { try await verify(none) }
        await #expect(throws: error) { try await restore(none, at: .latest) }
        await #expect(throws: error) { try await restore(first, at: .latest) }
    }

    @Test func `an earlier time with the new key is a wrong key, with the old one restored`()
        async throws
    {
        let history = try await DatabaseMirror.history(of: "notes", in: store)
        let point = DatabaseMirror.Point.date(history[1].begin + 0.0005)
        await #expect(throws: MirrorError.wrongKey(names.manifest(of: 2))) {
            try await restore(second, at: point)
        }
        try await restore(first, at: point)
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func `a manifest that was changed is damage, and no other key`(generation: UInt64)
        async throws
    {
        try await change(names.manifest(of: generation))
        let key = generation > 2 ? second : first
        let report = try await verify(key)
        check(report.problems.contains { $0.isDamaged }, "\(report.problems)")
        if generation == 4 {
            let error = await #expect(throws: MirrorError.self) {
                try await restore(key, at: .latest)
            }
            check(error?.isDamaged, equals: true)
        }
    }

    @Test func `a generation that was replaced by one of another key is damage`() async throws {
        // As if another key had stored it.
        for name in [names.generation(3), names.part(1, of: 3), names.manifest(of: 3)] {
            try await change(name)
        }
        let report = try await verify(second)
        check(report.problems.contains { $0.isDamaged }, "\(report.problems)")
        check(!report.uncheckedGenerations.contains(3))
    }
}
