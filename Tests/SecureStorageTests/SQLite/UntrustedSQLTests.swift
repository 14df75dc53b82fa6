import Foundation
import SecureStorage
import Testing
import TestSupport

struct UntrustedSQLTests {
    let database: TemporaryDatabase
    let victim: TemporaryDatabase
    let db: SecureDatabaseStore

    private static let victimKey = "x'\(TemporaryDatabase.key.hex)'"

    init() throws {
        database = try TemporaryDatabase()
        victim = try TemporaryDatabase(name: "victim.db")
        let store = try victim.openStore()
        try store.executeStatements("CREATE TABLE s (x); INSERT INTO s VALUES ('precious')")
        store.close()
        db = try database.openStore { $0.runsUntrustedSQL = true }
        try db.executeStatements("CREATE TABLE t (a CHECK (a > 0)); INSERT INTO t VALUES (1)")
    }

    /// Returns the message of a statement's error, which must be a refusal.
    @discardableResult
    private func refusal(
        _ sql: String, _ values: [(any SQLiteDatatypeBridgeable)?] = [],
        sourceLocation: SourceLocation = #_sourceLocation
    ) -> String {
        var code: Int?
        var message = ""
        do {
            let statement = try db.prepare(sql)
            defer { statement.close() }
            try statement.bind(values)
            let rows = try statement.executeQuery()
            while try rows.next() {}
        } catch SecureStorageError.backingStoreError(let number, let text) where number != 21 {
            (code, message) = (number, text)
        } catch {
            let error = storageError { try db.executeUpdate(sql, values: values) }
            (code, message) = (error?.code, error?.description ?? "")
        }
        check(code, equals: 23, "\(sql): \(message)", sourceLocation: sourceLocation)
        check(message.contains("refused: "), "\(message)", sourceLocation: sourceLocation)
        return message
    }

    @Test func `ATTACH opens no file, however the file is named`() throws {
        refusal("ATTACH ? AS v KEY ?", [victim.path, Self.victimKey])
        refusal("ATTACH '\(victim.path)' AS v KEY \"\(Self.victimKey)\"")
        refusal("ATTACH '\(victim.directory.path)' || '/victim.db' AS v")
        refusal("attach database (select '\(victim.path)') as v")
        refusal("ATTACH 'file:\(victim.path)?mode=ro&immutable=1' AS v")
        refusal("DETACH ?", ["main"])
        try check(db.strings("SELECT name FROM pragma_database_list"), equals: ["main"])
        try check(victim.openStore().strings("SELECT x FROM s"), equals: ["precious"])
    }

    @Test(arguments: [
        "foreign_keys = OFF", "ignore_check_constraints = ON", "busy_timeout = 1000000",
        "case_sensitive_like = ON", "query_only = ON", "cache_size = 1", "max_page_count = 1",
        "auto_vacuum = 2", "incremental_vacuum", "optimize", "shrink_memory", "synchronous = OFF",
        "recursive_triggers = 1", "nonsense = 1", "cipher_integrity_check",
    ])
    func `pragmas set nothing`(_ pragma: String) throws { refusal("PRAGMA \(pragma)") }

    @Test(arguments: [
        "table_info(t)", "foreign_key_check", "user_version = 3", "application_id = 4",
        "encoding = 'UTF-8'", "page_size", "integrity_check", "synchronous",
    ])
    func `pragmas that only read or that number the file are allowed`(_ pragma: String) throws {
        try db.executeStatements("PRAGMA \(pragma)")
    }

    @Test func `the first statement of a dump is allowed where it has no effect`() throws {
        try db.beginTransaction()
        try db.executeStatements("PRAGMA foreign_keys = OFF")
        try db.commit()
        try check(db.int("PRAGMA foreign_keys"), equals: 1)
    }

