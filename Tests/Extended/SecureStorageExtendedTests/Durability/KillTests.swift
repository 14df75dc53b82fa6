import Foundation
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// A writing process is killed at any time.
struct KillTests {
    typealias JournalMode = SecureDatabaseConfiguration.JournalMode

    /// The ways to write, one row or entry per call.
    enum Writer: String, CaseIterable, Sendable {
        case store, queue, pool, keyValueStore

        /// Stores the next number, then its acknowledgement, for as long as the process lives.
        func run(_ path: String, _ mode: JournalMode, _ acknowledged: FileHandle) throws {
            var configuration = SecureDatabaseConfiguration()
            configuration.journalMode = mode
            let url = URL(fileURLWithPath: path)
            let insert = "INSERT INTO t (x) VALUES (zeroblob(3000))"
            let write: (Int) throws -> Void
            switch self {
            case .store:
                let db = SecureDatabaseStore(fullDatabasePath: path, configuration: configuration)
                try db.open(with: TemporaryDatabase.key)
                write = { _ in try db.executeUpdate(insert) }
            case .queue:
                let db = SecureDatabaseStore(fullDatabasePath: path, configuration: configuration)
                try db.open(with: TemporaryDatabase.key)
                let queue = SecureDatabaseQueue(databaseStore: db)
                write = { _ in
                    try queue.inExclusiveTransaction { db in
                        try db.executeUpdate(insert)
                        return false
                    }
                }
            case .pool:
                let pool = SecureDatabasePool(url: url, configuration: configuration)
                try pool.open(with: .raw(TemporaryDatabase.key))
                write = { _ in
                    try pool.write { try $0.executeUpdate(insert) }
                }
            case .keyValueStore:
                let db = SecureDatabaseStore(fullDatabasePath: path, configuration: configuration)
                try db.open(with: TemporaryDatabase.key)
                let store = try SecureKeyValueStore(databaseStore: db, name: "entries")
                write = { try store.put(Data(count: 3000), forKey: "\($0)") }
            }
            for number in 1... {
                try write(number)
                try acknowledged.write(contentsOf: Data("1".utf8))
            }
        }

        func count(_ db: SecureDatabaseStore) throws -> Int? {
            guard self == .keyValueStore else { return try db.int("SELECT count(*) FROM t") }
            return try SecureKeyValueStore(databaseStore: db, name: "entries").count()
        }
    }

