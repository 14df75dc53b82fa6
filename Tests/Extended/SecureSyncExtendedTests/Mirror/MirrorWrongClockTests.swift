import Foundation
@testable import ObjectStores
@testable import SecureMirror
import SecureStorage
import SecureStoragePlatform
import SecureSync
import Testing
import TestSupport
@testable import SecureSyncTests

/// Points in time, and what is kept, after the machine's clock was wrong.
struct MirrorWrongClockTests {
    private let home: TemporaryDatabase
    private let store: DirectoryObjectStore
    private let pool: SecureDatabasePool
    private let now = Date()
    private let clock: Locked<Date>
    private let key = DatabaseKey.raw(SecretBytes(copying: TemporaryDatabase.key))

    init() throws {
        home = try TemporaryDatabase()
        store = DirectoryObjectStore(beside: home)
        pool = try home.openPool()
        clock = Locked(now)
        try pool.write { try $0.executeUpdate("CREATE TABLE t (id INTEGER PRIMARY KEY, x)") }
    }

    /// Adds a row, and stores all pages in a generation of its own, with the clock at a time from
    /// now.
    private func mirror(atHour hour: Double) async throws {
        clock.withLock { $0 = now + hour * 3600 }
        try await pool.writeWithoutTransaction { db in
            try db.checkpoint(.truncate)
            try db.executeUpdate("INSERT INTO t (x) VALUES (1)")
        }
        let mirror = try DatabaseMirror(of: pool, in: store, name: "notes", settings: .init()) {
            [clock] in clock.withLock { $0 }
        }
        try await mirror.flush()
        try await mirror.maintain()
    }

    private func restoredCount(atHour hour: Double? = nil) async throws -> Int? {
        try await store.restored(at: hour.map { .date(now + $0 * 3600) } ?? .latest) {
            try $0.int("SELECT count(*) FROM t")
        }
    }

    @Test func `a clock of years ago removes nothing, and moves no point in time`() async throws {
        for hour in [-20.0, -10, -5, -72_000, 0] { try await mirror(atHour: hour) }
        try await check(DatabaseMirror.history(of: "notes", in: store).count, equals: 5)
        for (hour, count) in [(-19.0, 1), (-7, 2), (-1, 4), (0, 5)] {
            try await check(restoredCount(atHour: hour), equals: count, "\(hour)")
        }
        let history = try await DatabaseMirror.history(of: "notes", in: store)
        check(history.map(\.begin) == history.map(\.begin).sorted())
        try await check(restoredCount(), equals: 5)
    }

    @Test func `a clock of next year removes nothing, and no point is given a wrong state`()
        async throws
    {
        for hour in [-20.0, -10, -5, 9600, -0.5, 0] { try await mirror(atHour: hour) }
        try await check(DatabaseMirror.history(of: "notes", in: store).count, equals: 6)
        for (hour, count) in [(-19.0, 1), (-7, 2), (-5, 3), (9600, 4)] {
            try await check(restoredCount(atHour: hour), equals: count, "\(hour)")
        }
        // Whether the fourth was committed before or after that, nobody knows.
        let error = await #expect(throws: MirrorError.self) { try await restoredCount(atHour: -1) }
        check(error?.description.contains("which is still to come"), equals: true)
        try await check(restoredCount(), equals: 6)
    }

    @Test(arguments: [2.0, -2])
    func `a running mirror gives each point its state, while the clock is wrong for seconds`(
        wrongHours: Double
    ) async throws {
        let start = now - 4 * 3600
        let real = Locked(0.0)
        clock.withLock { $0 = start }
        let mirror = try DatabaseMirror(
            of: pool, in: store, name: "notes", settings: .init(),
            uptime: { .seconds(real.withLock { $0 }) },
            clock: { [clock] in clock.withLock { $0 } })
        for second in 1...12 {
            real.withLock { $0 = Double(second) }
            let isWrong = (4...9).contains(second)
            clock.withLock { $0 = start + Double(second) + (isWrong ? wrongHours * 3600 : 0) }
            try await pool.write { try $0.executeUpdate("INSERT INTO t (x) VALUES (1)") }
            try await mirror.flush()
        }
        for second in 1...12 {
            try await check(
                restoredCount(atHour: -4 + (Double(second) + 0.1) / 3600), equals: second)
        }
        try await check(restoredCount(atHour: -3), equals: 12)
    }
}
