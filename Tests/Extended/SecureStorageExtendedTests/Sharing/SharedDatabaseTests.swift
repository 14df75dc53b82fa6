import Foundation
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// One file shared by several processes.
struct SharedDatabaseTests {
    private let database: TemporaryDatabase
    private let shared: SharedDatabase
    static let key = DatabaseKey.raw(SecretBytes(copying: TemporaryDatabase.key))

    /// The duration of a storm of processes, in seconds.
    private static let seconds = environmentNumber("SECURESTORAGE_SECONDS", default: 3)

    init() throws {
        database = try TemporaryDatabase()
        shared = Self.shared(database.path)
    }

    static func shared(_ path: String) -> SharedDatabase {
        var configuration = SharedDatabase.defaultConfiguration
        configuration.secondInstance = .allowed
        // A machine that runs other tests may be slow.
        configuration.busyTimeout = .seconds(120)
        return SharedDatabase(at: URL(fileURLWithPath: path), configuration: configuration)
    }

    static var migrations: SchemaMigrations {
        var migrations = SchemaMigrations()
        migrations.add(
            "counters",
            sql: """
                CREATE TABLE counter (id INTEGER PRIMARY KEY, value INTEGER NOT NULL);
                INSERT INTO counter VALUES (1, 0);
                CREATE TABLE entry (process INTEGER, number INTEGER);
                """)
        return migrations
    }

    @Test func `a read-only open returns nil until the file has been created`() throws {
        try check(shared.openReadOnly(with: Self.key) == nil)
        try check(database.fileNames().isEmpty)
        let none = SharedDatabase(at: database.url.appendingPathComponent("none/test.db"))
        try check(none.openReadOnly(with: Self.key) == nil)
        _ = FileManager.default.createFile(atPath: database.path + "-file", contents: Data())
        let below = SharedDatabase(at: URL(fileURLWithPath: database.path + "-file/test.db"))
        try check(below.openReadOnly(with: Self.key) == nil)

        let writer = try shared.open(with: Self.key, migrations: Self.migrations)
        try writer.write { try $0.executeUpdate("UPDATE counter SET value = 7") }
        let reader = try require(shared.openReadOnly(with: Self.key))
        try check(reader.read { try $0.int("SELECT value FROM counter") }, equals: 7)
        let error = storageError {
            try reader.write { try $0.executeUpdate("UPDATE counter SET value = 8") }
        }
        check(error?.code, equals: 8)
    }

    @Test func `a file that cannot be opened is an error, not nil`() throws {
        try shared.open(with: Self.key).close()
        let wrong = DatabaseKey.raw(SecretBytes(copying: Data(count: 32) + []))
        check(
            storageError { _ = try shared.openReadOnly(with: wrong) }?.kind,
            equals: .authenticationFailed)
        try Data("no database at all".utf8).write(to: database.url)
        check(storageError { _ = try shared.openReadOnly(with: Self.key) } != nil)
        check(storageError { _ = try shared.open(with: Self.key) } != nil)
    }

    @Test func `the log is kept, empty, so that a reader need not create one`() throws {
        let writer = try shared.open(with: Self.key, migrations: Self.migrations)
        try writer.write { try $0.executeUpdate("UPDATE counter SET value = 7") }
        writer.close()
        let log = database.path + "-wal"
        try check(FileManager.default.attributesOfItem(atPath: log)[.size] as? Int, equals: 0)
        let names = try database.fileNames()
        check(names, equals: ["test.db", "test.db-salt", "test.db-shm", "test.db-wal"])
        let reader = try require(shared.openReadOnly(with: Self.key))
        try check(reader.read { try $0.int("SELECT value FROM counter") }, equals: 7)
        reader.close()
        try check(database.fileNames(), equals: names)
        // A copy can still replace the file, and the file can be moved and removed.
        let place = try TemporaryDatabase()
        let other = try place.openStore()
        try other.export(
            to: database.url, key: Self.key, cipher: shared.configuration.cipher, replacing: true)
        try shared.open(with: Self.key).close()
        try SecureDatabaseStore.move(
            at: database.url, to: database.directory.appendingPathComponent("moved.db"))
        try check(
            SecureDatabaseStore.remove(
                at: database.directory.appendingPathComponent("moved.db")))
        try check(database.fileNames().isEmpty)
    }

