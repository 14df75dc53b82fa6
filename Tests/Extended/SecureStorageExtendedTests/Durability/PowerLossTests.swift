import FaultyDisk
import Foundation
import Logging
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// States that a power cut may leave on the disk, rebuilt from recorded writes and opened.
struct PowerLossTests {
    /// States per journal mode; `make campaign NAME=crash` sets more.
    private static let states = environmentNumber("SECURESTORAGE_STATES", default: 20)
    /// Chosen at random in each run; a failure names it.
    private static let seed = Campaign.seed

    @Test(arguments: ["wal", "delete", "truncate", "persist"])
    func `a power cut leaves every acknowledged transaction, and none in part`(
        _ mode: String
    ) async throws {
        let database = try TemporaryDatabase()
        await #expect(processExitsWith: .success, "seed \(Self.seed)") {
            [
                path = database.path as String, mode = mode as String,
                states = Self.states as Int, seed = Self.seed as UInt64
            ] in
            let campaign = PowerCut(path: path, mode: mode, seed: seed)
            try campaign.makeFile()
            let begun = try campaign.record { db in
                for number in 1...24 {
                    try campaign.write(number, db)
                    // Now and then checkpoints the log, with and without emptying it.
                    if number % 7 == 0 { try db.checkpoint(.truncate) }
                    if number % 11 == 0 { try db.checkpoint(.passive) }
                }
            }
            check(begun > 200)
            let tried = try campaign.eachState(atLeast: states) { directory, acknowledged in
                try campaign.expectNoDamage(directory)
                let db = campaign.store(directory + "/test.db")
                try db.open(with: PowerCut.oldKey)
                defer { db.close() }
                try campaign.verify(db, acknowledged: acknowledged)
            }
            check(tried >= states)
        }
    }

    /// Unsynced data may be missing: a commit may be lost, but nothing is damaged.
    @Test(arguments: ["wal", "delete", "truncate", "persist"])
    func `what a power cut leaves with synchronous normal is not reported as damage`(
        _ mode: String
    ) async throws {
        let database = try TemporaryDatabase()
        await #expect(processExitsWith: .success, "seed \(Self.seed)") {
            [
                path = database.path as String, mode = mode as String,
                states = Self.states as Int, seed = Self.seed as UInt64
            ] in
            let campaign = PowerCut(path: path, mode: mode, seed: seed)
            campaign.synchronous = .normal
            try campaign.makeFile()
            try campaign.record { db in
                for number in 1...12 {
                    try campaign.write(number, db)
                    if number % 5 == 0 { try db.checkpoint(.passive) }
                }
            }
            // About once in 500 times a journal record with sectors of two transactions passes
            // SQLite's checksum, the sum of every 200th byte: the engine would write it into the
            // file.
            var tornRecords = 0
            let tried = try campaign.eachState(atLeast: states) { directory, _ in
                let db = campaign.store(directory + "/test.db")
                let error = storageError { try db.open(with: PowerCut.oldKey) }
                let text = error?.description ?? ""
                let isTorn = text.contains(
                    "the journal that a crash left behind is damaged: record ")
                check(isTorn || !text.contains("damaged"), "\(text)")
                tornRecords += isTorn ? 1 : 0
                db.close()
            }
            check(tornRecords * 20 <= tried)
            // The warning about the machine's engine does not count.
            check(campaign.log.warnings.filter { !$0.contains("known weaknesses") }, equals: [])
        }
    }

    @Test(arguments: ["wal", "delete"])
    func `a power cut during a re-key leaves exactly one of the two keys, and every row`(
        _ mode: String
    ) async throws {
        let database = try TemporaryDatabase()
        await #expect(processExitsWith: .success, "seed \(Self.seed)") {
            [
                path = database.path as String, mode = mode as String,
                states = Self.states as Int, seed = Self.seed as UInt64
            ] in
            let campaign = PowerCut(path: path, mode: mode, seed: seed)
            try campaign.makeFile()
            try campaign.record { db in
                try campaign.write(1, db)
                try db.changeEncryptionKey(with: PowerCut.newKey)
                faulty_disk_mark(PowerCut.rekeyed)
                try campaign.write(2, db)
            }
            var outcomes: [Data: Int] = [:]
            try campaign.eachState(atLeast: states) { directory, acknowledged in
                let db = campaign.store(directory + "/test.db")
                let keys = [PowerCut.oldKey, PowerCut.newKey].filter { key in
                    defer { db.close() }
                    return storageError { try db.open(with: key) } == nil
                }
                try require(keys.count == 1)
                outcomes[keys[0], default: 0] += 1
                if acknowledged.contains(Int(PowerCut.rekeyed)) {
                    check(keys[0], equals: PowerCut.newKey)
                }
                try db.open(with: keys[0])
                defer { db.close() }
                try campaign.verify(
                    db, acknowledged: acknowledged.filter { $0 != Int(PowerCut.rekeyed) })
            }
            check(outcomes.count, equals: 2)
        }
    }

    @Test func `a power cut leaves every write of a group that has returned, and none in part`()
        async throws
    {
        let database = try TemporaryDatabase()
        await #expect(processExitsWith: .success, "seed \(Self.seed)") {
            [
                path = database.path as String, states = Self.states as Int,
                seed = Self.seed as UInt64
            ] in
            let campaign = PowerCut(path: path, mode: "wal", seed: seed)
            campaign.groupsWrites = true
            try campaign.makeFile()
            let syncs = try campaign.recordGroups(of: 8, transactions: 12)
            // Otherwise nothing was grouped.
            check(syncs < 8 * 12)
            // Several commits may be on their way to the disk, so a later one may be whole where an
            // earlier one is not. That is not damage.
            let tried = try campaign.eachState(atLeast: states) { directory, acknowledged in
                let db = campaign.store(directory + "/test.db")
                try db.open(with: PowerCut.oldKey)
                defer { db.close() }
                try campaign.checkGroups(db, acknowledged: acknowledged)
            }
            check(tried >= states)
            check(campaign.log.warnings.filter { !$0.contains("known weaknesses") }, equals: [])
        }
    }
}

