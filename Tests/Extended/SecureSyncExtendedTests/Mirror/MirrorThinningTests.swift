import Foundation
@testable import ObjectStores
@testable import SecureMirror
import SecureStorage
import SecureStoragePlatform
import Testing
import TestSupport
@testable import SecureSync
@testable import SecureSyncTests

/// What is kept of a file that is mirrored now and then, and closed in between, so that each run
/// stores all pages.
struct MirrorThinningTests {
    private let home: TemporaryDatabase
    private let store: DirectoryObjectStore
    private let pool: SecureDatabasePool
    private let start = Date(timeIntervalSince1970: 1_800_000_000)
    private let clock: Locked<Date>
    private let key = DatabaseKey.raw(SecretBytes(copying: TemporaryDatabase.key))
    private var settings = DatabaseMirror.Settings()
    private let names: MirrorNames

    init() throws {
        home = try TemporaryDatabase()
        store = DirectoryObjectStore(beside: home)
        pool = try home.openPool()
        clock = Locked(start)
        names = try MirrorNames("notes")
        settings.keepsPoints = .seconds(2 * 3600)
        settings.keepsHours = .seconds(10 * 3600)
        try pool.write { try $0.executeUpdate("CREATE TABLE t (id INTEGER PRIMARY KEY, x)") }
    }

    /// What a run stores: the number of rows is that of the run, from 1.
    private func run(_ number: Int) async throws {
        clock.withLock { $0 = time(of: number) }
        try await pool.writeWithoutTransaction { db in
            try db.checkpoint(.truncate)
            try db.executeUpdate("INSERT INTO t (x) VALUES (1)")
        }
        let mirror = try mirror()
        try await mirror.flush()
        try await mirror.maintain()
        try await mirror.flush()
    }

    private func mirror() throws -> DatabaseMirror {
        try DatabaseMirror(of: pool, in: store, name: "notes", settings: settings) { [clock] in
            clock.withLock { $0 }
        }
    }

    private func time(of run: Int) -> Date { start + Double(run) * 600 }

    private func restoredCount(at date: Date) async throws -> Int? {
        try await store.restored(at: .date(date)) { try $0.int("SELECT count(*) FROM t") }
    }

    private func generations() async throws -> [UInt64] {
        try await store.listAll(names.generations).compactMap { MirrorNames.number(in: $0.name) }
    }

    private func isSound() async throws -> Bool {
        try await DatabaseMirror.verify("notes", in: store, key: key).isSound
    }

    /// The runs that are the last ones of an hour, up to one.
    private func lastOfHours(until run: Int) -> [Int] {
        (1...run).filter { number in
            let hours = [number, number + 1].map { time(of: $0).timeIntervalSince1970 / 3600 }
            return Int(hours[0]) != Int(hours[1])
        }
    }

    @Test func `runs of ten minutes keep as many copies as the guide promises, and no more`()
        async throws
    {
        let (last, pageCount) = (6 * 13, 3)
        for number in 1...last {
            try await run(number)
            // Of two hours all, of ten one each, and those that may go next.
            let sizes = try await store.listAll("notes/").map(\.size)
            try await check(generations().count <= 12 + 10 + 3, "\(number)")
            let size = sizes.reduce(0, +) - sizes.count * 400
            check(size <= 25 * (pageCount * 4096), "\(number): \(size)")
        }
        for number in (last - 11)...last {
            try await check(restoredCount(at: time(of: number)), equals: number)
        }
        for number in lastOfHours(until: last) where number > last - 60 {
            try await check(restoredCount(at: time(of: number)), equals: number)
            // In the middle of the next hour that is the newest one that is kept.
            guard number + 3 <= last - 13 else { continue }
            try await check(restoredCount(at: time(of: number + 3)), equals: number)
        }
        let report = try await DatabaseMirror.verify("notes", in: store, key: key)
        check(report.problems.isEmpty, "\(report.problems)")
        // A mark stands for all generations that were thinned out in its place.
        try await check(store.listAll(names.thinned).count <= 10)
    }

