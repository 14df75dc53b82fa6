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

/// Calls that come between the steps of others, and answers that are lost.
struct MirrorInterleavingTests {
    private let home: TemporaryDatabase
    private let store: DirectoryObjectStore
    private let pool: SecureDatabasePool
    private let clock = Locked(Date(timeIntervalSince1970: 1_800_000_000))

    init() throws {
        home = try TemporaryDatabase()
        store = DirectoryObjectStore(beside: home)
        pool = try home.openPool()
        try pool.write { try $0.executeUpdate("CREATE TABLE t (id INTEGER PRIMARY KEY, x)") }
    }

    private func mirror(
        of pool: SecureDatabasePool? = nil, in store: any ObjectStore
    ) throws -> DatabaseMirror {
        try DatabaseMirror(of: pool ?? self.pool, in: store, name: "notes", settings: .init()) {
            [clock] in clock.withLock { $0 }
        }
    }

    private func add(_ bytes: Int = 100, to pool: SecureDatabasePool? = nil) throws {
        try (pool ?? self.pool).write {
            try $0.executeUpdate("INSERT INTO t (x) VALUES (randomblob(?))", bytes)
        }
    }

    private func pass(_ seconds: Double) { clock.withLock { $0 += seconds } }

    private func contents(_ db: SecureDatabaseStore) throws -> [Data] { try MirroredRows.all(db) }

    private func current(_ pool: SecureDatabasePool? = nil) throws -> [Data] {
        try (pool ?? self.pool).read { try contents($0) }
    }

    private func restored() async throws -> [Data] {
        try await store.restored { try contents($0) }
    }

    /// Commits, flushes and maintains so that segments are merged, and the first ones removed.
    private func goOn(_ mirror: DatabaseMirror) async throws {
        for _ in 0..<3 {
            for _ in 0..<3 {
                for _ in 0..<2 {
                    try add()
                    try await mirror.flush()
                }
                pass(61)
            }
            pass(3600)
        }
        pass(25 * 3600)
        try add()
        try await mirror.flush()
        try await mirror.maintain()
    }

    private static let lost = StoreError.failed(
        code: "lost", message: "no answer", isTransient: true)

    @Test func `each answer may be lost once, with commits before the next try`() async throws {
        let seen = Locked<Set<String>>([])
        let mirror = try mirror(
            in: HookedStore(store) { step, name in
                guard step == .created, !name.contains("probe") else { return }
                if seen.withLock({ $0.insert(name).inserted }) { throw Self.lost }
            })
        for round in 0..<18 {
            // Some of them larger than an object, and in all more than half of the database.
            try add(round % 3 == 2 ? 3_000_000 : 400_000)
            var tries = 0
            while true {
                do {
                    try await mirror.flush()
                    break
                } catch let error as MirrorError where error.isTransient {
                    tries += 1
                    try require(tries < 60)
                    // A later one is lost again.
                    if tries < 3 { try add() }
                }
            }
            try await check(restored(), equals: current())
            pass(70)
            for _ in 0..<60 {
                do {
                    try await mirror.maintain()
                    break
                } catch let error as MirrorError where error.isTransient {
                    continue
                }
            }
        }
        try await check(store.listAll("notes/generations/").count > 1)
        check(seen.withLock { $0.count { $0.hasSuffix("manifest") } } > 1)
    }

    @Test func `a flush between the steps of the second of two calls of maintain`() async throws {
        let between = Locked<DatabaseMirror?>(nil)
        let mirror = try mirror(
            in: HookedStore(store) { step, name in
                guard step == .list, name.hasSuffix("/log/") else { return }
                if let mirror = between.withLock({ $0.take() }) { try await mirror.flush() }
            })
        try await mirror.flush()
        for _ in 0..<10 {
            try add(3_000_000)
            try await mirror.flush()
        }
        // Prepares a generation, with which the flush continues.
        try await mirror.maintain()
        between.withLock { $0 = mirror }
        try await mirror.maintain()
        try await check(store.listAll("notes/generations/").count, equals: 2)
        for _ in 0..<3 {
            try add()
            try await mirror.flush()
        }
        try await check(restored(), equals: current())
    }

    @Test func `of two mirrors that begin in the same millisecond, one continues`() async throws {
        let second = Locked<DatabaseMirror?>(try mirror(in: store))
        let other = try require(second.withLock { $0 })
        let first = try mirror(
            in: HookedStore(store) { step, name in
                guard step == .create, name.contains("/generations/"),
                    let mirror = second.withLock({ $0.take() })
                else { return }
                try await mirror.flush()
            })
        await #expect(throws: MirrorError.otherMirror("notes")) { try await first.flush() }
        try add()
        try await other.flush()
        try await check(restored(), equals: current())
    }

    @Test func `a mirror that was stopped while it took over ends the other one all the same`()
        async throws
    {
        let first = try mirror(in: store)
        try await first.flush()
        let copy = try home.copiedFiles()
        let other = try copy.openPool()
        defer { other.close() }
        try add(7, to: other)
        let isStopped = Locked(false)
        let second = try mirror(
            of: other,
            in: HookedStore(store) { step, name in
                // About to end the first one's generation.
                guard step == .create, name.contains("/0000000000000001/log/"),
                    isStopped.withLock({ $0 ? false : ($0 = true, true).1 })
                else { return }
                try await goOn(first)
            })
        // The copy would continue the same log otherwise.
        try add(8, to: other)
        try await other.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
        try add(9, to: other)
        try await second.flush()
        check(isStopped.withLock { $0 })
        try add()
        await #expect(throws: MirrorError.otherMirror("notes")) { try await first.flush() }
        try add(10, to: other)
        try await second.flush()
        try await check(restored(), equals: current(other))
    }

    @Test
    func `a mirror that was stopped before it continued with a new generation has lost the name`()
        async throws
    {
        let second = Locked<DatabaseMirror?>(nil)
        let first = try mirror(
            in: HookedStore(store) { step, name in
                guard step == .create, name.contains("/generations/"),
                    let mirror = second.withLock({ $0.take() })
                else { return }
                try await goOn(mirror)
            })
        try await first.flush()
        for _ in 0..<10 {
            try add(3_000_000)
            try await first.flush()
        }
        // Of another process, with the same file.
        let other = try mirror(in: store)
        second.withLock { $0 = other }
        try? await first.maintain()
        check(second.withLock { $0 == nil })
        try add()
        await #expect(throws: MirrorError.otherMirror("notes")) { try await first.flush() }
        try add()
        try await other.flush()
        try await check(restored(), equals: current())
    }
}
