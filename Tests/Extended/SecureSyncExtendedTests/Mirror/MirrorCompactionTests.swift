import Foundation
@testable import ObjectStores
@testable import SecureMirror
import SecureStorage
import SecureStoragePlatform
import SecureSync
import Testing
import TestSupport
@testable import SecureSyncTests

/// What a mirror keeps, over months of a clock that a test moves.
struct MirrorCompactionTests {
    private let home: TemporaryDatabase
    private let store: DirectoryObjectStore
    private let pool: SecureDatabasePool
    private let clock = Locked(Date(timeIntervalSince1970: 1_800_000_000))
    private let key = DatabaseKey.raw(SecretBytes(copying: TemporaryDatabase.key))

    init() throws {
        home = try TemporaryDatabase()
        store = DirectoryObjectStore(beside: home)
        pool = try home.openPool()
        try pool.write { try $0.executeUpdate("CREATE TABLE t (id INTEGER PRIMARY KEY, x)") }
    }

    private func mirror(_ settings: DatabaseMirror.Settings = .init()) throws -> DatabaseMirror {
        try DatabaseMirror(of: pool, in: store, name: "notes", settings: settings) { [clock] in
            clock.withLock { $0 }
        }
    }

    private func pass(_ duration: Duration) {
        clock.withLock { $0 += duration / .seconds(1) }
    }

    /// Adds a row, replaces another one, and ships.
    private func work(_ mirror: DatabaseMirror, bytes: Int = 100) async throws {
        try await pool.write { db in
            try db.executeUpdate("INSERT INTO t (x) VALUES (randomblob(?))", bytes)
            try db.executeUpdate(
                "UPDATE t SET x = randomblob(?) WHERE id = abs(random()) % (SELECT max(id) FROM t)",
                bytes)
        }
        try await mirror.flush()
    }

    private func current() throws -> [Data] { try pool.read { try MirroredRows.all($0) } }

    private func restored(at date: Date? = nil) async throws -> (state: [Data], objects: Int) {
        let url = URL(fileURLWithPath: home.path + "-restored")
        defer { _ = try? SecureDatabaseStore.remove(at: url) }
        let restoration = try await DatabaseMirror.restore(
            "notes", from: store, to: url, key: key, at: date.map { .date($0) } ?? .latest)
        let db = SecureDatabaseStore(url: url)
        try db.open(with: key)
        defer { db.close() }
        return (try MirroredRows.all(db), restoration.objectCount)
    }

    private func objects(_ level: String) async throws -> Int {
        try await store.listAll("notes/0000000000000001/\(level)/").count
    }

    @Test func `after a day, a restore reads few objects, and each point in time is as it was`()
        async throws
    {
        let mirror = try mirror()
        var states: [(date: Date, state: [Data])] = []
        try await work(mirror)
        let count = 240
        for step in 0..<count {
            // Two and a half minutes between bursts of four.
            pass(step % 4 == 3 ? .seconds(141) : .seconds(3))
            try await work(mirror)
            states.append((clock.withLock { $0 }, try current()))
            if step % 7 == 0 { try await mirror.maintain() }
        }
        pass(.seconds(3600))
        try await mirror.maintain()
        // 60 bursts in 2.5 hours.
        try await check(objects("log"), equals: count)
        try await check(objects("hours") <= 4)
        try await check(objects("minutes") >= 40)
        let latest = try await restored()
        try check(latest.state, equals: current())
        check(latest.objects <= 12)
        for index in stride(from: 0, to: count, by: 29) {
            let found = try await restored(at: states[index].date)
            check(found.state, equals: states[index].state, "\(index)")
            check(found.objects < 100)
        }
        // A day later, the ends of hours are left, and what follows them.
        pass(.seconds(24 * 3600))
        for _ in 0..<2 {
            pass(.seconds(60))
            for _ in 0..<2 { try await work(mirror) }
        }
        pass(.seconds(7200))
        try await work(mirror)
        try await mirror.maintain()
        try await check(objects("log"), equals: 5)
        try await check(objects("minutes"), equals: 2)
        try await check(restored().state, equals: current())
        for index in stride(from: 0, to: count, by: 29) {
            let found = try await restored(at: states[index].date).state
            let nearest = states[..<(index + 1)].lastIndex { $0.state == found }
            let age = nearest.map { states[index].date.timeIntervalSince(states[$0].date) }
            check(age.map { $0 < 3900 } ?? (index < 100), "\(index)")
        }
    }

