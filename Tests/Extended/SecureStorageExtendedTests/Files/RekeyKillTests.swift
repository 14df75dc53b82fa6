import Foundation
import SecureStorage
import Testing
import TestSupport

@testable import SecureStorageTests

/// Kills and full disks while a file's key changes: exactly one of the two keys opens it.
struct RekeyKillTests {
    typealias JournalMode = SecureDatabaseConfiguration.JournalMode
    typealias Key = RekeyTests.Key

    let database: TemporaryDatabase

    init() throws {
        database = try TemporaryDatabase()
    }

    /// Returns a closed store with a cheap key derivation.
    private func store(_ mode: JournalMode, _ database: TemporaryDatabase) -> SecureDatabaseStore {
        database.store {
            $0.journalMode = mode
            $0.cipher.kdfIterations = 1000
        }
    }

    // MARK: - Kills

    @Test(arguments: JournalMode.allCases, [Key.allKinds[1], Key.allKinds[0]])
    func `a kill leaves exactly one of the two keys, and every row`(
        _ mode: JournalMode, _ new: Key
    ) async throws {
        let old = Key.text("old")
        let original = try makeLargeFile(mode)
        var outcomes: [Key?: Int] = [:]
        var moment = SuddenDeath.Moment()
        for round in 1...SuddenDeath.count(1) {
            let database = try TemporaryDatabase()
            try original.write(to: database.url)
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [
                    path = database.path as String, mode = mode.rawValue as String,
                    isFirst = (new == Key.allKinds[1]) as Bool,
                    delay = moment.next() as Int
                ] in
                let mode = try require(JournalMode(rawValue: mode))
                try RekeyKillTests.rekey(path, mode, to: Key.allKinds[isFirst ? 1 : 0]) {
                    SuddenDeath.after(microseconds: delay)
                }
                while true { pause() }
            }
            // The right key works at the first attempt, in any order of keys and after a wrong one.
            let keys = [[old, new], [new, old], [.text("neither"), old, new]]
            let found = try checkOneKey(database, mode, keys[round % 3])
            outcomes[found, default: 0] += 1
            moment.note(wasTooLate: found == new)
        }
        SuddenDeath.report(
            "re-key, \(mode.rawValue): \(outcomes[old] ?? 0) old, \(outcomes[new] ?? 0) new")
    }

    #if os(Linux)
        /// Kills at a chosen byte of the log or journal, not at a chosen time.
        ///
        /// The kernel kills a process whose file exceeds its size limit.
        @Test(arguments: JournalMode.allCases)
        func `a kill in the middle of writing leaves the old key`(
            _ mode: JournalMode
        ) async throws {
            let original = try makeLargeFile(mode)
            for (round, new) in [Key.allKinds[1], Key.allKinds[0]].enumerated() {
                for part in SuddenDeath.isCampaign ? [2, 98] : [[2], [98]][round] {
                    let database = try TemporaryDatabase()
                    try original.write(to: database.url)
                    // The journal or the log receives a copy of the whole file.
                    let limit = original.count * part / 100
                    await #expect(processExitsWith: .signal(SIGXFSZ)) {
                        [
                            path = database.path as String, mode = mode.rawValue as String,
                            limit = limit as Int, round = round as Int
                        ] in
                        SuddenDeath.whenAFileGrows(beyond: limit)
                        let mode = try require(JournalMode(rawValue: mode))
                        try RekeyKillTests.rekey(path, mode, to: Key.allKinds[round == 0 ? 1 : 0])
                    }
                    let found = try checkOneKey(database, mode, [.text("old"), new])
                    check(found, equals: .text("old"), "\(part) %")
                }
            }
        }
    #endif

    /// Returns the content of a closed file of about 4 MB under the passphrase "old".
    private func makeLargeFile(_ mode: JournalMode) throws -> Data {
        let db = store(mode, database)
        try db.open(with: "old")
        try db.executeStatements(
            """
            CREATE TABLE t (x); INSERT INTO t VALUES ('row'), (randomblob(20000));
            WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 998)
            INSERT INTO t SELECT zeroblob(4000) FROM n;
            """)
        db.close()
        return try Data(contentsOf: database.url)
    }

    private static func rekey(
        _ path: String, _ mode: JournalMode, to key: Key, whenOpen: () -> Void = {}
    ) throws {
        var configuration = SecureDatabaseConfiguration()
        configuration.journalMode = mode
        configuration.cipher.kdfIterations = 1000
        // Smaller than the file, so that pages are written before the commit.
        configuration.cacheSize = 1 << 20
        let db = SecureDatabaseStore(fullDatabasePath: path, configuration: configuration)
        try db.open(with: "old")
        whenOpen()
        try key.change(of: db)
        db.close()
    }

    /// Tries each key once, in this order, and returns the only one that opens the file.
    private func checkOneKey(
        _ database: TemporaryDatabase, _ mode: JournalMode, _ keys: [Key],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> Key? {
        var right: [Key] = []
        for key in keys {
            let db = store(mode, database)
            if let error = storageError({ try key.open(db) }) {
                check(error.kind, equals: .authenticationFailed, sourceLocation: sourceLocation)
                continue
            }
            right.append(key)
            try check(
                db.int("SELECT count(*) FROM t"), equals: 1000, sourceLocation: sourceLocation)
            // The check reads only the main file.
            try db.checkpoint(.truncate)
            try check(
                db.strings("PRAGMA cipher_integrity_check"), equals: [],
                sourceLocation: sourceLocation)
            try check(
                db.strings("PRAGMA integrity_check"), equals: ["ok"], sourceLocation: sourceLocation
            )
            try db.executeUpdate("UPDATE t SET x = 'changed' WHERE x = 'row'")
        }
        check(right.count, equals: 1, "\(right)", sourceLocation: sourceLocation)
        return right.first
    }

    // MARK: - Full disks

    #if os(Linux)
        @Test(
            .enabled(if: SmallDisk.isAvailable, "needs a right to mount a tmpfs"),
            arguments: JournalMode.allCases)
        func `a re-key on a full disk fails, and the old key opens the file`(
            _ mode: JournalMode
        ) async throws {
            for spare in SuddenDeath.isCampaign ? [0, 8, 100, 500] : [8, 500] {
                let disk = try SmallDisk(kilobytes: 2048)
                await #expect(processExitsWith: .success, "\(spare) KB left") {
                    [
                        disk = disk.directory.path as String, mode = mode.rawValue as String,
                        spare = spare as Int
                    ] in
                    var configuration = SecureDatabaseConfiguration()
                    configuration.journalMode = try require(.init(rawValue: mode))
                    let db = SecureDatabaseStore(
                        fullDatabasePath: disk + "/test.db", configuration: configuration)
                    try db.open(with: TemporaryDatabase.key)
                    try db.executeUpdate("CREATE TABLE t (x)")
                    for _ in 1...10 {
                        try db.executeUpdate("INSERT INTO t VALUES (zeroblob(50000))")
                    }
                    db.close()
                    try db.open(with: TemporaryDatabase.key)
                    let ballast = Ballast(directory: disk)
                    try ballast.fill(leaving: spare * 1024)
                    let newKey = Data(repeating: 1, count: 32)

                    let error = storageError { try db.changeEncryptionKey(with: newKey) }

                    check(error?.kind, equals: .encryptionKeyChangeFailed)
                    check(db.isOpen())
                    let count = "SELECT count(*) FROM t WHERE length(x) = 50000"
                    try check(db.int(count), equals: 10)
                    db.close()
                    check(
                        storageError { try db.open(with: newKey) }?.kind,
                        equals: .authenticationFailed)
                    try ballast.remove()
                    try db.open(with: TemporaryDatabase.key)
                    try check(db.int(count), equals: 10)
                    try check(db.strings("PRAGMA cipher_integrity_check"), equals: [])
                    try db.changeEncryptionKey(with: newKey)
                    try check(db.int(count), equals: 10)
                }
            }
        }
    #endif
}
