import Foundation
import SecureStorage
import Testing
import TestSupport

/// Copying a database that is in use.
struct BackupTests {
    typealias JournalMode = SecureDatabaseConfiguration.JournalMode

    let database: TemporaryDatabase
    let copy: TemporaryDatabase

    init() throws {
        database = try TemporaryDatabase()
        copy = try TemporaryDatabase(name: "copy.db")
    }

    private static let otherKey = Data((100..<132).map { UInt8($0) })

    private func makeStore(_ mode: JournalMode, rows: Int = 50) throws -> SecureDatabaseStore {
        let db = try database.openStore { $0.journalMode = mode }
        try db.executeStatements(
            """
            CREATE TABLE t (id INTEGER PRIMARY KEY, x);
            WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
            INSERT INTO t SELECT i, randomblob(5000) FROM n;
            PRAGMA user_version = 7; PRAGMA application_id = 99;
            """)
        return db
    }

    @Test(arguments: JournalMode.allCases)
    func `a copy has all rows and opens with the same key, or with its own`(
        _ mode: JournalMode
    ) throws {
        let db = try makeStore(mode)
        let rows = try db.strings("SELECT hex(x) FROM t ORDER BY id")
        for key in [nil, Self.otherKey] {
            let target = try TemporaryDatabase(name: "copy.db")
            try db.backup(to: target.url, key: key.map { .raw(SecretBytes(copying: $0)) })

            try check(target.fileNames(), equals: ["copy.db"])
            check(target.mode(of: "copy.db"), equals: 0o600)
            let opened = target.store()
            try opened.open(with: key ?? TemporaryDatabase.key)
            try check(opened.strings("SELECT hex(x) FROM t ORDER BY id"), equals: rows)
            try check(opened.int("PRAGMA user_version"), equals: 7)
            try check(opened.int("PRAGMA application_id"), equals: 99)
            try check(opened.verifyIntegrity().isSound)
            opened.close()
            if key != nil {
                check(
                    storageError { _ = try target.openStore() }?.kind, equals: .authenticationFailed
                )
            }
        }
        guard mode == .wal else { return }
        // A passphrase opens the copy of a file that was created with it.
        let phrased = try TemporaryDatabase()
        let original = phrased.store { $0.journalMode = mode }
        try original.open(with: "a passphrase")
        try original.executeUpdate("CREATE TABLE t (x)")
        try original.backup(to: copy.url)
        let opened = copy.store()
        try opened.open(with: "a passphrase")
        try check(opened.tableExists("t"))
    }

    @Test func `another program reads the copy`() throws {
        let db = try makeStore(.wal)
        try db.backup(to: copy.url, key: .passphrase("for the other one"))
        let shell = try SQLCipherShell(
            copy.path, key: "for the other one", "SELECT count(*) FROM t; PRAGMA integrity_check;")
        check(shell.lines, equals: ["50", "ok"])
    }