    @Test(arguments: Writer.allCases, JournalMode.allCases)
    func `a kill loses nothing that was acknowledged`(
        _ writer: Writer, _ mode: JournalMode
    ) async throws {
        // A pool needs a write-ahead log.
        guard writer != .pool || mode == .wal else { return }
        var moment = SuddenDeath.Moment()
        var total = 0
        for _ in 0..<SuddenDeath.count(1) {
            let database = try TemporaryDatabase()
            let log = database.directory.appendingPathComponent("acknowledged")
            try database.openStore { $0.journalMode = mode }.executeStatements(
                "CREATE TABLE t (id INTEGER PRIMARY KEY, x)")
            _ = FileManager.default.createFile(atPath: log.path, contents: nil)
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [
                    path = database.path as String, log = log.path as String,
                    writer = writer.rawValue as String, mode = mode.rawValue as String,
                    delay = moment.next() as Int
                ] in
                let acknowledged = try require(FileHandle(forWritingAtPath: log))
                SuddenDeath.after(microseconds: delay)
                try require(Writer(rawValue: writer)).run(
                    path, try require(JournalMode(rawValue: mode)), acknowledged)
            }
            let acknowledged = try Data(contentsOf: log).count
            let db = try database.openStore { $0.journalMode = mode }
            let stored = try writer.count(db)
            // The last one may have been stored but not yet acknowledged.
            check(stored == acknowledged || stored == acknowledged + 1)
            try check(db.verifyIntegrity().isSound)
            db.close()
            total += acknowledged
            moment.note(wasTooLate: acknowledged > 20)
        }
        SuddenDeath.report(
            "writing, \(writer.rawValue), \(mode.rawValue): \(total) acknowledged, none lost")
    }

    @Test func `a kill under 32 writers of a pool loses nothing that was acknowledged`()
        async throws
    {
        var moment = SuddenDeath.Moment()
        var total = 0
        for _ in 0..<SuddenDeath.count(1) {
            let database = try TemporaryDatabase()
            let log = database.directory.appendingPathComponent("acknowledged")
            try database.openStore().executeStatements(GroupCommitTests.table)
            _ = FileManager.default.createFile(atPath: log.path, contents: nil)
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [
                    path = database.path as String, log = log.path as String,
                    delay = moment.next() as Int
                ] in
                try Self.writeFromManyThreads(path, log, delay)
            }
            var acknowledged: [UInt8: Int] = [:]
            for writer in try Data(contentsOf: log) { acknowledged[writer, default: 0] += 1 }
            let db = try database.openStore()
            try check(db.verifyIntegrity().isSound)
            for writer in UInt8(1)...32 {
                let rows = try db.strings(
                    "SELECT count(*) FROM t WHERE writer = \(writer) GROUP BY number")
                check(rows.allSatisfy { $0 == "2" }, "a half of a transaction")
                let done = acknowledged[writer] ?? 0
                check(rows.count == done || rows.count == done + 1)
                total += done
            }
            db.close()
            moment.note(wasTooLate: acknowledged.values.reduce(0, +) > 200)
        }
        SuddenDeath.report("32 writers of a pool: \(total) acknowledged, none lost")
    }

    private static func writeFromManyThreads(_ path: String, _ log: String, _ delay: Int) throws {
        let file = open(log, O_WRONLY | O_APPEND)
        try require(file >= 0)
        let pool = try GroupCommitTests.pool(path)
        SuddenDeath.after(microseconds: delay)
        try Threads.run(32) { thread in
            for number in 1... {
                try pool.write { try GroupCommitTests.write(thread + 1, number, $0) }
                var writer = UInt8(thread + 1)
                try require(write(file, &writer, 1) == 1)
            }
        }
    }

    @Test(arguments: JournalMode.allCases)
    func `a kill during a vacuum loses no row`(_ mode: JournalMode) async throws {
        let original = try TemporaryDatabase()
        let db = try original.openStore { $0.journalMode = mode }
        try db.executeStatements(
            """
            CREATE TABLE t (id INTEGER PRIMARY KEY, x);
            WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
            INSERT INTO t SELECT i, zeroblob(2000) FROM n;
            DELETE FROM t WHERE id % 2 = 0;
            """)
        db.close()
        let content = try Data(contentsOf: original.url)
        var moment = SuddenDeath.Moment()
        var outcomes = [0, 0]
        for _ in 0..<SuddenDeath.count(1) {
            let database = try TemporaryDatabase()
            try content.write(to: database.url)
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [
                    path = database.path as String, mode = mode.rawValue as String,
                    delay = moment.next() as Int
                ] in
                var configuration = SecureDatabaseConfiguration()
                configuration.journalMode = try require(JournalMode(rawValue: mode))
                // Smaller than the file, so that pages are written before the end.
                configuration.cacheSize = 1 << 20
                let db = SecureDatabaseStore(fullDatabasePath: path, configuration: configuration)
                try db.open(with: TemporaryDatabase.key)
                SuddenDeath.after(microseconds: delay)
                try db.vacuum()
                db.close()
                while true { pause() }
            }
            let db = try database.openStore { $0.journalMode = mode }
            try check(db.int("SELECT count(*) FROM t WHERE length(x) = 2000"), equals: 1000)
            let report = try db.verifyIntegrity()
            check(report.isSound, "\(report)")
            let isVacuumed = try db.int("PRAGMA freelist_count") == 0
            outcomes[isVacuumed ? 1 : 0] += 1
            moment.note(wasTooLate: isVacuumed)
        }
        SuddenDeath.report("vacuum, \(mode.rawValue): \(outcomes[0]) before, \(outcomes[1]) after")
    }
}
