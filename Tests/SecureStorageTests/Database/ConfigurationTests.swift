import Foundation
import Logging
import Testing
import TestSupport

@testable import SecureStorage

@Suite struct ConfigurationTests {
    let database: TemporaryDatabase

    init() throws { database = try TemporaryDatabase() }

    private func pragma(_ name: String, _ db: SecureDatabaseStore) throws -> String? {
        try db.strings("PRAGMA \(name)").first ?? nil
    }

    @Test func `the defaults are the documented ones`() throws {
        let db = SecureDatabaseStore(fullDatabasePath: database.path)
        try db.open(with: TemporaryDatabase.key)
        #expect(try pragma("journal_mode", db) == "wal")
        #expect(try pragma("synchronous", db) == "2")
        #expect(db.connection?.busyMilliseconds == 5000)
        #expect(try pragma("cache_size", db) == "-16384")
        #expect(try pragma("foreign_keys", db) == "1")
        #expect(try pragma("cipher_page_size", db) == "4096")
        #expect(try pragma("kdf_iter", db) == "256000")
        #expect(try pragma("cipher_hmac_algorithm", db) == "HMAC_SHA512")
        #expect(try pragma("cipher_kdf_algorithm", db) == "PBKDF2_HMAC_SHA512")
        #expect(try pragma("temp_store", db) == "2")
        #expect(try pragma("trusted_schema", db) == "0")
        let configuration = SecureDatabaseConfiguration()
        #expect(configuration.maximumReaderCount == 5)
        #expect(!configuration.isReadOnly)
        #expect(configuration.logger.label == "SecureStorage")
        #expect(configuration.cipher == CipherConfiguration())
    }

    @Test func `a commit is durable in both journal modes`() throws {
        // FULL in WAL mode, EXTRA with a rollback journal: without EXTRA, a power cut can bring
        // back a removed journal.
        for (mode, level) in [(SecureDatabaseConfiguration.JournalMode.wal, "2"), (.delete, "3")] {
            let database = try TemporaryDatabase()
            let db = try database.openStore { $0.journalMode = mode }
            #expect(try pragma("synchronous", db) == level)
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
        #expect(try pragma("journal_mode", db) == "delete")
        #expect(try pragma("synchronous", db) == "1")
        #expect(db.connection?.busyMilliseconds == 1500)
        #expect(try pragma("cache_size", db) == "-2048")
        #expect(try pragma("foreign_keys", db) == "0")
    }

    @Test func `the journal mode of an existing file can be changed both ways`() throws {
        try database.openStore { $0.journalMode = .delete }
            .executeUpdate("CREATE TABLE t (a)")
        let wal = try database.openStore { $0.journalMode = .wal }
        #expect(try pragma("journal_mode", wal) == "wal")
        wal.close()
        let delete = try database.openStore { $0.journalMode = .delete }
        #expect(try pragma("journal_mode", delete) == "delete")
        #expect(try delete.int("SELECT count(*) FROM t") == 0)
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
            #expect(error?.code == 21, "\(value)")
        }
        #expect(try database.fileNames().isEmpty)
    }

    @Test(arguments: [512, 1000, 4095, 131_072, 0]) func `a page size that breaks files is refused`(
        _ size: Int
    ) throws {
        let error = storageError { _ = try database.openStore { $0.cipher.pageSize = size } }
        #expect("\(error, default: "none")".contains("power of two from 1024 to 65536"))
    }

    @Test func `a negative busy timeout is refused, an endless one is accepted`() throws {
        #expect(
            storageError { _ = try database.openStore { $0.busyTimeout = .seconds(-1) } } != nil)
        let db = try database.openStore { $0.busyTimeout = .seconds(Int64.max) }
        #expect(db.connection?.busyMilliseconds == .max)
    }

    @Test(arguments: [0, 1, 1 << 40, Int.max])
    func `any cache size is accepted`(_ size: Int) throws {
        let db = try database.openStore { $0.cacheSize = size }
        #expect(try db.int("SELECT count(*) FROM sqlite_schema") == 0)
    }

    @Test func `a salt without a plaintext header is refused`() throws {
        let error = storageError { _ = try database.openStore { $0.cipher.salt = Data(count: 16) } }
        #expect(error?.kind == .openFailed)
        #expect("\(error, default: "none")".contains("plaintextHeaderSize"))
        #expect(try database.fileNames().isEmpty)
    }

    @Test func `a salt of another length is refused`() throws {
        let error = storageError {
            _ = try database.openStore {
                $0.cipher.plaintextHeaderSize = 32
                $0.cipher.salt = Data(count: 15)
            }
        }
        #expect("\(error, default: "none")".contains("16 bytes"))
        #expect(try database.fileNames().isEmpty)
    }

    @Test func `a read-only store reads, refuses to write and leaves no side file`() throws {
        let writer = try database.openStore()
        try writer.executeStatements("CREATE TABLE t (a); INSERT INTO t VALUES (1)")
        writer.close()
        let reader = try database.openStore { $0.isReadOnly = true }
        #expect(try reader.int("SELECT a FROM t") == 1)
        let error = storageError { try reader.executeUpdate("INSERT INTO t VALUES (2)") }
        #expect(error?.code == 8)
        #expect(error?.description.contains("read-only") == true)
        reader.close()
        #expect(try database.fileNames() == ["test.db"])
    }

    @Test func `the log names the engine once and contains no secret`() async throws {
        await #expect(processExitsWith: .success) {
            let recorder = LogRecorder()
            var configuration = SecureDatabaseConfiguration()
            configuration.logger = Logger(label: "test") { _ in recorder }
            configuration.logger.logLevel = .trace
            let database = try TemporaryDatabase()
            for _ in 1...3 {
                let db = SecureDatabaseStore(
                    fullDatabasePath: database.path, configuration: configuration)
                try db.open(with: "hunter2")
                #expect(storageError { try db.executeUpdate("nonsense") } != nil)
                db.close()
            }
            let db = SecureDatabaseStore(
                fullDatabasePath: database.path, configuration: configuration)
            #expect(storageError { try db.open(with: "hunter9") } != nil)
            try db.open(with: "hunter2")
            try db.changeEncryptionKey(with: "hunter3")
            let lines = recorder.lines
            #expect(lines.filter { $0.contains("sqlcipher") }.count == 1)
            #expect(!lines.contains { $0.contains("hunter") })
        }
    }
}
