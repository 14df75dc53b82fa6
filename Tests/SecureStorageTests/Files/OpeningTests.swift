import Foundation
import SecureStorage
import Testing
import TestSupport

/// Keys passed to `open`, and stores that are opened twice or reopened.
struct OpeningTests {
    let database: TemporaryDatabase

    init() throws {
        database = try TemporaryDatabase()
    }

    static let wrongKey = Data((2...33).map { UInt8($0) })

    private func makeFile(mode: SecureDatabaseConfiguration.JournalMode = .wal) throws {
        let db = try database.openStore { $0.journalMode = mode }
        try db.executeStatements("CREATE TABLE IF NOT EXISTS t (x); INSERT INTO t VALUES ('row')")
        db.close()
    }

    // MARK: - Keys

    @Test(arguments: SecureDatabaseConfiguration.JournalMode.allCases)
    func `a wrong key fails in open and changes nothing`(
        _ mode: SecureDatabaseConfiguration.JournalMode
    ) throws {
        try makeFile(mode: mode)

        try database.expectRefusal(
            .authenticationFailed, mentioning: ["wrong key", database.path], key: Self.wrongKey)
        // The passphrase costs a derivation for each format, however the file was written.
        if mode == .wal {
            try database.expectRefusal(
                .authenticationFailed, mentioning: ["wrong key", database.path],
                passphrase: "no such passphrase")
        }

        try check(database.openStore().strings("SELECT x FROM t"), equals: ["row"])
    }

    @Test func `an empty key fails in open and neither creates nor changes a file`() throws {
        for _ in 1...2 {
            try database.expectRefusal(
                .authenticationFailed, mentioning: ["empty"], passphrase: "")
            try database.expectRefusal(.authenticationFailed, mentioning: ["32"], key: Data())
            try makeFile()
        }
    }

    @Test(arguments: [1, 16, 31, 33, 48, 64])
    func `a raw key that is not 32 bytes long fails in open`(_ length: Int) throws {
        let key = Data((0..<length).map { UInt8(200 + $0 % 50) })
        for _ in 1...2 {
            try database.expectRefusal(
                .authenticationFailed, mentioning: ["32 bytes", "\(length)"], key: key)
            try makeFile()
        }
    }

    @Test func `a raw key may be a slice of larger data`() throws {
        let slice = (Data(repeating: 9, count: 7) + TemporaryDatabase.key + Data([1, 2]))[7..<39]
        try database.store().open(with: slice)

        try database.store().open(with: TemporaryDatabase.key)
    }

    @Test func `finding a passphrase to be wrong derives no key twice`() throws {
        func open(_ passphrase: String) -> Duration {
            let before = ThreadTime.now
            let store = database.store()
            try? store.open(with: passphrase)
            store.close()
            return ThreadTime.now - before
        }
        _ = open("right")

        // The formats of other versions, with a third of the rounds, are tried with it. A machine
        // that is shared can take longer at any moment, so the shortest of several counts.
        var (wrong, right) = (open("wrong"), open("right"))
        for _ in 1...4 where wrong >= right * 1.8 {
            (wrong, right) = (min(wrong, open("wrong")), min(right, open("right")))
        }
        check(wrong < right * 1.8)
    }

    /// SQLite itself would play back a journal before reading the first page, and checkpoint a log
    /// when its last connection closes, whatever the key.
    @Test(arguments: SecureDatabaseConfiguration.JournalMode.allCases)
    func `a wrong key leaves the remains of a crash unchanged`(
        _ mode: SecureDatabaseConfiguration.JournalMode
    ) async throws {
        try await makeCrashedFile(mode)
        let sideFile = mode == .wal ? "test.db-wal" : "test.db-journal"
        let before = try DirectorySnapshot(of: database.directory)
        try require((before.entries[sideFile]?.content.count ?? 0) > 512)

        for isReadOnly in [false, true] {
            let db = database.store {
                $0.journalMode = mode
                $0.isReadOnly = isReadOnly
            }
            check(
                storageError { try db.open(with: Self.wrongKey) }?.kind,
                equals: .authenticationFailed)
            if !isReadOnly {
                check(
                    storageError { try db.open(with: "wrong") }?.kind, equals: .authenticationFailed
                )
            }
            let after = try DirectorySnapshot(of: database.directory)
            for name in ["test.db", sideFile] {
                check(after.entries[name], equals: before.entries[name], "\(name)")
            }
        }
    }

    @Test(arguments: SecureDatabaseConfiguration.JournalMode.allCases)
    func `a crashed file is recovered after wrong keys`(
        _ mode: SecureDatabaseConfiguration.JournalMode
    ) async throws {
        try await makeCrashedFile(mode)
        let wrongKey = DatabaseKey.raw(SecretBytes(copying: Self.wrongKey))
        for key in [wrongKey, wrongKey, .passphrase("wrong")] {
            check(
                storageError { try database.store().open(with: key) }?.kind,
                equals: .authenticationFailed)
        }

        let db = try database.openStore { $0.journalMode = mode }

        try check(db.int("SELECT count(*) FROM t"), equals: 100)
        try check(db.strings("PRAGMA integrity_check"), equals: ["ok"])
        try check(db.strings("PRAGMA cipher_integrity_check"), equals: [])
    }

