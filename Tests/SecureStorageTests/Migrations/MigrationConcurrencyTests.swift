import Foundation
import SecureStorage
import Testing
import TestSupport

/// Threads and processes that migrate, write or are killed at the same time.
struct MigrationConcurrencyTests {
    typealias JournalMode = SecureDatabaseConfiguration.JournalMode

    private let database: TemporaryDatabase

    init() throws { database = try TemporaryDatabase() }

    /// Returns steps that would leave a trace if they ran twice.
    private static func counting(_ count: Int, rows: Int = 20) -> SchemaMigrations {
        var migrations = SchemaMigrations()
        migrations.add("log", sql: "CREATE TABLE log (step, value)")
        for number in 1...count {
            migrations.add("step \(number)") { db in
                for _ in 1...rows {
                    try db.executeUpdate("INSERT INTO log VALUES (?, randomblob(500))", number)
                }
            }
        }
        return migrations
    }

    private static let perStep = "SELECT count(*) FROM log GROUP BY step ORDER BY step"

    @Test(arguments: JournalMode.allCases)
    func `each step runs once when 8 threads migrate with separate stores`(_ mode: JournalMode)
        throws
    {
        for _ in 1...5 {
            let database = try TemporaryDatabase()
            let gate = Gate(count: 8)
            let applied = Shared<[String]>([])
            let errors = Shared<[String]>([])
            onThreads(8) { _ in
                do {
                    let db = try database.openStore {
                        $0.journalMode = mode
                        $0.busyTimeout = .seconds(60)
                    }
                    gate.pass()
                    let mine = try Self.counting(4).apply(to: db)
                    applied.withLock { $0 += mine }
                } catch { errors.withLock { $0.append("\(error)") } }
            }
            check(errors.current, equals: [])
            check(applied.current.sorted(), equals: ["log"] + (1...4).map { "step \($0)" })
            try check(database.openStore().strings(Self.perStep), equals: ["20", "20", "20", "20"])
        }
    }

    @Test func `each step runs once when two processes migrate`() async throws {
        for _ in 1...3 {
            let database = try TemporaryDatabase()
            let side = try TemporaryDatabase()
            async let first: Void = Self.migrateInProcess("1", database, side)
            async let second: Void = Self.migrateInProcess("2", database, side)
            _ = await (first, second)

            let db = try database.openStore()
            try check(Self.counting(6).pending(in: db), equals: [])
            try check(db.strings(Self.perStep), equals: Array(repeating: "20", count: 6))
        }
    }

    private static func migrateInProcess(
        _ name: String, _ database: TemporaryDatabase, _ side: TemporaryDatabase
    ) async {
        await #expect(processExitsWith: .success) {
            [
                name = name as String, path = database.path as String,
                meeting = side.directory.path as String
            ] in
            let db = SecureDatabaseStore(fullDatabasePath: path)
            try db.open(with: TemporaryDatabase.key)
            Rendezvous.meet(in: meeting, as: name, count: 2)
            try Self.counting(6).apply(to: db)
        }
    }

    @Test(arguments: JournalMode.allCases)
    func `a migration waits for another writer up to the busy timeout`(
        _ mode: JournalMode
    ) throws {
        let other = try database.openStore { $0.journalMode = mode }
        let db = try database.openStore {
            $0.journalMode = mode
            $0.busyTimeout = .milliseconds(50)
        }
        try other.beginImmediateTransaction()
        let start = ContinuousClock.now
        check(storageError { try Self.counting(1).apply(to: db) }?.code, equals: 5)
        check(ContinuousClock.now - start >= .milliseconds(50))
        try check(db.int("PRAGMA foreign_keys"), equals: 1)
        try other.rollback()
        try check(Self.counting(1).apply(to: db).count, equals: 2)
    }

    @Test func `a reader that blocks the commit leaves the step unapplied`() throws {
        let other = try database.openStore { $0.journalMode = .delete }
        let db = try database.openStore {
            $0.journalMode = .delete
            $0.busyTimeout = .milliseconds(20)
        }
        try other.beginDeferredTransaction()
        try check(other.int("SELECT count(*) FROM sqlite_schema"), equals: 0)
        check(storageError { try Self.counting(1).apply(to: db) }?.code, equals: 5)
        try check(!db.isInTransaction())
        try other.commit()
        try check(Self.counting(1).pending(in: db).count, equals: 2)
        try check(Self.counting(1).apply(to: db).count, equals: 2)
    }

    @Test func `readers of a pool continue during a migration`() throws {
        let pool = try database.openPool()
        try pool.migrate(Self.counting(1))
        let counts = try pool.read { reader in
            let before = try reader.int("SELECT count(*) FROM log")
            let applied = Shared<[String]>([])
            onThreads(1) { _ in
                if let names = try? pool.migrate(Self.counting(2)) {
                    applied.withLock { $0 = names }
                }
            }
            check(applied.current, equals: ["step 2"])
            return [before, try reader.int("SELECT count(*) FROM log")]
        }
        check(counts, equals: [20, 20])
        try check(pool.read { try $0.int("SELECT count(*) FROM log") }, equals: 40)
    }

    @Test(arguments: JournalMode.allCases)
    func `a kill at any time leaves each step fully applied or not begun`(
        _ mode: JournalMode
    ) async throws {
        var counts: [Int] = []
        var moment = SuddenDeath.Moment()
        for _ in 1...SuddenDeath.count(2) {
            let database = try TemporaryDatabase()
            try database.openStore { $0.journalMode = mode }.close()
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [
                    path = database.path as String, mode = mode.rawValue as String,
                    delay = moment.next() as Int
                ] in
                let db = try Self.store(path, mode)
                SuddenDeath.after(microseconds: delay)
                try Self.counting(12, rows: 300).apply(to: db)
                while true { pause() }
            }
            let db = try Self.store(database.path, mode.rawValue)
            try check(db.strings("PRAGMA integrity_check"), equals: ["ok"])
            let pending = try Self.counting(12, rows: 300).pending(in: db)
            counts.append(pending.count)
            moment.note(wasTooLate: pending.isEmpty)
            if pending.count <= 12 {
                try check(
                    db.strings(Self.perStep),
                    equals: Array(repeating: "300", count: 12 - pending.count))
            }
            try check(Self.counting(12, rows: 300).apply(to: db), equals: pending)
            try check(db.strings(Self.perStep), equals: Array(repeating: "300", count: 12))
        }
        SuddenDeath.report("migrations, \(mode.rawValue): steps left by the kills: \(counts)")
    }

    private static func store(_ path: String, _ mode: String) throws -> SecureDatabaseStore {
        var configuration = SecureDatabaseConfiguration()
        configuration.journalMode = try require(JournalMode(rawValue: mode))
        let db = SecureDatabaseStore(fullDatabasePath: path, configuration: configuration)
        try db.open(with: TemporaryDatabase.key)
        return db
    }
}