    @Test(arguments: JournalMode.allCases)
    func `writers continue during a backup, and each commit is in the copy or not`(
        _ mode: JournalMode
    ) throws {
        let db = try makeStore(mode, rows: 300)
        try db.executeUpdate("CREATE TABLE log (id INTEGER PRIMARY KEY, half INTEGER)")
        db.close()
        let writer = try database.openStore { $0.journalMode = mode }
        let queue = SecureDatabaseQueue(databaseStore: writer)
        let stop = Rounds()
        let ended = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            while !stop.isOver {
                // Always two rows per commit.
                try? queue.inImmediateTransaction { db in
                    try db.executeUpdate("INSERT INTO log (half) VALUES (1)")
                    try db.executeUpdate("INSERT INTO log (half) VALUES (2)")
                    return false
                }
                usleep(500)
            }
            ended.signal()
        }
        let source = try database.openStore { $0.journalMode = mode }
        for _ in 0..<2 {
            let before = try source.int("SELECT count(*) FROM log") ?? 0
            try source.backup(to: copy.url, replacing: true)
            let after = try source.int("SELECT count(*) FROM log") ?? 0
            let opened = try copy.openStore { $0.journalMode = mode }
            let copied = try require(opened.int("SELECT count(*) FROM log"))
            check(copied % 2, equals: 0)
            check((before...after).contains(copied))
            try check(opened.int("SELECT count(*) FROM t"), equals: 300)
            opened.close()
        }
        stop.end()
        ended.wait()
    }

    @Test func `a transaction that is not committed is not in the copy`() throws {
        let db = try makeStore(.wal)
        try db.executeStatements("BEGIN IMMEDIATE; DELETE FROM t")
        try db.backup(to: copy.url)
        try db.rollback()
        try check(copy.openStore().int("SELECT count(*) FROM t"), equals: 50)
    }

    // MARK: - The target

    @Test func `an existing file is replaced only on request`() throws {
        let db = try makeStore(.wal)
        try Data("precious".utf8).write(to: copy.url)
        let before = try DirectorySnapshot(of: copy.directory)

        check(
            storageError { try db.backup(to: copy.url) }?.description.contains("replace"),
            equals: true)

        try check(DirectorySnapshot(of: copy.directory), equals: before)
        try db.backup(to: copy.url, replacing: true)
        try check(copy.openStore().int("SELECT count(*) FROM t"), equals: 50)
    }

    @Test func `neither a database in use nor the source itself is replaced`() throws {
        let db = try makeStore(.wal)
        let other = try copy.openStore()
        try other.executeUpdate("CREATE TABLE precious (x)")
        for url in [copy.url, database.url] {
            check(storageError { try db.backup(to: url, replacing: true) }?.code, equals: 5)
        }
        try check(other.tableExists("precious"))
        try check(db.int("SELECT count(*) FROM t"), equals: 50)
    }

    @Test func `an impossible target is an error, and nothing is left there`() throws {
        let db = try makeStore(.wal)
        let missing = copy.directory.appendingPathComponent("no/such/copy.db")
        check(storageError { try db.backup(to: missing) }?.code, equals: 14)
        try FileManager.default.createDirectory(at: copy.url, withIntermediateDirectories: false)
        check(storageError { try db.backup(to: copy.url, replacing: true) }?.code, equals: 14)
        check(
            storageError { try db.backup(to: missing, key: .passphrase("")) }?.kind,
            equals: .authenticationFailed)
        try check(copy.fileNames(), equals: ["copy.db"])
    }

    @Test func `a damaged database is not copied as if it were sound`() throws {
        let db = try makeStore(.delete)
        db.close()
        var bytes = try Data(contentsOf: database.url)
        bytes[bytes.count - 4000] ^= 1
        try bytes.write(to: database.url)
        let damaged = try database.openStore { $0.journalMode = .delete }

        check(storageError { try damaged.backup(to: copy.url) } != nil)

        try check(copy.fileNames(), equals: [])
    }

    @Test(arguments: [0.1, 0.6])
    func `an error thrown by progress ends the backup and keeps the existing file`(_ limit: Double)
        throws
    {
        let db = try makeStore(.wal, rows: 1500)
        try Data("older".utf8).write(to: copy.url)
        let before = try DirectorySnapshot(of: copy.directory)
        #expect(throws: CancellationError.self) {
            try db.backup(to: copy.url, replacing: true) {
                if $0.fraction > limit { throw CancellationError() }
            }
        }
        try check(DirectorySnapshot(of: copy.directory), equals: before)
        var seen: [FileProgress] = []
        try db.backup(to: copy.url, replacing: true) { seen.append($0) }
        check(seen.count > 4)
        check(seen.last?.fraction, equals: 1)
    }

    @Test(.enabled(if: SmallDisk.isAvailable))
    func `a full disk is an error, and nothing is left`() throws {
        let disk = try SmallDisk(kilobytes: 200)
        let db = try makeStore(.wal)
        let target = disk.directory.appendingPathComponent("copy.db")
        let error = storageError { try db.backup(to: target) }
        check([10, 13, 14].contains(error?.code), "\(error?.description ?? "")")
        try check(FileManager.default.contentsOfDirectory(atPath: disk.directory.path), equals: [])
    }

    // MARK: - Kills

    @Test(.enabled(if: !Sanitizer.isPresent), arguments: JournalMode.allCases)
    func `a kill leaves no copy, the older one or a complete one`(_ mode: JournalMode) async throws
    {
        let db = try makeStore(mode, rows: 400)
        db.close()
        var moment = SuddenDeath.Moment()
        var outcomes: [String: Int] = [:]
        for round in 0..<SuddenDeath.count(2) {
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [
                    source = database.path as String, target = copy.path as String,
                    mode = mode.rawValue as String, delay = moment.next() as Int
                ] in
                var configuration = SecureDatabaseConfiguration()
                configuration.journalMode = try require(.init(rawValue: mode))
                let db = SecureDatabaseStore(
                    fullDatabasePath: source, configuration: configuration)
                try db.open(with: TemporaryDatabase.key)
                SuddenDeath.after(microseconds: delay)
                try db.backup(to: URL(fileURLWithPath: target), replacing: true)
                _ = FileManager.default.createFile(atPath: target + ".done", contents: nil)
                while true { pause() }
            }
            let isDone = access(copy.path + ".done", F_OK) == 0
            moment.note(wasTooLate: isDone)
            try? FileManager.default.removeItem(atPath: copy.path + ".done")
            if access(copy.path, F_OK) == 0 {
                let opened = try copy.openStore()
                try check(opened.int("SELECT count(*) FROM t"), equals: 400)
                try check(opened.verifyIntegrity().isSound)
                opened.close()
                outcomes["whole", default: 0] += 1
            } else {
                outcomes["none", default: 0] += 1
            }
            // Every other round begins without a copy.
            if round % 2 == 0 { try? FileManager.default.removeItem(at: copy.url) }
        }
        SuddenDeath.report("backup, \(mode): \(outcomes)")
    }
}