    @Test func `only innocuous functions of the app can be called`() throws {
        try db.makeFunction(named: "Secret") { _ in "hunter2" }
        try db.makeFunction(named: "harmless", isInnocuous: true) { _ in 7 }
        try db.makeAggregate(named: "collected", initial: 0, step: { _, _ in }) { $0 }
        refusal("SELECT secret()")
        refusal("SELECT SECRET(a) FROM t")
        refusal("SELECT collected(a) FROM t")
        try db.executeUpdate("CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT secret(); END")
        refusal("INSERT INTO t VALUES (2)")
        try check(db.int("SELECT harmless() + length('abc')"), equals: 10)
    }

    @Test func `functions and modules that reach outside the database are refused`() throws {
        refusal("SELECT load_extension(?)", ["evil"])
        let tokenizer = "SELECT fts3_tokenizer('simple')"
        if try !engineLacks(tokenizer) { refusal(tokenizer) }
        refusal("SELECT sqlcipher_export('main')")
        refusal("CREATE VIRTUAL TABLE temp.pages USING dbstat(main)")
        if try !engineLacks("sqlite_stmt") {
            refusal("SELECT sql FROM sqlite_stmt")
        }
        check(
            storageError { try db.executeStatements("SELECT 1; VACUUM INTO 'x'") }?.code, equals: 23
        )
    }

    @Test func `the schema is not writable`() throws {
        refusal("PRAGMA writable_schema = ON")
        for sql in [
            "INSERT INTO sqlite_schema VALUES ('table', 'x', 'x', 0, 'CREATE TABLE x (a)')",
            "UPDATE sqlite_schema SET sql = 'CREATE TABLE t (b)'", "DELETE FROM sqlite_master",
            "CREATE TABLE sqlite_x (a)",
        ] {
            check(storageError { try db.executeUpdate(sql) }?.code, equals: 1, "\(sql)")
        }
    }

    @Test func `SQL that stays within the database works`() throws {
        try db.executeStatements(
            """
            CREATE VIRTUAL TABLE words USING fts5 (x);
            CREATE VIRTUAL TABLE boxes USING rtree (id, x0, x1);
            CREATE TABLE log (a, doubled AS (a * 2) STORED);
            CREATE TRIGGER g AFTER INSERT ON t BEGIN INSERT INTO log (a) VALUES (new.a); END;
            CREATE VIEW v AS SELECT a, json_extract('{"x":1}', '$.x') AS one FROM log;
            CREATE INDEX i ON t (a) WHERE a > 1;
            INSERT INTO words VALUES ('milk and bread'); INSERT INTO boxes VALUES (1, 2, 3);
            INSERT INTO t VALUES (2); ALTER TABLE t ADD COLUMN b DEFAULT 7;
            CREATE TEMP TABLE u AS SELECT * FROM v; ANALYZE; REINDEX; DROP INDEX i;
            """)
        try check(db.int("SELECT a + one FROM v"), equals: 3)
        try check(db.int("SELECT count(*) FROM words WHERE words MATCH 'milk'"), equals: 1)
        check(
            storageError { try db.executeUpdate("INSERT INTO t VALUES (-1, 0)") }?.code, equals: 19)
        try db.vacuum()
        try check(db.verifyIntegrity().isSound)
    }

    @Test func `the library's own operations work`() throws {
        var migrations = SchemaMigrations()
        migrations.add("one") { try $0.executeUpdate("CREATE TABLE m (a)") }
        _ = try migrations.apply(to: db)
        try check(db.int("PRAGMA foreign_keys"), equals: 1)
        try db.setUserVersion(5)
        try check(db.userVersion, equals: 5)
        let copy = database.directory.appendingPathComponent("copy.db")
        try db.vacuum(into: copy)
        try db.backup(to: copy, replacing: true)
        try check(db.checkpoint(.truncate).logFrames, equals: 0)
        try db.changeEncryptionKey(with: Data(repeating: 7, count: 32))
        try check(db.tableExists("m"))
    }
}
