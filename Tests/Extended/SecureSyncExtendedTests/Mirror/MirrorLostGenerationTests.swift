import Foundation
@testable import ObjectStores
@testable import SecureMirror
import SecureStorage
import SecureStoragePlatform
import Testing
import TestSupport
@testable import SecureSync
@testable import SecureSyncTests

/// A generation in the middle that a store has lost, or shows without its last segments.
struct MirrorLostGenerationTests {
    private let home: TemporaryDatabase
    private let store: DirectoryObjectStore
    private let start = Date(timeIntervalSince1970: 1_800_000_000)
    private let key = DatabaseKey.raw(SecretBytes(copying: TemporaryDatabase.key))

    /// Three generations, one each hour, of three states each.
    init() async throws {
        home = try TemporaryDatabase()
        store = DirectoryObjectStore(beside: home)
        let pool = try home.openPool()
        defer { pool.close() }
        try await pool.write { try $0.executeUpdate("CREATE TABLE t (id INTEGER PRIMARY KEY, x)") }
        let clock = Locked(start)
        for _ in 1...3 {
            try await pool.writeWithoutTransaction { db in
                try db.checkpoint(.truncate)
                try db.executeUpdate("INSERT INTO t (x) VALUES (1)")
            }
            let mirror = try DatabaseMirror(
                of: pool, in: store, name: "notes", settings: .init()
            ) { clock.withLock { $0 } }
            for step in 0..<3 {
                if step > 0 {
                    try await pool.write { try $0.executeUpdate("INSERT INTO t (x) VALUES (1)") }
                }
                clock.withLock { $0 += 1200 }
                try await mirror.flush()
            }
        }
    }

    private func restoredCount(atState state: Int) async throws -> Int? {
        try await store.restored(at: .date(start + Double(state) * 1200 + 1)) {
            try $0.int("SELECT count(*) FROM t")
        }
    }

    private func requireRestored(_ states: [Int], _ lost: [Int]) async throws {
        for state in states { try await check(restoredCount(atState: state), equals: state) }
        for state in lost {
            await #expect(throws: MirrorError.self, "\(state)") {
                try await restoredCount(atState: state)
            }
        }
        try await check(!DatabaseMirror.verify("notes", in: store, key: key).isSound)
    }

    @Test func `without damage every state is restored`() async throws {
        for state in 1...9 { try await check(restoredCount(atState: state), equals: state) }
        try await check(DatabaseMirror.verify("notes", in: store, key: key).isSound)
    }

    @Test func `a generation that is missing as a whole is an error for its time only`()
        async throws
    {
        let names = try await store.listAll("notes/0000000000000002/").map(\.name)
        try await store.remove(names + ["notes/generations/0000000000000002"])
        try await requireRestored([1, 2, 3, 7, 8, 9], [4, 5, 6])
    }

    @Test func `one that a forged end has cut is an error for what was cut off`() async throws {
        let names = try MirrorNames("notes")
        let log = try await store.listAll(names.segments(.log, of: 2)).map(\.name)
        check(log.count, equals: 3)
        let bytes = try await require(store.read(log[2]))
        var end = try MirrorObject.header(of: bytes, named: log[2])
        end.numbers = 2...2
        try await store.remove([log[1], log[2]])
        _ = try await store.create(log[1], end.sealed())
        try await requireRestored([1, 2, 3, 4, 7, 8, 9], [6])
    }

    @Test func `one that a forged end stands for is an error for its time only`() async throws {
        let names = try MirrorNames("notes")
        let log = try await store.listAll(names.segments(.log, of: 2)).map(\.name)
        let bytes = try await require(store.read(log[2]))
        let end = try MirrorObject.header(of: bytes, named: log[2])
        try await store.remove(log + [names.manifest(of: 2)])
        _ = try await store.create(names.manifest(of: 2), end.sealed())
        try await requireRestored([1, 2, 3, 7, 8, 9], [4, 5, 6])
    }
}
