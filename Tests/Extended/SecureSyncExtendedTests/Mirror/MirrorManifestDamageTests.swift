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

/// A manifest that is damaged costs its own generation, and nothing else.
struct MirrorManifestDamageTests {
    private let home: TemporaryDatabase
    private let store: DirectoryObjectStore
    private let pool: SecureDatabasePool
    private let start = Date(timeIntervalSince1970: 1_800_000_000)
    private let clock: Locked<Date>
    private let key = DatabaseKey.raw(SecretBytes(copying: TemporaryDatabase.key))

    init() throws {
        home = try TemporaryDatabase()
        store = DirectoryObjectStore(beside: home)
        pool = try home.openPool()
        clock = Locked(start)
        try pool.write { try $0.executeUpdate("CREATE TABLE t (id INTEGER PRIMARY KEY, x)") }
    }

    private func mirrorForFortyDays() async throws -> DatabaseMirror {
        let mirror = try mirror()
        for _ in 0..<40 {
            clock.withLock { $0 += 24 * 3600 }
            try await add()
            try await mirror.flush()
            try await mirror.maintain()
        }
        return mirror
    }

    private func mirror() throws -> DatabaseMirror {
        try DatabaseMirror(of: pool, in: store, name: "notes", settings: .init()) { [clock] in
            clock.withLock { $0 }
        }
    }

    private func add() async throws {
        try await pool.write { try $0.executeUpdate("INSERT INTO t (x) VALUES (randomblob(100))") }
    }

    /// Stores a generation of its own, which begins in that hour with one row more than the last
    /// one, and has another one half an hour later.
    private func generation(_ hour: Double) async throws {
        _ = try await pool.writeWithoutTransaction { try $0.checkpoint(.truncate) }
        try await add()
        clock.withLock { $0 = start + hour * 3600 }
        let mirror = try mirror()
        try await mirror.flush()
        try await add()
        clock.withLock { $0 = start + (hour + 0.5) * 3600 }
        try await mirror.flush()
    }

    private func restoredCount(atHour hour: Double? = nil) async throws -> Int? {
        try await store.restored(at: hour.map { .date(start + $0 * 3600) } ?? .latest) {
            try $0.int("SELECT count(*) FROM t")
        }
    }

    private static func manifest(_ number: Int) -> String {
        "notes/000000000000000\(number)/snapshot/manifest"
    }

    enum Damage: CaseIterable { case magic, mac, version, empty, missing }

    private func damage(_ name: String, _ kind: Damage) async throws {
        var bytes = try await require(store.read(name))
        try await store.remove([name])
        switch kind {
        case .magic: bytes[0] ^= 1
        case .mac: bytes[bytes.count - 1] ^= 1
        case .version: bytes[9] ^= 0x40
        case .empty: bytes = Data()
        case .missing: return
        }
        _ = try await store.create(name, bytes)
    }

    @Test(arguments: [1, 2, 3], Damage.allCases)
    func `all other points are restored, and the next mirror stores everything`(
        number: Int, kind: Damage
    ) async throws {
        for hour in 1...3 { try await generation(Double(hour)) }
        try await damage(Self.manifest(number), kind)
        for other in 1...3 where other != number {
            let hour = Double(other)
            try await check(restoredCount(atHour: hour + 0.1), equals: other * 2 - 1, "\(other)")
            try await check(restoredCount(atHour: hour + 0.6), equals: other * 2, "\(other)")
        }
        await #expect(throws: MirrorError.self) {
            try await restoredCount(atHour: Double(number) + 0.6)
        }
        if number == 3 {
            await #expect(throws: MirrorError.self) { try await restoredCount() }
        }
        let history = try await DatabaseMirror.history(of: "notes", in: store).map(\.number)
        check(Set(history).isSuperset(of: [1, 2, 3].filter { $0 != number }))
        try await check(!DatabaseMirror.verify("notes", in: store, key: key).isSound)

        clock.withLock { $0 = start + 5 * 3600 }
        try await add()
        let next = try mirror()
        try await next.flush()
        try await next.maintain()
        try await check(restoredCount(), equals: 7)
        try await check(restoredCount(atHour: 5.1), equals: 7)
        for other in 1...3 where other != number {
            try await check(restoredCount(atHour: Double(other) + 0.6), equals: other * 2)
        }
    }

    @Test(arguments: [1, 3])
    func `a newest generation whose beginning is lost is damaged, and the next mirror continues`(
        count: Int
    ) async throws {
        for hour in 1...count { try await generation(Double(hour)) }
        try await store.remove(["notes/generations/000000000000000\(count)"])
        try await generation(5)
        try await check(restoredCount(), equals: count * 2 + 2)
        for other in 1..<count {
            try await check(restoredCount(atHour: Double(other) + 0.6), equals: other * 2)
        }
        await #expect(throws: MirrorError.self) { try await restoredCount(atHour: 4) }
        try await check(!DatabaseMirror.verify("notes", in: store, key: key).isSound)
        _ = try await mirrorForFortyDays()
        try await check(DatabaseMirror.verify("notes", in: store, key: key).isSound)
        let left = try await store.listAll("notes/000000000000000\(count)/")
        check(left.allSatisfy { $0.size < 300 })
    }

    @Test func `a manifest that comes while a restore or a check looks for it is not damage`()
        async throws
    {
        try await generation(1)
        let name = Self.manifest(1)
        let bytes = try await require(store.read(name))
        let slow = HookedStore(store) { [store] step, prefix in
            guard step == .list, prefix.hasSuffix("/log/") else { return }
            _ = try await store.create(name, bytes)
        }
        for _ in 0..<2 {
            try await store.remove([name])
            let url = URL(fileURLWithPath: home.path + "-restored")
            try await DatabaseMirror.restore("notes", from: slow, to: url, key: key)
            try SecureDatabaseStore.remove(at: url)
            try await store.remove([name])
            try await check(DatabaseMirror.verify("notes", in: slow, key: key).isSound)
        }
    }

    @Test(arguments: Damage.allCases)
    func `a running mirror whose manifest is damaged stores all pages again`(kind: Damage)
        async throws
    {
        let mirror = try mirror()
        try await mirror.flush()
        try await add()
        try await mirror.flush()
        try await damage(Self.manifest(1), kind)
        try await add()
        try await mirror.flush()
        // It may say what is wrong.
        try? await mirror.maintain()
        try await mirror.flush()
        try await check(restoredCount(), equals: 2)
    }

    @Test(arguments: Damage.allCases)
    func `what is older than the settings keep goes, with the damaged one`(kind: Damage)
        async throws
    {
        for hour in 1...3 { try await generation(Double(hour)) }
        try await damage(Self.manifest(2), kind)
        let mirror = try await mirrorForFortyDays()
        try await mirror.flush()
        let left = try await store.listAll("notes/generations/").map(\.name)
        for number in 1...2 {
            check(!left.contains("notes/generations/000000000000000\(number)"))
        }
        try await check(restoredCount(), equals: 46)
        try await check(DatabaseMirror.verify("notes", in: store, key: key).isSound)
    }
}