/// A workload whose writes are recorded, and the states of its disk.
private final class PowerCut {
    static let oldKey = TemporaryDatabase.key
    static let newKey = Data((1...32).map { UInt8($0 + 100) })
    static let rekeyed: Int64 = 1000

    let path: String
    let mode: String
    let seed: UInt64
    var synchronous = SecureDatabaseConfiguration.Synchronous.full
    var groupsWrites = false
    let log = LogRecorder()
    /// The files on the disk before the recording.
    private var files: [String: Data] = [:]

    init(path: String, mode: String, seed: UInt64) {
        self.path = path
        self.mode = mode
        self.seed = seed
    }

    func store(_ path: String) -> SecureDatabaseStore {
        var configuration = SecureDatabaseConfiguration()
        configuration.journalMode = mode == "wal" ? .wal : .delete
        configuration.secondInstance = .allowed
        configuration.synchronous = synchronous
        configuration.groupsWrites = groupsWrites
        configuration.logger = Logger(label: "power cut") { [log] _ in log }
        // Smaller than what a transaction changes, so that pages are written before its end.
        configuration.cacheSize = 0
        return SecureDatabaseStore(fullDatabasePath: path, configuration: configuration)
    }

    /// Makes accounts whose sum never changes, and a table with a row for each part of a transfer.
    func makeFile() throws {
        faulty_disk_install()
        let db = store(path)
        try db.open(with: Self.oldKey)
        try db.executeStatements(
            """
            CREATE TABLE account (id INTEGER PRIMARY KEY, sum INTEGER, note BLOB);
            CREATE TABLE transfer (number INTEGER, part INTEGER, note BLOB);
            CREATE INDEX transfer_number ON transfer (number, note);
            WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
            INSERT INTO account SELECT i, 100, randomblob(900) FROM n;
            """)
        db.close()
    }

    /// Runs `body` on the open file and returns the number of disk operations.
    @discardableResult
    func record(_ body: (SecureDatabaseStore) throws -> Void) throws -> Int {
        let db = store(path)
        files = try readFiles()
        faulty_disk_record()
        try db.open(with: Self.oldKey)
        if mode == "truncate" || mode == "persist" {
            // The configuration has no setting for these modes; they are set in SQL.
            try check(db.strings("PRAGMA journal_mode = \(mode)"), equals: [mode])
        }
        try body(db)
        db.close()
        return faulty_disk_stop()
    }

    /// Lets several threads write through one pool, each its own transactions, and returns the
    /// number of syncs of the log.
    func recordGroups(of count: Int, transactions: Int) throws -> Int {
        let pool = SecureDatabasePool(
            fullDatabasePath: path, configuration: store(path).configuration)
        files = try readFiles()
        faulty_disk_delay_syncs(2000)
        faulty_disk_record()
        try pool.open(with: .raw(SecretBytes(copying: Self.oldKey)))
        try Threads.run(count) { thread in
            let writer = thread + 1
            for number in 1...transactions {
                try pool.write { db in
                    for part in 1...3 {
                        try db.executeUpdate(
                            "INSERT INTO transfer VALUES (?, ?, randomblob(?))",
                            values: [writer * 100 + number, part, 300 * part])
                    }
                }
                faulty_disk_mark(Int64(writer * 100 + number))
                if writer == 1, number.isMultiple(of: 5) { try pool.checkpoint(.passive) }
            }
        }
        pool.close()
        return recordedLogSyncs()
    }

