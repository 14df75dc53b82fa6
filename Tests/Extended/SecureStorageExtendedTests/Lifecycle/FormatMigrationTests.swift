import Foundation
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// Migrating files of older formats to the current one, in place.
struct FormatMigrationTests {
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
        check(storageError { try db.open(with: key) }?.kind, equals: .legacyFormat)

        let old = try require(SecureDatabaseStore.migrate(at: database.url, key: key))

        check(old.lastPathComponent, equals: "test.db.old")
        try check(Data(contentsOf: old), equals: original)
        try check(database.fileNames(), equals: ["test.db", "test.db.old"])
        check(database.mode(of: "test.db"), equals: 0o600)
        try db.open(with: key)
        try check(
            db.strings("SELECT text FROM note ORDER BY id"),
            equals: ["written by SQLCipher \(version)", "second", "third"])
        try check(db.verifyIntegrity().isSound)
        db.close()
        // A second time there is nothing to do.
        try check(SecureDatabaseStore.migrate(at: database.url, key: key) == nil)
        try check(SecureDatabaseStore.diagnose(at: database.url, key: key).finding, equals: .ok)
    }

    @Test func `the key can change with the format`() throws {
        try Fixture.copy("sqlcipher-3-passphrase.db", to: database)
        for _ in 1...2 {
            try SecureDatabaseStore.migrate(
                at: database.url, key: Self.passphrase, newKey: Self.rawKey)
            let db = database.store()
            try db.open(with: Self.rawKey)
            try check(db.int("SELECT count(*) FROM note"), equals: 3)
            db.close()
        }
        try check(database.fileNames(), equals: ["test.db", "test.db.old"])
    }

    @Test func `a plaintext header is removed`() throws {
        var header = CipherConfiguration()
        header.plaintextHeaderSize = 32
        header.salt = Data((1...16).map { UInt8($0) })
        let db = try database.openStore { $0.cipher = header }
        try db.executeStatements("CREATE TABLE t (x); INSERT INTO t VALUES ('row')")
        db.close()
        let key = DatabaseKey.raw(SecretBytes(copying: TemporaryDatabase.key))
        check(
            storageError { try SecureDatabaseStore.migrate(at: database.url, key: key) } != nil)

        try SecureDatabaseStore.migrate(at: database.url, key: key, from: header)

        try check(database.openStore().strings("SELECT x FROM t"), equals: ["row"])
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
        try check(opened.strings("SELECT x FROM t"), equals: ["in the log"])
        try check(opened.int("PRAGMA page_size"), equals: 4096)
        opened.close()
        try check(copy.fileNames(), equals: ["test.db", "test.db.old"])
    }

    @Test func `a finished journal beside an old file does not prevent a migration`() throws {
        try Fixture.copy("sqlcipher-3-passphrase.db", to: database)
        for content in [Data(), Data(count: 512)] {
            try content.write(to: URL(fileURLWithPath: database.path + "-journal"))
            try SecureDatabaseStore.migrate(at: database.url, key: .passphrase(Fixture.passphrase))
            try check(database.fileNames(), equals: ["test.db", "test.db.old"])
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
        check(old?.lastPathComponent, equals: "test.db.old-3")
        try check(
            Data(contentsOf: URL(fileURLWithPath: database.path + ".old")),
            equals: Data("precious".utf8))
    }

    @Test func `a wrong key, a missing file and a plain one are errors, and nothing changes`()
        throws
    {
        try Fixture.copy("sqlcipher-3-passphrase.db", to: database)
        let before = try DirectorySnapshot(of: database.directory)
        check(
            storageError {
                try SecureDatabaseStore.migrate(at: database.url, key: .passphrase("wrong"))
            }?.kind, equals: .authenticationFailed)
        check(
            storageError {
                try SecureDatabaseStore.migrate(
                    at: database.directory.appendingPathComponent("no.db"), key: Self.passphrase)
            }?.kind, equals: .openFailed)
        #expect(throws: CancellationError.self) {
            try SecureDatabaseStore.migrate(at: database.url, key: Self.passphrase) { _ in
                throw CancellationError()
            }
        }
        try check(DirectorySnapshot(of: database.directory), equals: before)
        try FileManager.default.removeItem(at: database.url)
        try Fixture.copy("plaintext.db", to: database)
        check(
            storageError {
                try SecureDatabaseStore.migrate(at: database.url, key: Self.passphrase)
            }?.kind, equals: .notEncrypted)
    }

    @Test func `a file that is in use is not migrated`() throws {
        let db = try database.openStore { $0.cipher.pageSize = 1024 }
        try db.executeUpdate("CREATE TABLE t (x)")
        let key = DatabaseKey.raw(SecretBytes(copying: TemporaryDatabase.key))
        check(
            storageError { try SecureDatabaseStore.migrate(at: database.url, key: key) }?.code,
            equals: 5)
        try check(db.tableExists("t"))
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
        for _ in 0..<SuddenDeath.count(1) {
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
            check(finding == .ok || finding == .legacyFormat(version: 3), "\(finding)")
            outcomes[finding.summary, default: 0] += 1
            try SecureDatabaseStore.migrate(at: database.url, key: .passphrase("legacy"))
            let db = database.store()
            try db.open(with: "legacy")
            try check(db.int("SELECT count(*) FROM t"), equals: 2000)
            db.close()
            let old = URL(fileURLWithPath: database.path + ".old")
            // In WAL mode two bytes of the header may differ: they hold the journal mode.
            let kept = try Data(contentsOf: old)
            check(mode == .wal ? kept.count == original.count : kept == original)
            try check(database.fileNames(), equals: ["test.db", "test.db.old"])
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
