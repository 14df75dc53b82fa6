import Foundation
import SecureStorage
import Testing

@Suite struct PragmaTests {
    let database: TemporaryDatabase
    let db: SecureDatabaseStore

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore()
        try db.executeStatements("CREATE TABLE t (a); INSERT INTO t VALUES (1)")
    }

    @Test(arguments: ["key", "rekey", "hexkey", "hexrekey", "textkey", "textrekey"])
    func `no pragma changes the key behind the store's back`(_ pragma: String) throws {
        let secret = String(repeating: "ab", count: 32)
        #expect(storageError { try db.executeUpdate("PRAGMA \(pragma) = '\(secret)'") } != nil)
        #expect(storageError { try db.executeStatements("PRAGMA \(pragma)('\(secret)')") } != nil)
        db.close()
        try db.open(with: TemporaryDatabase.key)
    }

    @Test(arguments: [
        "cipher_migrate", "cipher_page_size = 8192", "main.cipher_plaintext_header_size = 32",
        "CIPHER_HMAC_ALGORITHM = HMAC_SHA1", "cipher_use_hmac = OFF", "kdf_iter = 1",
        "cipher_default_kdf_iter = 1", "cipher_default_page_size(1024)", "cipher_salt = \"x'00'\"",
        "cipher_log = stderr", "cipher_log_level = DEBUG", "cipher_profile = stderr",
        "temp_store = FILE", "temp_store_directory = '/tmp'", "wal_autocheckpoint = 0",
        "cipher_compatibility = 3", "mmap_size = 1048576", "hard_heap_limit = 1000000",
        "soft_heap_limit = 1000000",
    ])
    func `what the store is responsible for is refused`(_ pragma: String) throws {
        let error = storageError { try db.executeUpdate("PRAGMA \(pragma)") }
        #expect(error?.code == 23)
        #expect(error?.description.contains("SecureDatabaseConfiguration") == true)
        try db.executeUpdate("INSERT INTO t VALUES (2)")
        db.close()
        #expect(try database.openStore().int("SELECT count(*) FROM t") == 2)
    }

    @Test(arguments: [
        "cipher_version", "cipher_settings", "cipher_salt", "cipher_page_size",
        "cipher_integrity_check", "temp_store", "wal_autocheckpoint", "foreign_key_check",
        "foreign_key_list(t)", "temp_store = MEMORY", "busy_timeout = 10", "user_version = 3",
        "cipher_memory_security = OFF",
    ])
    func `what only looks, and what is the app's own, is allowed`(_ pragma: String) throws {
        try db.executeStatements("PRAGMA \(pragma)")
    }

    @Test func `another encrypted file is attached with its key as a bound value`() throws {
        let other = try TemporaryDatabase()
        let byPassphrase = other.store()
        try byPassphrase.open(with: "an attached passphrase")
        try byPassphrase.executeStatements("CREATE TABLE u (a); INSERT INTO u VALUES (7)")
        byPassphrase.close()
        try db.executeUpdate(
            "ATTACH ? AS other KEY ?", values: [other.path, "an attached passphrase"])
        #expect(try db.int("SELECT u.a + t.a FROM t, other.u") == 8)
        try db.executeUpdate("DETACH other")

        let third = try TemporaryDatabase()
        try third.openStore().executeUpdate("CREATE TABLE v (a)")
        try db.executeUpdate(
            "ATTACH ? AS third KEY ?",
            values: [third.path, "x'\(TemporaryDatabase.key.hex)'"])
        try db.executeUpdate("INSERT INTO third.v SELECT a FROM t")
        #expect(try db.int("SELECT a FROM third.v") == 1)
    }

    @Test func `VACUUM INTO makes a copy under the same key`() throws {
        let copy = database.directory.appendingPathComponent("copy.db").path
        try db.executeUpdate("INSERT INTO t VALUES (?)", values: [Marker.text])
        try db.executeUpdate("VACUUM INTO ?", values: [copy])
        #expect(try Marker.places(in: [database.directory.path]).isEmpty)
        let reader = SecureDatabaseStore(fullDatabasePath: copy)
        try reader.open(with: TemporaryDatabase.key)
        #expect(try reader.int("SELECT count(*) FROM t") == 2)
    }

    @Test func `ATTACH makes no file`() throws {
        let missing = database.directory.appendingPathComponent("missing.db").path
        #expect(
            storageError {
                try db.executeUpdate("ATTACH ? AS other KEY ?", values: [missing, "key"])
            }?.code == 14)
        #expect(!FileManager.default.fileExists(atPath: missing))
    }
}
