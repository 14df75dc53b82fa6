import Foundation
import Testing
import TestSupport

@testable import SecureStorage

struct PragmaTests {
    let database: TemporaryDatabase
    let db: SecureDatabaseStore

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore()
        try db.executeStatements("CREATE TABLE t (a); INSERT INTO t VALUES (1)")
    }

    @Test(arguments: ["key", "rekey", "hexkey", "hexrekey", "textkey", "textrekey"])
    func `no pragma can change the key`(_ pragma: String) throws {
        let secret = String(repeating: "ab", count: 32)
        check(storageError { try db.executeUpdate("PRAGMA \(pragma) = '\(secret)'") } != nil)
        check(storageError { try db.executeStatements("PRAGMA \(pragma)('\(secret)')") } != nil)
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
        // Commits that are not durable.
        "synchronous = OFF", "synchronous = 0", "main.synchronous(off)",
        "\"main\".synchronous = NO",
        "SYNCHRONOUS = 'false'", "synchronous = 1", "synchronous = NORMAL", "synchronous = 256",
        "synchronous = 0x0", "synchronous = -1", "synchronous = 2.0", "synchronous = nonsense",
        "/* */ synchronous /**/ = /* */ [off]", "temp.synchronous = off", "journal_mode = OFF",
        "journal_mode = MEMORY", "main.journal_mode('delete')", "journal_mode = truncate",
        "[journal_mode] = `persist`", "temp.journal_mode = off", "fullfsync = OFF",
        "checkpoint_fullfsync = 0", "wal_checkpoint", "wal_checkpoint(PASSIVE)",
        "main.wal_checkpoint = TRUNCATE",
        // No other connection to the file.
        "locking_mode = EXCLUSIVE", "main.'locking_mode'(exclusive)",
        // Remnants of deleted data, and unchecked reading.
        "secure_delete = OFF", "secure_delete(0)", "main.secure_delete = FAST",
        "secure_delete = 'no'", "cell_size_check = OFF", "cell_size_check = 2",
        "trusted_schema = ON", "TRUSTED_SCHEMA(1)", "'trusted_schema' = yes",
        "trusted_schema = +1", "trusted_schema = 0x1", "writable_schema = ON",
        "writable_schema = RESET", "schema_version = 7", "page_size = 8192", "page_size = 512",
        "data_store_directory = 'x'", "lock_proxy_file = '/tmp/x'",
    ])
    func `a pragma for a setting that the store owns is refused, whatever the spelling`(
        _ pragma: String
    ) throws {
        for sql in ["PRAGMA \(pragma)", "EXPLAIN PRAGMA \(pragma)", ";\u{FEFF}pragma \(pragma);"] {
            let error = storageError { try db.executeStatements(sql) }
            check(error?.code, equals: 23, "\(sql)")
            check(error?.description.contains(" is refused: "), equals: true, "\(sql)")
        }
        try db.executeUpdate("INSERT INTO t VALUES (2)")
        db.close()
        try check(database.openStore().int("SELECT count(*) FROM t"), equals: 2)
    }

    @Test(arguments: [
        ("synchronous = OFF", "SecureDatabaseConfiguration.synchronous"),
        ("journal_mode = MEMORY", "SecureDatabaseConfiguration.journalMode"),
        ("page_size = 8192", "CipherConfiguration.pageSize"), ("wal_checkpoint", "checkpoint(_:)"),
        ("kdf_iter = 1", "SecureDatabaseConfiguration.cipher"),
        ("trusted_schema = 1", "isInnocuous"),
        ("schema_version = 1", "user_version"), ("cipher_migrate", "migrate(at:key:)"),
    ])
    func `a refusal names what to use instead`(_ pragma: String, _ remedy: String) throws {
        let error = storageError { try db.executeUpdate("PRAGMA \(pragma)") }
        check(error?.description.contains(remedy), equals: true)
    }

    @Test(arguments: [
        "cipher_version", "cipher_settings", "cipher_salt", "cipher_page_size",
        "cipher_integrity_check", "temp_store", "wal_autocheckpoint", "foreign_key_check",
        "foreign_key_list(t)", "temp_store = MEMORY", "busy_timeout = 10", "user_version = 3",
        "cipher_memory_security = OFF", "synchronous", "synchronous = FULL", "synchronous = 3",
        "main.synchronous = extra", "journal_mode", "journal_mode = WAL", "secure_delete",
        "secure_delete = ON", "locking_mode", "locking_mode = NORMAL", "trusted_schema",
        "trusted_schema = OFF", "cell_size_check = ON", "writable_schema = OFF", "page_size = 4096",
        "foreign_keys = OFF", "recursive_triggers = ON", "ignore_check_constraints = ON",
        "journal_size_limit = 1000", "cache_size = 100", "optimize", "schema_version",
        "nonsense = 1",
    ])
    func `pragmas that only read, and those that are the app's own, are allowed`(_ pragma: String)
        throws
    {
        try db.executeStatements("PRAGMA \(pragma)")
        try db.executeUpdate("INSERT INTO t VALUES (2)")
        try check(db.int("SELECT count(*) FROM t"), equals: 2)
    }

    @Test func `the configuration determines what a pragma may lower`() throws {
        db.close()
        let normal = try database.openStore {
            $0.synchronous = .normal
            $0.journalMode = .delete
        }
        for pragma in ["synchronous = NORMAL", "fullfsync = OFF", "journal_mode = TRUNCATE"] {
            try normal.executeStatements("PRAGMA \(pragma)")
        }
        for pragma in ["synchronous = OFF", "checkpoint_fullfsync = OFF", "journal_mode = WAL"] {
            check(
                storageError { try normal.executeStatements("PRAGMA \(pragma)") }?.code, equals: 23)
        }
        normal.close()
        let full = try database.openStore { $0.journalMode = .delete }
        // FULL syncs less than the store does in this journal mode.
        check(
            storageError { try full.executeStatements("PRAGMA synchronous = FULL") }?.code,
            equals: 23)
        try check(full.int("PRAGMA synchronous"), equals: 3)
        full.close()
        let keeping = try database.openStore { $0.keepsWriteAheadLog = true }
        check(
            storageError { try keeping.executeStatements("PRAGMA journal_size_limit = -1") }?.code,
            equals: 23)
    }

    @Test(arguments: [
        ("SELECT * FROM pragma_journal_mode(?)", "off"),
        ("SELECT * FROM pragma_synchronous(?)", "0"),
        ("SELECT * FROM pragma_secure_delete(?)", "0"),
        ("SELECT * FROM pragma_locking_mode(?)", "exclusive"),
        ("SELECT * FROM pragma_trusted_schema(?)", "1"),
        ("SELECT * FROM pragma_page_size(?)", "8192"),
        ("SELECT * FROM pragma_wal_checkpoint(?)", "main"),
        ("SELECT * FROM pragma_schema_version(?)", "9"),
        ("SELECT * FROM pragma_writable_schema WHERE arg = ?", "1"),
        ("SELECT * FROM pragma_temp_store WHERE schema = ?", "file"),
        ("SELECT * FROM pragma_key(?)", "x"), ("SELECT * FROM pragma_cipher_salt(?)", "x"),
    ])
    func `a table-valued pragma with a bound value sets nothing`(
        _ sql: String, _ value: String
    ) throws {
        let before = try settings()
        _ = storageError { try db.executeQuery(sql, values: [value]).close() }
        if let rs = try? db.executeQuery(sql, values: [value]) {
            while (try? rs.next()) == true {}
        }
        try check(settings(), equals: before)
        try db.executeUpdate("INSERT INTO t VALUES (2)")
    }

    /// The authorizer is called for the PRAGMA that a table-valued one runs inside.
    @Test func `a table-valued pragma is refused like its statement`() throws {
        var configuration = SecureDatabaseConfiguration()
        configuration.secondInstance = .allowed
        configuration.runsUntrustedSQL = true
        let stranger = SecureDatabaseStore(url: database.url, configuration: configuration)
        try stranger.open(with: TemporaryDatabase.key)
        let error = storageError {
            let rs = try stranger.executeQuery(
                "SELECT * FROM pragma_optimize(?)", values: ["65534"])
            while try rs.next() {}
        }
        check(error?.code, equals: 23)
        check(error?.description.contains("PRAGMA optimize is refused"), equals: true)
        check(error?.description.contains("65534"), equals: false)
    }

    private func settings() throws -> [String?] {
        try [
            "journal_mode", "synchronous", "secure_delete", "locking_mode", "trusted_schema",
            "page_size", "schema_version", "writable_schema", "temp_store", "cipher_salt",
        ].map { try db.strings("PRAGMA \($0)").first ?? nil }
    }

    @Test func `each pragma of the engine has a rule`() throws {
        let rules = PragmaRules(configuration: SecureDatabaseConfiguration())
        let names = try db.strings("SELECT name FROM pragma_pragma_list").compactMap { $0 }
        check(names.count > 50)
        check(names.filter { rules.rule(for: $0) == nil }, equals: [])
    }

    @Test func `another encrypted file is attached with its key as a bound value`() throws {
        let other = try TemporaryDatabase()
        let byPassphrase = other.store()
        try byPassphrase.open(with: "an attached passphrase")
        try byPassphrase.executeStatements("CREATE TABLE u (a); INSERT INTO u VALUES (7)")
        byPassphrase.close()
        try db.executeUpdate(
            "ATTACH ? AS other KEY ?", values: [other.path, "an attached passphrase"])
        try check(db.int("SELECT u.a + t.a FROM t, other.u"), equals: 8)
        try db.executeUpdate("DETACH other")

        let third = try TemporaryDatabase()
        try third.openStore().executeUpdate("CREATE TABLE v (a)")
        try db.executeUpdate(
            "ATTACH ? AS third KEY ?",
            values: [third.path, "x'\(TemporaryDatabase.key.hex)'"])
        try db.executeUpdate("INSERT INTO third.v SELECT a FROM t")
        try check(db.int("SELECT a FROM third.v"), equals: 1)
    }

    @Test(arguments: [
        "VACUUM INTO ?", "vacuum main into ?", "VACUUM/**/INTO/**/?",
        "; -- c\n VACUUM \"main\" INTO ?",
        "\u{FEFF}VACUUM 'main'INTO ?", "VACUUM [main] INTO ?", "VACUUM INTO(SELECT ?)",
    ])
    func `VACUUM INTO is refused, and the error names the library's own function`(_ sql: String)
        throws
    {
        let copy = database.directory.appendingPathComponent("copy.db").path
        let error = storageError { try db.executeUpdate(sql, values: [copy]) }
        check(error?.code, equals: 23)
        check(error?.description.contains("vacuum(into:)"), equals: true)
        check(error?.description.contains(copy), equals: false)
        check(
            storageError { try db.executeStatements("SELECT 1; \(sql); SELECT 2") }?.code,
            equals: 23)
        check(!FileManager.default.fileExists(atPath: copy))
    }

    @Test(arguments: [
        "VACUUM", "VACUUM main", "VACUUM -- into a smaller file\n", "VACUUM \"main\" ; ",
        "EXPLAIN VACUUM INTO 'copy.db'", "SELECT 'VACUUM INTO x'",
    ])
    func `other statements are not taken for a VACUUM INTO`(_ sql: String) throws {
        try db.executeStatements(sql)
        try check(db.int("SELECT count(*) FROM t"), equals: 1)
    }

    @Test func `ATTACH creates no file`() throws {
        let missing = database.directory.appendingPathComponent("missing.db").path
        for name in [missing, "file:\(missing)", "file:\(missing)?mode=rwc"] {
            let error = storageError {
                try db.executeUpdate("ATTACH ? AS other KEY ?", values: [name, "key"])
            }
            check(error?.kind, equals: .backingStoreError)
        }
        check(!FileManager.default.fileExists(atPath: missing))
    }

    @Test(arguments: ["load_extension(?)", "fts3_tokenizer(?)", "fts3_tokenizer(?, x'00')"])
    func `no function loads code or exposes a pointer`(_ call: String) throws {
        guard try !engineLacks(call) else { return }
        let error = storageError { _ = try db.executeQuery("SELECT \(call)", values: ["simple"]) }
        check(error?.code, equals: 23)
        check(error?.description.contains("may not load code"), equals: true)
    }
}