    private func logSize() throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: database.path + "-wal")[.size] as? Int
    }

    /// Writes some hundred kilobytes, too few for a checkpoint.
    private func fillLog(_ writer: SecureDatabasePool) throws {
        try writer.write {
            for _ in 0..<100 {
                try $0.executeUpdate("INSERT INTO entry VALUES (1, randomblob(3000))")
            }
        }
        try check(logSize() ?? 0 > 300_000)
    }

    @Test func `the log is empty even if a reader closes last`() throws {
        let writer = try shared.open(with: Self.key, migrations: Self.migrations)
        let reader = try require(shared.openReadOnly(with: Self.key))
        try check(reader.read { try $0.int("SELECT count(*) FROM entry") }, equals: 0)
        try fillLog(writer)
        try check(reader.read { try $0.int("SELECT count(*) FROM entry") }, equals: 100)
        writer.close()
        try check(logSize(), equals: 0)
        try check(reader.read { try $0.int("SELECT count(*) FROM entry") }, equals: 100)
        reader.close()
        try check(logSize(), equals: 0)
        let again = try require(shared.openReadOnly(with: Self.key))
        try check(again.read { try $0.int("SELECT count(*) FROM entry") }, equals: 100)
    }

    @Test
    func `a store that keeps its log empties it despite a reader and an open transaction`()
        throws
    {
        let writer = try database.openStore { $0.keepsWriteAheadLog = true }
        let reader = try database.openStore { $0.isReadOnly = true }
        try writer.executeStatements(
            "CREATE TABLE t (x); INSERT INTO t VALUES (randomblob(300000))")
        try check(reader.int("SELECT count(*) FROM t"), equals: 1)
        try writer.executeStatements("BEGIN; INSERT INTO t VALUES (1)")
        let rs = try writer.executeQuery("SELECT x FROM t")
        try check(rs.next())
        writer.close()
        try check(logSize(), equals: 0)
        try check(reader.int("SELECT count(*) FROM t"), equals: 1)
        reader.close()
        try check(logSize(), equals: 0)
    }

    @Test
    func
        `a snapshot in use when the writer closes keeps the log until the next writer closes`()
        throws
    {
        let writer = try shared.open(with: Self.key, migrations: Self.migrations)
        let reader = try require(shared.openReadOnly(with: Self.key))
        try fillLog(writer)
        try reader.read { db in
            try check(db.int("SELECT count(*) FROM entry"), equals: 100)
            try writer.write { try $0.executeUpdate("DELETE FROM entry WHERE rowid > 50") }
            writer.close()
            try check(logSize() ?? 0 > 0)
            try check(db.int("SELECT count(*) FROM entry"), equals: 100)
        }
        reader.close()
        try shared.open(with: Self.key).close()
        try check(logSize(), equals: 0)
    }

    @Test func `a writer that waits too long gets a busy error`() throws {
        let writer = try shared.open(with: Self.key, migrations: Self.migrations)
        var impatient = shared.configuration
        impatient.busyTimeout = .milliseconds(20)
        let other = try SharedDatabase(at: shared.url, configuration: impatient).open(
            with: Self.key)
        try writer.write { db in
            try db.executeUpdate("UPDATE counter SET value = 1")
            let error = storageError {
                try other.write { try $0.executeUpdate("UPDATE counter SET value = 2") }
            }
            check(error?.isBusy, equals: true)
            // Reads do not wait.
            let value = try other.read { try $0.int("SELECT value FROM counter") }
            check(value, equals: 0)
        }
        check(SecureStorageError.closed.isBusy, equals: false)
        try other.write { try $0.executeUpdate("UPDATE counter SET value = 3") }
    }

    @Test func `processes that start at the same time create and migrate the file once`()
        async throws
    {
        let path = database.path
        let count = environmentNumber("SECURESTORAGE_PROCESSES", default: 8)
        await withTaskGroup(of: Void.self) { group in
            for number in 1...count {
                group.addTask {
                    await #expect(processExitsWith: .success) {
                        [path = path as String, number = number as Int] in
                        let pool = try SharedDatabaseTests.shared(path).open(
                            with: SharedDatabaseTests.key,
                            migrations: SharedDatabaseTests.migrations)
                        try pool.write { db in
                            try db.executeUpdate("UPDATE counter SET value = value + 1")
                            try db.executeUpdate("INSERT INTO entry VALUES (?, 1)", number)
                        }
                        pool.close()
                    }
                }
            }
        }
        let pool = try await shared.open(with: Self.key, migrations: Self.migrations)
        try await check(pool.read { try $0.int("SELECT value FROM counter") }, equals: count)
        try await check(pool.read { try $0.int("SELECT count(*) FROM entry") }, equals: count)
    }

    @Test func `writing and reading processes lose no update, and no reader waits`() async throws {
        let path = database.path
        try await shared.open(with: Self.key, migrations: Self.migrations).close()
        let seconds = Self.seconds
        await withTaskGroup(of: Void.self) { group in
            for number in 1...4 {
                group.addTask {
                    await #expect(processExitsWith: .success) {
                        [path = path as String, number = number as Int, seconds = seconds as Int]
                        in
                        try SharedDatabaseStorm(path: path, number: number).write(for: seconds)
                    }
                }
                group.addTask {
                    await #expect(processExitsWith: .success) {
                        [path = path as String, number = number as Int, seconds = seconds as Int]
                        in
                        try SharedDatabaseStorm(path: path, number: number).read(for: seconds)
                    }
                }
            }
        }
        let pool = try await shared.open(with: Self.key)
        let commits = try await pool.read { try $0.int("SELECT value FROM counter") } ?? 0
        check(commits > 0)
        try await check(pool.read { try $0.int("SELECT count(*) FROM entry") }, equals: commits)
        for number in 1...4 {
            let written = try SharedDatabaseStorm(path: path, number: number).written()
            try await check(
                pool.read {
                    try $0.int("SELECT count(*) FROM entry WHERE process = \(number)")
                }, equals: written)
        }
        try await check(pool.verifyIntegrity().isSound)
        // The rate of one process alone on this machine, for comparison.
        let start = ContinuousClock.now
        var alone = 0
        while .now - start < .seconds(1) {
            try await pool.write { try $0.executeUpdate("UPDATE counter SET value = value + 1") }
            alone += 1
        }
        SuddenDeath.report(
            "4 writers and 4 readers: \(commits / max(seconds, 1)) commits a second; one alone: \(alone)"
        )
    }

    @Test func `a kill of one process disturbs no other and loses nothing`() async throws {
        let path = database.path
        for round in 1...SuddenDeath.count(2) {
            let pool = try await shared.open(with: Self.key, migrations: Self.migrations)
            let before = try await pool.read { try $0.int("SELECT value FROM counter") } ?? 0
            await pool.close()
            await withTaskGroup(of: Void.self) { group in
                for number in 1...3 {
                    let isVictim = number == 1
                    group.addTask {
                        await #expect(
                            processExitsWith: isVictim ? .signal(SIGKILL) : .success
                        ) {
                            [
                                path = path as String, number = (round * 10 + number) as Int,
                                delay = (isVictim ? Int.random(in: 0...300_000) : -1) as Int
                            ] in
                            if delay >= 0 { SuddenDeath.after(microseconds: delay) }
                            try SharedDatabaseStorm(path: path, number: number).write(
                                for: delay >= 0 ? 60 : 1)
                        }
                    }
                }
            }
            let after = try await shared.open(with: Self.key)
            let now = try await after.read { try $0.int("SELECT value FROM counter") } ?? 0
            check(now > before)
            try await check(after.read { try $0.int("SELECT count(*) FROM entry") }, equals: now)
            for number in 1...3 {
                let storm = SharedDatabaseStorm(path: path, number: round * 10 + number)
                let acknowledged = try storm.written()
                let stored =
                    try await after.read {
                        try $0.int(
                            "SELECT count(*) FROM entry WHERE process = \(round * 10 + number)")
                    } ?? 0
                check(stored == acknowledged || number == 1 && stored == acknowledged + 1)
            }
            try await check(after.verifyIntegrity().isSound)
            await after.close()
        }
    }

    @Test func `a directory for the programs of one user is private to that user`() async throws {
        let parent = database.directory.path
        await #expect(processExitsWith: .success) {
            [parent = parent as String] in
            #if os(Linux)
                setenv("XDG_DATA_HOME", parent, 1)
                let directory = try SharedDatabase.directory(named: "org.example.notes")
                check(directory.path, equals: parent + "/org.example.notes")
                let mode = try FileManager.default.attributesOfItem(atPath: directory.path)[
                    .posixPermissions]
                check(mode as? Int, equals: 0o700)
                try check(SharedDatabase.directory(named: "org.example.notes"), equals: directory)
                for name in ["", "..", "a/b", ".hidden"] {
                    check(storageError { _ = try SharedDatabase.directory(named: name) } != nil)
                }
                chmod(directory.path, 0o777)
                check(
                    storageError { _ = try SharedDatabase.directory(named: "org.example.notes") }?
                        .code, equals: 14)
            #endif
        }
    }
}