    func checkGroups(_ db: SecureDatabaseStore, acknowledged: [Int]) throws {
        try check(db.verifyIntegrity().isSound)
        try check(
            db.strings("SELECT number FROM transfer GROUP BY 1 HAVING count(*) <> 3"), equals: [])
        let numbers = try db.strings("SELECT DISTINCT number FROM transfer ORDER BY 1")
            .compactMap { $0.flatMap { Int($0) } }
        for (writer, stored) in Dictionary(grouping: numbers, by: { $0 / 100 }) {
            check(stored, equals: (1...stored.count).map { writer * 100 + $0 })
        }
        let lost = Set(acknowledged).subtracting(numbers)
        check(lost.isEmpty, "acknowledged and lost: \(lost.sorted())")
    }

    /// Commits one transaction of many pages and acknowledges it with a mark.
    func write(_ number: Int, _ db: SecureDatabaseStore) throws {
        try db.beginExclusiveTransaction()
        try db.executeUpdate("UPDATE account SET sum = sum - ?, note = randomblob(900)", number)
        for part in 1...3 {
            try db.executeUpdate(
                "INSERT INTO transfer VALUES (?, ?, randomblob(?))", number, part, 500 * part)
        }
        try db.executeUpdate("UPDATE account SET sum = sum + ?", number)
        try db.commit()
        faulty_disk_mark(Int64(number))
    }

    /// Checks that what a power cut leaves is not reported as damage.
    func expectNoDamage(_ directory: String) throws {
        let finding = try SecureDatabaseStore.diagnose(
            at: URL(fileURLWithPath: directory + "/test.db"),
            key: .raw(SecretBytes(copying: Self.oldKey))
        ).finding
        switch finding {
        case .damagedLog, .damagedJournal: Issue.record("\(finding)")
        default: break
        }
    }

    func verify(_ db: SecureDatabaseStore, acknowledged: [Int]) throws {
        try check(db.verifyIntegrity().isSound)
        try check(db.int("SELECT sum(sum) FROM account"), equals: 4000)
        try check(
            db.strings("SELECT number FROM transfer GROUP BY 1 HAVING count(*) <> 3"), equals: [])
        let numbers = try db.strings("SELECT DISTINCT number FROM transfer ORDER BY 1")
            .compactMap { $0.flatMap { Int($0) } }
        check(numbers, equals: Array(1..<numbers.count + 1), "a gap between transactions")
        let last = acknowledged.last ?? 0
        check(numbers.count == last || numbers.count == last + 1, "acknowledged \(last)")
    }

    /// Calls `body` with enough states, each in its own directory and with the marks before it.
    @discardableResult
    func eachState(
        atLeast count: Int, _ body: (_ directory: String, _ acknowledged: [Int]) throws -> Void
    ) throws -> Int {
        let events = recordedEvents()
        var random = SplitMix64(seed: seed)
        // After each event, or every nth: the two extremes of what may be there, and states in
        // between.
        let each = max(events.count * 3 / count, 1)
        let visited = (events.count + each - 1) / each
        let perEvent = max((count + visited - 1) / visited, 3)
        var tried = 0
        var replay = DiskReplay(files: files)
        var acknowledged: [Int] = []
        for (number, event) in events.enumerated() {
            if event.path == nil { acknowledged.append(Int(event.offset)) }
            replay.play(event)
            guard number % each == 0 else { continue }
            var states = [replay.everything, replay.syncedOnly]
            for _ in 2..<perEvent { states.append(replay.something(&random)) }
            for state in states {
                let directory = try lay(state)
                defer { try? FileManager.default.removeItem(atPath: directory) }
                try body(directory, acknowledged)
                tried += 1
            }
        }
        return tried
    }

    private func lay(_ state: [String: Data]) throws -> String {
        // In memory if possible, since it is opened once and discarded.
        let shared = "/dev/shm"
        let parent =
            access(shared, W_OK) == 0 ? shared : (path as NSString).deletingLastPathComponent
        let directory = parent + "/SecureStorageTests-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: false)
        for (name, content) in state {
            try content.write(to: URL(fileURLWithPath: directory + "/" + name))
        }
        return directory
    }

    private func readFiles() throws -> [String: Data] {
        let directory = (path as NSString).deletingLastPathComponent
        var files: [String: Data] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: directory) {
            files[name] = try Data(contentsOf: URL(fileURLWithPath: directory + "/" + name))
        }
        return files
    }
}
