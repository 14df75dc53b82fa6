import Foundation
import SecureStorage
import Testing
import TestSupport

/// Migrating files of older formats to the current one, in place.
@Suite(.timeLimit(.minutes(60))) struct FormatMigrationTests {
    let database: TemporaryDatabase

    init() throws {
        database = try TemporaryDatabase()
    }

    private static let passphrase = DatabaseKey.passphrase(Fixture.passphrase)
    private static let rawKey = DatabaseKey.raw(SecretBytes(copying: Fixture.rawKey))

    @Test(arguments: [1, 2, 3], ["passphrase", "raw-key"])
    func `a file of SQLCipher 1 to 3 becomes one of 4, and the old file is kept`(
        _ version: Int, _ kind: String
    ) throws {
        try Fixture.copy("sqlcipher-\(version)-\(kind).db", to: database)
        let original = try Data(contentsOf: database.url)
        let key = kind == "passphrase" ? Self.passphrase : Self.rawKey
        let db = database.store()
        #expect(storageError { try db.open(with: key) }?.kind == .legacyFormat)

        let old = try #require(try SecureDatabaseStore.migrate(at: database.url, key: key))

        #expect(old.lastPathComponent == "test.db.old")
        #expect(try Data(contentsOf: old) == original)
        #expect(try database.fileNames() == ["test.db", "test.db.old"])
        #expect(database.mode(of: "test.db") == 0o600)
        try db.open(with: key)
        #expect(
            try db.strings("SELECT text FROM note ORDER BY id")
                == ["written by SQLCipher \(version)", "second", "third"])
        #expect(try db.verifyIntegrity().isSound)
        db.close()
        // A second time there is nothing to do.
        #expect(try SecureDatabaseStore.migrate(at: database.url, key: key) == nil)
        #expect(try SecureDatabaseStore.diagnose(at: database.url, key: key).finding == .ok)
    }

    @Test func `the key can change with the format`() throws {
        try Fixture.copy("sqlcipher-3-passphrase.db", to: database)
        for _ in 1...2 {
            try SecureDatabaseStore.migrate(
                at: database.url, key: Self.passphrase, newKey: Self.rawKey)
            let db = database.store()
            try db.open(with: Self.rawKey)
            #expect(try db.int("SELECT count(*) FROM note") == 3)
            db.close()
        }
        #expect(try database.fileNames() == ["test.db", "test.db.old"])
    }

    @Test func `a plaintext header is removed`() throws {
        var header = CipherConfiguration()
        header.plaintextHeaderSize = 32
        header.salt = Data((1...16).map { UInt8($0) })
        let db = try database.openStore { $0.cipher = header }
        try db.executeStatements("CREATE TABLE t (x); INSERT INTO t VALUES ('row')")
        db.close()
        let key = DatabaseKey.raw(SecretBytes(copying: TemporaryDatabase.key))
        #expect(
            storageError { try SecureDatabaseStore.migrate(at: database.url, key: key) } != nil)

        try SecureDatabaseStore.migrate(at: database.url, key: key, from: header)

        #expect(try database.openStore().strings("SELECT x FROM t") == ["row"])
    }

    @Test func `another page size is detected, and the log's content is migrated`() throws {
        let db = try database.openStore { $0.cipher.pageSize = 1024 }
        try db.executeStatements("CREATE TABLE t (x); INSERT INTO t VALUES ('in the log')")
        // As a crash leaves it.
        let copy = try TemporaryDatabase()
        for suffix in ["", "-wal"] {
            try FileManager.default.copyItem(
                atPath: database.path + suffix, toPath: copy.path + suffix)
        }
        db.close()
        let key = DatabaseKey.raw(SecretBytes(copying: TemporaryDatabase.key))
        try SecureDatabaseStore.migrate(at: copy.url, key: key)
        let opened = try copy.openStore()
        #expect(try opened.strings("SELECT x FROM t") == ["in the log"])
        #expect(try opened.int("PRAGMA page_size") == 4096)
        opened.close()
        #expect(try copy.fileNames() == ["test.db", "test.db.old"])
    }

    @Test func `a finished journal beside an old file does not prevent a migration`() throws {
        try Fixture.copy("sqlcipher-3-passphrase.db", to: database)
        for content in [Data(), Data(count: 512)] {
            try content.write(to: URL(fileURLWithPath: database.path + "-journal"))
            try SecureDatabaseStore.migrate(at: database.url, key: .passphrase(Fixture.passphrase))
            #expect(try database.fileNames() == ["test.db", "test.db.old"])
            try FileManager.default.removeItem(at: database.url)
            try FileManager.default.moveItem(
                atPath: database.path + ".old", toPath: database.path)
        }
    }

    @Test func `old files of earlier migrations are not touched`() throws {
        try Fixture.copy("sqlcipher-3-passphrase.db", to: database)
        for name in [".old", ".old-2"] {
            try Data("precious".utf8).write(to: URL(fileURLWithPath: database.path + name))
        }
        let old = try SecureDatabaseStore.migrate(at: database.url, key: Self.passphrase)
        #expect(old?.lastPathComponent == "test.db.old-3")
        #expect(
            try Data(contentsOf: URL(fileURLWithPath: database.path + ".old"))
                == Data("precious".utf8))
    }

    @Test func `a wrong key, a missing file and a plain one are errors, and nothing changes`()
        throws
    {
        try Fixture.copy("sqlcipher-3-passphrase.db", to: database)
        let before = try DirectorySnapshot(of: database.directory)
        #expect(
            storageError {
                try SecureDatabaseStore.migrate(at: database.url, key: .passphrase("wrong"))
            }?.kind == .authenticationFailed)
        #expect(
            storageError {
                try SecureDatabaseStore.migrate(
                    at: database.directory.appendingPathComponent("no.db"), key: Self.passphrase)
            }?.kind == .openFailed)
        #expect(throws: CancellationError.self) {
            try SecureDatabaseStore.migrate(at: database.url, key: Self.passphrase) { _ in
                throw CancellationError()
            }
        }
        #expect(try DirectorySnapshot(of: database.directory) == before)
        try FileManager.default.removeItem(at: database.url)
        try Fixture.copy("plaintext.db", to: database)
        #expect(
            storageError {
                try SecureDatabaseStore.migrate(at: database.url, key: Self.passphrase)
            }?.kind == .notEncrypted)
    }

    @Test func `a file that is in use is not migrated`() throws {
        let db = try database.openStore { $0.cipher.pageSize = 1024 }
        try db.executeUpdate("CREATE TABLE t (x)")
        let key = DatabaseKey.raw(SecretBytes(copying: TemporaryDatabase.key))
        #expect(
            storageError { try SecureDatabaseStore.migrate(at: database.url, key: key) }?.code == 5)
        #expect(try db.tableExists("t"))
    }

    @Test(
        .enabled(if: !Sanitizer.isPresent),
        arguments: SecureDatabaseConfiguration.JournalMode.allCases)
    func `a kill leaves the old or the new file, complete, and the migration can be repeated`(
        _ mode: SecureDatabaseConfiguration.JournalMode
    ) async throws {
        let original = try Self.makeLegacyFile(database, mode)
        var moment = SuddenDeath.Moment()
        var outcomes: [String: Int] = [:]
        for _ in 0..<SuddenDeath.count(2) {
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = database.path as String, delay = moment.next() as Int] in
                SuddenDeath.after(microseconds: delay)
                try SecureDatabaseStore.migrate(
                    at: URL(fileURLWithPath: path), key: .passphrase("legacy"))
                while true { pause() }
            }
            let finding = try SecureDatabaseStore.diagnose(
                at: database.url, key: .passphrase("legacy")
            ).finding
            moment.note(wasTooLate: finding == .ok)
            #expect(finding == .ok || finding == .legacyFormat(version: 3), "\(finding)")
            outcomes[finding.summary, default: 0] += 1
            try SecureDatabaseStore.migrate(at: database.url, key: .passphrase("legacy"))
            let db = database.store()
            try db.open(with: "legacy")
            #expect(try db.int("SELECT count(*) FROM t") == 2000)
            db.close()
            let old = URL(fileURLWithPath: database.path + ".old")
            // In WAL mode two bytes of the header may differ: they hold the journal mode.
            let kept = try Data(contentsOf: old)
            #expect(mode == .wal ? kept.count == original.count : kept == original)
            #expect(try database.fileNames() == ["test.db", "test.db.old"])
            for url in [database.url, old] { try FileManager.default.removeItem(at: url) }
            try original.write(to: database.url)
        }
        SuddenDeath.report("migration, \(mode): \(outcomes)")
    }

    /// Makes a file of SQLCipher 3 of two megabytes, with another program.
    private static func makeLegacyFile(
        _ database: TemporaryDatabase, _ mode: SecureDatabaseConfiguration.JournalMode
    ) throws -> Data {
        _ = try SQLCipherShell(
            database.path, key: "legacy", settings: ["cipher_compatibility = 3"],
            """
            PRAGMA journal_mode = \(mode.rawValue);
            CREATE TABLE t (id INTEGER PRIMARY KEY, x);
            WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
            INSERT INTO t SELECT i, randomblob(1000) FROM n;
            """)
        return try Data(contentsOf: database.url)
    }
}