/// The work of one process in a storm, which counts its commits in a separate file.
struct SharedDatabaseStorm {
    let path: String
    let number: Int

    private var log: String { path + ".written-\(number)" }

    func written() throws -> Int {
        FileManager.default.fileExists(atPath: log)
            ? try Data(contentsOf: URL(fileURLWithPath: log)).count : 0
    }

    func write(for seconds: Int) throws {
        _ = FileManager.default.createFile(atPath: log, contents: nil)
        let acknowledged = try require(FileHandle(forWritingAtPath: log))
        let pool = try SharedDatabaseTests.shared(path).open(with: SharedDatabaseTests.key)
        let end = ContinuousClock.now + .seconds(seconds)
        while .now < end {
            try pool.write { db in
                let value = try db.int("SELECT value FROM counter") ?? 0
                try db.executeUpdate("INSERT INTO entry VALUES (?, ?)", number, value)
                try db.executeUpdate("UPDATE counter SET value = ?", value + 1)
            }
            try acknowledged.write(contentsOf: Data("1".utf8))
        }
        pool.close()
    }

    func read(for seconds: Int) throws {
        let pool = try require(
            SharedDatabaseTests.shared(path).openReadOnly(with: SharedDatabaseTests.key))
        let end = ContinuousClock.now + .seconds(seconds)
        var last = 0
        while .now < end {
            let (value, entries) = try pool.read { db in
                (
                    try db.int("SELECT value FROM counter") ?? 0,
                    try db.int("SELECT count(*) FROM entry") ?? 0
                )
            }
            // Each read sees one snapshot, never an earlier one than the last.
            check(value, equals: entries)
            check(value >= last)
            last = value
        }
        check(last > 0)
        pool.close()
    }
}
