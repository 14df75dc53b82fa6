import Foundation
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// Kills, full disks and too few descriptors while files are copied, converted and checked.
struct LifecycleEnvironmentTests {
    typealias JournalMode = SecureDatabaseConfiguration.JournalMode

    let database: TemporaryDatabase
    let target: TemporaryDatabase

    init() throws {
        database = try TemporaryDatabase()
        target = try TemporaryDatabase(name: "target.db")
    }

    private static let key = DatabaseKey.raw(SecretBytes(copying: TemporaryDatabase.key))

    private func makePlaintext(_ mode: JournalMode) throws {
        _ = try SQLCipherShell(
            database.path, key: nil,
            """
            PRAGMA journal_mode = \(mode.rawValue);
            CREATE TABLE t (id INTEGER PRIMARY KEY, x);
            WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
            INSERT INTO t SELECT i, 'the marker of row ' || i || hex(randomblob(100)) FROM n;
            """)
    }

    private func makeEncrypted(_ mode: JournalMode) throws {
        let db = try database.openStore { $0.journalMode = mode }
        try db.executeStatements(
            """
            CREATE TABLE t (id INTEGER PRIMARY KEY, x);
            WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
            INSERT INTO t SELECT i, 'the marker of row ' || i || hex(randomblob(100)) FROM n;
            """)
        db.close()
    }

    // MARK: - Kills