    @Test func `settings that keep less than before take effect in the following runs`()
        async throws
    {
        var patient = self
        patient.settings.keepsPoints = .seconds(8 * 3600)
        for number in 1...40 { try await patient.run(number) }
        try await check(generations().count, equals: 40)
        for number in 41...70 { try await run(number) }
        try await check(generations().count <= 12 + 10 + 3)
        try await check(isSound())
    }

    /// Returns a generation that was kept for an hour, and the runs that it is restored for.
    private func thinned() async throws -> (kept: UInt64, run: Int) {
        for number in 1...36 { try await run(number) }
        let run = try require(lastOfHours(until: 36).dropFirst().first)
        let kept = UInt64(run)
        let numbers = try await generations()
        check(numbers.contains(kept) && !numbers.contains(kept - 1), "\(numbers)")
        try await check(isSound())
        return (kept, run)
    }

    private func requireRestored(_ run: Int) async throws {
        for number in [run - 6, run + 6, 30, 36] {
            try await check(restoredCount(at: time(of: number)), equals: number)
        }
    }

    @Test func `a kept generation that is lost is a finding, and an error for its time only`()
        async throws
    {
        let (kept, run) = try await thinned()
        let objects = try await store.listAll(names.everything(of: kept)).map(\.name)
        try await store.remove(objects + [names.generation(kept)])
        try await check(!isSound())
        await #expect(throws: MirrorError.self) { try await restoredCount(at: time(of: run)) }
        try await requireRestored(run)
    }

    @Test(arguments: [true, false])
    func `a mark that is lost or forged is a finding, and an error for its time only`(
        isForged: Bool
    ) async throws {
        let (kept, run) = try await thinned()
        let marks = try await store.listAll(names.thinned).map(\.name)
        let mark = try require(marks.first { $0 > names.thinned(kept) })
        var bytes = try await require(store.read(mark))
        try await store.remove([mark])
        if isForged {
            bytes[bytes.count - 1] ^= 1
            _ = try await store.create(mark, bytes)
        }
        try await check(!isSound())
        await #expect(throws: MirrorError.self) { try await restoredCount(at: time(of: run + 1)) }
        try await requireRestored(run)
        // The next runs remove what they may, and nobody is misled.
        for number in 37...40 { try await self.run(number) }
        try await requireRestored(run)
    }

    @Test(arguments: 0...4)
    func `a kill while one is thinned out damages nothing, and the next run continues`(
        left: Int
    ) async throws {
        for number in 1...19 { try await run(number) }
        // The next run thins this one out; the one before it is the last of its hour.
        let next: UInt64 = 6
        let numbers = try await generations()
        check(numbers.prefix(2), equals: [5, next])
        let objects = try await store.listAll(names.everything(of: next)).map(\.name)
        var saved: [(name: String, bytes: Data)] = []
        for name in [names.manifest(of: next)] + objects.filter({ !$0.hasSuffix("manifest") })
            + [names.generation(next)]
        {
            saved.append((name, try await require(store.read(name))))
        }
        try await run(20)
        try await check(!generations().contains(next))
        // What was removed last comes back.
        for (name, bytes) in saved.suffix(left) { _ = try await store.create(name, bytes) }
        try await check(isSound())
        for number in [5, 19, 20] {
            try await check(restoredCount(at: time(of: number)), equals: number)
        }
        // If all of it is there, nothing was removed yet.
        let state = left == saved.count ? Int(next) : 5
        try await check(restoredCount(at: time(of: Int(next))), equals: state)
        for number in 21...22 { try await run(number) }
        try await check(!generations().contains(next))
        try await check(isSound())
    }

    @Test func `generations of an older key are not thinned out, and go in the end`() async throws {
        for number in 1...14 { try await run(number) }
        let new = DatabaseKey.raw(SecretBytes.random(count: 32))
        try await pool.changeEncryptionKey(with: new)
        for number in 15...40 { try await run(number) }
        let old = try await generations().filter { $0 <= 14 }
        check(old.count > 8)
        try await check(restoredCount(at: time(of: 14)), equals: 14)
        for number in 41...80 { try await run(number) }
        try await check(generations().allSatisfy { $0 > 14 })
        try await check(DatabaseMirror.verify("notes", in: store, key: new).isSound)
    }
}
