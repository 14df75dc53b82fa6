import Foundation
import Logging
import Testing
import TestSupport

@testable import SecureStorage

struct ConfigurationTests {
    let database: TemporaryDatabase

    init() throws { database = try TemporaryDatabase() }

    private func pragma(_ name: String, _ db: SecureDatabaseStore) throws -> String? {
        try db.strings("PRAGMA \(name)").first ?? nil
    }

    @Test func `the defaults are the documented ones`() throws {
        let db = SecureDatabaseStore(fullDatabasePath: database.path)
        try db.open(with: TemporaryDatabase.key)
        try check(pragma("journal_mode", db), equals: "wal")
        try check(pragma("synchronous", db), equals: "2")
        check(db.connection?.busyMilliseconds, equals: 5000)
        try check(pragma("cache_size", db), equals: "-16384")
        try check(pragma("foreign_keys", db), equals: "1")
        try check(pragma("cipher_page_size", db), equals: "4096")
        try check(pragma("kdf_iter", db), equals: "256000")
        try check(pragma("cipher_hmac_algorithm", db), equals: "HMAC_SHA512")
        try check(pragma("cipher_kdf_algorithm", db), equals: "PBKDF2_HMAC_SHA512")
        try check(pragma("temp_store", db), equals: "2")
        try check(pragma("trusted_schema", db), equals: "0")
        let configuration = SecureDatabaseConfiguration()
        check(configuration.maximumReaderCount, equals: 5)
        check(!configuration.isReadOnly)
        check(configuration.logger.label, equals: "SecureStorage")
        check(configuration.cipher, equals: CipherConfiguration())
    }

    @Test func `a commit is durable in both journal modes`() throws {
        // FULL in WAL mode, EXTRA with a rollback journal: without EXTRA, a power cut can bring
        // back a removed journal.
        for (mode, level) in [(SecureDatabaseConfiguration.JournalMode.wal, "2"), (.delete, "3")] {
            let database = try TemporaryDatabase()
            let db = try database.openStore { $0.journalMode = mode }
            try check(pragma("synchronous", db), equals: level)
        }
    }

    @Test func `each setting takes effect`() throws {
        let db = try database.openStore {
            $0.journalMode = .delete
            $0.synchronous = .normal
            $0.busyTimeout = .milliseconds(1500)
            $0.cacheSize = 2 * 1024 * 1024
            $0.foreignKeysEnabled = false
        }
        try check(pragma("journal_mode", db), equals: "delete")
        try check(pragma("synchronous", db), equals: "1")
        check(db.connection?.busyMilliseconds, equals: 1500)
        try check(pragma("cache_size", db), equals: "-2048")
        try check(pragma("foreign_keys", db), equals: "0")
    }

    @Test func `the journal mode of an existing file can be changed both ways`() throws {
        try database.openStore { $0.journalMode = .delete }
            .executeUpdate("CREATE TABLE t (a)")
        let wal = try database.openStore { $0.journalMode = .wal }
        try check(pragma("journal_mode", wal), equals: "wal")
        wal.close()
        let delete = try database.openStore { $0.journalMode = .delete }
        try check(pragma("journal_mode", delete), equals: "delete")
        try check(delete.int("SELECT count(*) FROM t"), equals: 0)
    }

    typealias IntegerSetting = any WritableKeyPath<SecureDatabaseConfiguration, Int> & Sendable

    @Test(
        arguments: [
            \SecureDatabaseConfiguration.cipher.pageSize, \.cipher.kdfIterations,
            \.cipher.plaintextHeaderSize, \.cacheSize, \.maximumReaderCount,
        ] as [IntegerSetting])
    func `an invalid setting is refused at open and creates no file`(
        _ setting: IntegerSetting
    ) throws {
        for value in [-1, setting == \.cipher.pageSize ? 512 : -4096] {
            let error = storageError { _ = try database.openStore { $0[keyPath: setting] = value } }
            check(error?.code, equals: 21, "\(value)")
        }
        try check(database.fileNames().isEmpty)
    }