    @Test func `a new snapshot begins when the log is larger than half of the database`()
        async throws
    {
        let mirror = try mirror()
        try await mirror.flush()
        var states: [(date: Date, state: [Data])] = []
        for _ in 0..<34 {
            try await work(mirror, bytes: 300_000)
            states.append((clock.withLock { $0 }, try current()))
            pass(.seconds(60))
            try await mirror.maintain()
        }
        try await mirror.flush()
        let generations = try await store.listAll("notes/generations/").count
        check(generations >= 2)
        for index in stride(from: 0, to: 34, by: 7) {
            // A generation is later than the state before it, even if the clock stands still.
            let date = states[index].date + 0.01
            try await check(restored(at: date).state, equals: states[index].state)
        }
        // Another start continues with the newest, if the log was not restarted in the meantime.
        // If the mirror has just emptied the log, the next commit does that. After a second one,
        // the log has few frames, or too few new ones to be emptied again.
        for _ in 0..<2 {
            try await pool.write { try $0.executeUpdate("INSERT INTO t (x) VALUES (1)") }
            try await mirror.flush()
        }
        try await work(try self.mirror())
        try await check(store.listAll("notes/generations/").count, equals: generations)
        try await check(restored().state, equals: current())
    }

    @Test func `what is older than the settings keep goes, and only that`() async throws {
        var settings = DatabaseMirror.Settings()
        settings.keepsHours = .seconds(10 * 24 * 3600)
        let mirror = try mirror(settings)
        var days: [(date: Date, state: [Data])] = []
        for _ in 0..<24 {
            try await work(mirror)
            days.append((clock.withLock { $0 }, try current()))
            pass(.seconds(24 * 3600))
            try await mirror.maintain()
            try await mirror.flush()
            let kept = days.suffix(10)
            for (date, state) in [kept.first, kept.dropFirst(4).first].compactMap({ $0 }) {
                try await check(restored(at: date).state, equals: state)
            }
        }
        try await check(store.listAll("notes/generations/").count <= 3)
        await #expect(throws: MirrorError.noMirror("notes")) {
            try await restored(at: days[10].date)
        }
        // Of a removed generation, its end is left: a mirror that still wrote to it must stop.
        let left = try await store.listAll("notes/0000000000000001/")
        check(left.count == 1 && left.allSatisfy { $0.size < 300 }, "\(left)")
    }

    @Test func `a mirror that is told so late that its generation is gone stops all the same`()
        async throws
    {
        let late = try mirror()
        try await late.flush()
        let other = try home.copiedFiles()
        let otherPool = try other.openPool()
        defer { otherPool.close() }
        let second = try DatabaseMirror(of: otherPool, in: store, name: "notes", settings: .init())
        {
            [clock] in clock.withLock { $0 }
        }
        for _ in 0..<3 {
            try await otherPool.write { try $0.executeUpdate("INSERT INTO t (x) VALUES (1)") }
            try await second.flush()
            for _ in 0..<31 {
                pass(.seconds(24 * 3600))
                try await second.maintain()
            }
        }
        try await check(store.listAll("notes/generations/0000000000000001").isEmpty)
        try await pool.write { try $0.executeUpdate("INSERT INTO t (x) VALUES (2)") }
        await #expect(throws: MirrorError.otherMirror("notes")) { try await late.flush() }
        try await check(restored().state.count, equals: 3)
    }

    @Test func `a transaction of many objects stays whole when what surrounds it is merged`()
        async throws
    {
        let mirror = try mirror()
        for round in 0..<12 {
            try await work(mirror)
            if round == 5 {
                try await pool.write { db in
                    for _ in 0..<20 {
                        try db.executeUpdate("INSERT INTO t (x) VALUES (randomblob(400000))")
                    }
                }
                try await mirror.flush()
            }
        }
        let (date, state) = (clock.withLock { $0 }, try current())
        pass(.seconds(2 * 3600))
        try await work(mirror)
        try await mirror.maintain()
        try await check(objects("minutes"), equals: 2)
        pass(.seconds(25 * 3600))
        try await mirror.maintain()
        // Those of the large transaction are among them.
        try await check(objects("log") >= 4)
        try await check(restored().state, equals: current())
        try await check(restored(at: date).state, equals: state)
    }
}