    @Test(.enabled(if: !Sanitizer.isPresent), arguments: JournalMode.allCases)
    func `a kill during an import leaves no file or a complete one, and no plaintext`(
        _ mode: JournalMode
    ) async throws {
        try makePlaintext(mode)
        let source = try DirectorySnapshot(of: database.directory)
        var moment = SuddenDeath.Moment()
        var outcomes: [String: Int] = [:]
        for _ in 0..<SuddenDeath.count(4) {
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [
                    source = database.path as String, target = target.path as String,
                    delay = moment.next() as Int
                ] in
                SuddenDeath.after(microseconds: delay)
                try SecureDatabaseStore.importPlaintext(
                    from: URL(fileURLWithPath: source), to: URL(fileURLWithPath: target),
                    key: .raw(SecretBytes(copying: TemporaryDatabase.key)))
                while true { pause() }
            }
            // Reading a file in WAL mode may leave empty sidecar files.
            try check(
                DirectorySnapshot(of: database.directory).entries["test.db"],
                equals: source.entries["test.db"])
            for name in try target.fileNames() {
                let bytes = try Data(
                    contentsOf: target.directory.appendingPathComponent(name))
                check(bytes.range(of: Data("the marker of row".utf8)) == nil, "\(name)")
            }
            let isThere = access(target.path, F_OK) == 0
            moment.note(wasTooLate: isThere)
            outcomes[isThere ? "whole" : "none", default: 0] += 1
            if !isThere {
                // The remains of the kill are not an obstacle.
                try SecureDatabaseStore.importPlaintext(
                    from: database.url, to: target.url, key: Self.key)
            }
            let db = try target.openStore()
            try check(db.int("SELECT count(*) FROM t"), equals: 3000)
            try check(db.verifyIntegrity().isSound)
            db.close()
            // An abandoned lock file is reused by the next process that needs it.
            try check(target.fileNames().filter { !$0.hasSuffix(".lock") }, equals: ["target.db"])
            try FileManager.default.removeItem(at: target.url)
        }
        SuddenDeath.report("import, \(mode): \(outcomes)")
    }

    /// A writer runs in the same process, and its commits are counted from outside.
    @Test(.enabled(if: !Sanitizer.isPresent), arguments: JournalMode.allCases)
    func `a kill during a backup loses no row of a concurrent writer`(
        _ mode: JournalMode
    ) async throws {
        try makeEncrypted(mode)
        var moment = SuddenDeath.Moment()
        for _ in 0..<SuddenDeath.count(4) {
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [
                    source = database.path as String, target = target.path as String,
                    mode = mode.rawValue as String, delay = moment.next() as Int
                ] in
                var configuration = SecureDatabaseConfiguration()
                configuration.journalMode = try require(.init(rawValue: mode))
                configuration.secondInstance = .allowed
                let db = SecureDatabaseStore(
                    fullDatabasePath: source, configuration: configuration)
                try db.open(with: TemporaryDatabase.key)
                let path = source
                let settings = configuration
                Thread.detachNewThread {
                    let writer = SecureDatabaseStore(
                        fullDatabasePath: path, configuration: settings)
                    guard (try? writer.open(with: TemporaryDatabase.key)) != nil,
                        let log = FileHandle(forWritingAtPath: path + ".acknowledged")
                    else { return }
                    _ = try? log.seekToEnd()
                    while true {
                        guard
                            (try? writer.executeUpdate("INSERT INTO t (x) VALUES ('new')")) != nil
                        else { continue }
                        try? log.write(contentsOf: Data("1".utf8))
                    }
                }
                SuddenDeath.after(microseconds: delay)
                while true {
                    try db.backup(to: URL(fileURLWithPath: target), replacing: true)
                }
            }
            let db = try database.openStore { $0.journalMode = mode }
            let acknowledged =
                (try? Data(contentsOf: URL(fileURLWithPath: database.path + ".acknowledged")))?
                .count ?? 0
            let rows = try require(db.int("SELECT count(*) FROM t"))
            check(rows >= 3000 + acknowledged)
            try check(db.verifyIntegrity().isSound)
            db.close()
            moment.note(wasTooLate: access(target.path, F_OK) == 0)
            if access(target.path, F_OK) == 0 {
                let copy = try target.openStore { $0.journalMode = mode }
                try check(copy.int("SELECT count(*) FROM t") ?? 0 >= 3000)
                try check(copy.verifyIntegrity().isSound)
                copy.close()
                try FileManager.default.removeItem(at: target.url)
            }
            _ = FileManager.default.createFile(
                atPath: database.path + ".acknowledged", contents: nil)
            // The next round counts from zero.
            let again = try database.openStore { $0.journalMode = mode }
            try again.executeUpdate("DELETE FROM t WHERE x = 'new'")
            again.close()
        }
    }

    // MARK: - Full disks

    #if os(Linux)
        // In a process of its own: see `Ballast`.
        @Test(.enabled(if: SmallDisk.isAvailable))
        func `on a disk that is too small each operation fails and leaves nothing, until it fits`()
            async throws
        {
            try makeEncrypted(.wal)
            let disk = try SmallDisk(kilobytes: 3000)
            await #expect(processExitsWith: .success) {
                [source = database.path as String, disk = disk.directory.path as String] in
                try Self.fill(URL(fileURLWithPath: disk), from: source)
            }
            withExtendedLifetime(disk) {}
        }

        private static func fill(_ disk: URL, from source: String) throws {
            let db = SecureDatabaseStore(fullDatabasePath: source)
            try db.open(with: TemporaryDatabase.key)
            defer { db.close() }
            let place = disk.appendingPathComponent("target.db")
            let work: [(String, () throws -> Void)] = [
                ("backup", { try db.backup(to: place) }),
                ("export", { try db.export(to: place, key: .passphrase("other")) }),
                ("plain", { try db.exportPlaintext(to: place) }),
                (
                    "salvage",
                    {
                        try SecureDatabaseStore.salvage(
                            at: URL(fileURLWithPath: source), key: Self.key, to: place)
                    }
                ),
            ]
            try db.checkpoint(.truncate)
            for (name, body) in work {
                var failures = 0
                for spare in stride(from: 0, through: 2400, by: 400) {
                    let ballast = disk.appendingPathComponent("ballast")
                    try Data(count: (2900 - spare) * 1024).write(to: ballast)
                    let error = storageError(body)
                    let names = try FileManager.default.contentsOfDirectory(atPath: disk.path)
                        .sorted()
                    if let error {
                        failures += 1
                        check(
                            [13, 10, 14, 11].contains(error.code), "\(name), \(spare): \(error)")
                        check(names, equals: ["ballast"], "\(name), \(spare): \(names)")
                    } else {
                        check(names, equals: ["ballast", "target.db"])
                        try FileManager.default.removeItem(at: place)
                    }
                }
                check(failures > 1 && failures < 7, "\(name)")
            }
            try check(db.int("SELECT count(*) FROM t"), equals: 3000)
            try check(db.verifyIntegrity().isSound)
        }

        @Test
        func `without free descriptors each operation fails or succeeds, and the store survives`()
            async throws
        {
            try makeEncrypted(.wal)
            await #expect(processExitsWith: .success) {
                [source = database.path as String, target = target.path as String] in
                var limits = rlimit(rlim_cur: 60, rlim_max: 60)
                setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
                let db = SecureDatabaseStore(fullDatabasePath: source)
                try db.open(with: TemporaryDatabase.key)
                let key = DatabaseKey.raw(SecretBytes(copying: TemporaryDatabase.key))
                let work: [() throws -> Void] = [
                    { _ = try db.verifyIntegrity() },
                    { try db.backup(to: URL(fileURLWithPath: target), replacing: true) },
                    { try db.exportPlaintext(to: URL(fileURLWithPath: target), replacing: true) },
                    {
                        _ = try SecureDatabaseStore.diagnose(
                            at: URL(fileURLWithPath: source), key: key)
                    },
                    { try db.changeEncryptionKey(with: key) },
                ]
                var taken: [Int32] = []
                while true {
                    let descriptor = open("/dev/null", O_RDONLY)
                    if descriptor < 0 { break }
                    taken.append(descriptor)
                }
                var outcomes = (failed: 0, done: 0)
                for _ in 0..<14 {
                    for body in work {
                        do {
                            try body()
                            outcomes.done += 1
                        } catch is SecureStorageError {
                            outcomes.failed += 1
                        }
                    }
                    taken.popLast().map { _ = close($0) }
                }
                for descriptor in taken { close(descriptor) }
                try check(db.int(forQuery: "SELECT count(*) FROM t"), equals: 3000)
                check(outcomes.failed > 5)
                check(outcomes.done > 5)
            }
        }
    #endif

    // MARK: - Large files

    /// The file extends past the byte at one GiB that SQLite locks, whose page is never written.
    ///
    /// Runs with `SECURESTORAGE_LARGE=1`, and takes a minute and three gigabytes.
    @Test(.enabled(if: environmentNumber("SECURESTORAGE_LARGE", default: 0) > 0))
    func `a file of more than a gigabyte is sound, and is copied and salvaged`() throws {
        let db = try database.openStore { $0.journalMode = .delete }
        try db.executeStatements(
            """
            CREATE TABLE t (id INTEGER PRIMARY KEY, x);
            WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1100)
            INSERT INTO t SELECT i, zeroblob(1000000) FROM n;
            """)
        let size = try require(
            FileManager.default.attributesOfItem(atPath: database.path)[.size] as? Int)
        check(size > 1 << 30)
        try check(db.verifyIntegrity().isSound)
        try check(
            SecureDatabaseStore.diagnose(at: database.url, key: Self.key).finding, equals: .ok)
        try db.backup(to: target.url)
        try check(
            target.openStore { $0.journalMode = .delete }.int("SELECT count(*) FROM t"),
            equals: 1100)
        let report = try SecureDatabaseStore.salvage(
            at: database.url, key: Self.key,
            to: target.directory.appendingPathComponent("saved.db"))
        check(report.isWhole, "\(report)")
        check(report.tables.first?.rowsSaved, equals: 1100)
    }
}