    @Test(arguments: [512, 1000, 4095, 131_072, 0]) func `a page size that breaks files is refused`(
        _ size: Int
    ) throws {
        let error = storageError { _ = try database.openStore { $0.cipher.pageSize = size } }
        check("\(error, default: "none")".contains("power of two from 1024 to 65536"))
    }

    @Test func `a negative busy timeout is refused, an endless one is accepted`() throws {
        check(
            storageError { _ = try database.openStore { $0.busyTimeout = .seconds(-1) } } != nil)
        let db = try database.openStore { $0.busyTimeout = .seconds(Int64.max) }
        check(db.connection?.busyMilliseconds, equals: .max)
    }

    @Test(arguments: [0, 1, 1 << 40, Int.max])
    func `any cache size is accepted`(_ size: Int) throws {
        let db = try database.openStore { $0.cacheSize = size }
        try check(db.int("SELECT count(*) FROM sqlite_schema"), equals: 0)
    }

    @Test(arguments: [-16, 8, 24, 31, 33, 112])
    func `a plaintext header is 0 to 96 bytes in steps of 16`(
        _ size: Int
    ) throws {
        let error = storageError {
            _ = try database.openStore { $0.cipher.plaintextHeaderSize = size }
        }
        check(error?.kind, equals: .openFailed)
        check("\(error, default: "none")".contains("in steps of 16, not \(size)"))
        try check(database.fileNames().isEmpty)
    }

    @Test func `a salt without a plaintext header is refused`() throws {
        let error = storageError { _ = try database.openStore { $0.cipher.salt = Data(count: 16) } }
        check(error?.kind, equals: .openFailed)
        check("\(error, default: "none")".contains("plaintextHeaderSize"))
        try check(database.fileNames().isEmpty)
    }

    @Test func `a salt of another length is refused`() throws {
        let error = storageError {
            _ = try database.openStore {
                $0.cipher.plaintextHeaderSize = 32
                $0.cipher.salt = Data(count: 15)
            }
        }
        check("\(error, default: "none")".contains("16 bytes"))
        try check(database.fileNames().isEmpty)
    }

    @Test func `a read-only store reads, refuses to write and leaves no sidecar file`() throws {
        let writer = try database.openStore()
        try writer.executeStatements("CREATE TABLE t (a); INSERT INTO t VALUES (1)")
        writer.close()
        let reader = try database.openStore { $0.isReadOnly = true }
        try check(reader.int("SELECT a FROM t"), equals: 1)
        let error = storageError { try reader.executeUpdate("INSERT INTO t VALUES (2)") }
        check(error?.code, equals: 8)
        check(error?.description.contains("read-only"), equals: true)
        reader.close()
        try check(database.fileNames(), equals: ["test.db"])
    }

    @Test func `the log names the engine once and contains no secret`() async throws {
        await #expect(processExitsWith: .success) {
            let recorder = LogRecorder()
            var configuration = SecureDatabaseConfiguration()
            configuration.logger = Logger(label: "test") { _ in recorder }
            configuration.logger.logLevel = .trace
            configuration.cipher.kdfIterations = 1000
            let database = try TemporaryDatabase()
            for _ in 1...3 {
                let db = SecureDatabaseStore(
                    fullDatabasePath: database.path, configuration: configuration)
                try db.open(with: "hunter2")
                check(storageError { try db.executeUpdate("nonsense") } != nil)
                db.close()
            }
            let db = SecureDatabaseStore(
                fullDatabasePath: database.path, configuration: configuration)
            check(storageError { try db.open(with: "hunter9") } != nil)
            try db.open(with: "hunter2")
            try db.changeEncryptionKey(with: "hunter3")
            let lines = recorder.lines
            check(lines.filter { $0.contains("sqlcipher") }.count, equals: 1)
            check(!lines.contains { $0.contains("hunter") })
        }
    }
}