    /// Makes a file with a hundred committed rows and a transaction killed when partly written.
    private func makeCrashedFile(_ mode: SecureDatabaseConfiguration.JournalMode) async throws {
        await #expect(processExitsWith: .signal(SIGKILL)) {
            [path = database.path as String, mode = mode.rawValue as String] in
            var configuration = SecureDatabaseConfiguration()
            configuration.journalMode = try require(.init(rawValue: mode))
            configuration.cacheSize = 8192
            let db = SecureDatabaseStore(fullDatabasePath: path, configuration: configuration)
            try db.open(with: TemporaryDatabase.key)
            try db.executeStatements(
                """
                CREATE TABLE t (x);
                WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
                INSERT INTO t SELECT randomblob(500) FROM n;
                BEGIN;
                UPDATE t SET x = randomblob(500);
                INSERT INTO t SELECT randomblob(500) FROM t;
                """)
            SuddenDeath.now()
        }
    }

    @Test func `a wrong key writes nothing to standard error or standard output`() async throws {
        try makeFile()
        let result = await #expect(
            processExitsWith: .success,
            observing: [\.standardErrorContent, \.standardOutputContent]
        ) { [path = database.path as String] in
            for key in ["wrong", "x'\(OpeningTests.wrongKey.hex)'", ""] {
                let db = SecureDatabaseStore(fullDatabasePath: path)
                check(storageError { try db.open(with: key) }?.kind, equals: .authenticationFailed)
            }
            let db = SecureDatabaseStore(fullDatabasePath: path)
            try db.open(with: TemporaryDatabase.key)
            check(storageError { try db.executeUpdate("no SQL") } != nil)
        }
        // The library's warning about its engine goes to the logger, which writes there by default.
        let lines = result?.standardErrorContent.text.split(separator: "\n")
        check(lines?.filter { !$0.contains("the engine has known weaknesses") }, equals: [])
        // The testing library itself writes a NUL or two to standard output.
        check(result?.standardOutputContent.text.filter { $0 != "\0" }, equals: "")
    }

    // MARK: - Opening again

    @Test func `open on an open store does nothing, even with a wrong key`() throws {
        let db = try database.openStore()
        try db.executeStatements("CREATE TABLE t (x); BEGIN; INSERT INTO t VALUES (1)")

        try db.open(with: Self.wrongKey) { _ in TemporaryDatabase.Unexpected() }
        try db.open(with: "wrong") { _ in TemporaryDatabase.Unexpected() }
        try db.open(with: "")
        try db.open(with: Data(count: 31))

        check(db.isOpen())
        try check(db.isInTransaction())
        try check(db.int("SELECT x FROM t"), equals: 1)
    }

    @Test func `a closed store reopens, with the right key only`() throws {
        let db = try database.openStore()
        try db.executeUpdate("CREATE TABLE t (x)")
        for round in 1...3 {
            db.close()
            db.close()
            check(!db.isOpen())
            check(
                storageError { try db.open(with: Self.wrongKey) }?.kind,
                equals: .authenticationFailed)
            check(!db.isOpen())
            try db.open(with: TemporaryDatabase.key)
            try db.executeUpdate("INSERT INTO t VALUES (?)", values: [round])
            try check(db.int("SELECT count(*) FROM t"), equals: round)
        }
    }

    @Test func `close leaves one file, whatever was open`() throws {
        let db = try database.openStore()
        try db.executeStatements("CREATE TABLE t (x); INSERT INTO t VALUES (1), (2)")
        let kept = try db.executeQuery("SELECT x FROM t")
        try check(kept.next())
        try db.beginDeferredTransaction()
        try db.executeUpdate("INSERT INTO t VALUES (3)")

        db.close()

        // The last connection to close removes the log, provided that it could close.
        try check(database.fileNames(), equals: ["test.db"])
        check(storageError { _ = try kept.next() }, equals: .closed)
        check(kept.int(forColumnIndex: 0) == nil)
        try check(database.openStore().int("SELECT count(*) FROM t"), equals: 2)
    }

    @Test func `a released store closes its file`() throws {
        try { try database.openStore().executeUpdate("CREATE TABLE t (x)") }()

        try check(database.fileNames(), equals: ["test.db"])
    }

    @Test func `one store sees what another commits`() throws {
        let first = try database.openStore()
        try first.executeUpdate("CREATE TABLE t (x)")
        let second = try database.openStore()
        try first.executeUpdate("INSERT INTO t VALUES (1)")
        try check(second.int("SELECT count(*) FROM t"), equals: 1)
        try second.executeUpdate("INSERT INTO t VALUES (2)")
        second.close()
        try check(first.int("SELECT count(*) FROM t"), equals: 2)
        // Closing the other store's descriptor must not have dropped this store's locks.
        try first.beginExclusiveTransaction()
        let third = try database.openStore { $0.busyTimeout = .zero }
        check(storageError { try third.beginExclusiveTransaction() }?.code, equals: 5)
        try first.rollback()
        try third.beginExclusiveTransaction()
    }
}

extension [UInt8] {
    fileprivate var text: String { String(decoding: self, as: UTF8.self) }
}
