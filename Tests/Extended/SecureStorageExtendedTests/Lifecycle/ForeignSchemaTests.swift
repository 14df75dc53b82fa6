import Foundation
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// Files from elsewhere, with schemas that this library did not write.
struct ForeignSchemaTests {
    let source: TemporaryDatabase
    let target: TemporaryDatabase

    init() throws {
        source = try TemporaryDatabase(name: "stranger.db")
        target = try TemporaryDatabase()
    }

    private static let key = DatabaseKey.raw(SecretBytes(copying: TemporaryDatabase.key))

    /// Makes the plain file with the `sqlcipher` shell.
    private func make(_ script: String) throws {
        let shell = try SQLCipherShell(
            source.path, key: nil, ".dbconfig defensive off\n" + script)
        try require(shell.errors == "", "\(shell.errors)")
    }

    private func encrypt() throws -> [String: Int] {
        try SecureDatabaseStore.importPlaintext(from: source.url, to: target.url, key: Self.key)
    }

    @Test(arguments: [
        "CREATE TABLE t (a CHECK (fts3_tokenizer(a) IS NULL))",
        "CREATE TABLE t (a CHECK (load_extension(a)))",
        "CREATE TABLE t (a, b, CHECK (sqlcipher_export(a) IS NULL))",
    ])
    func `a table whose text calls for code is not created`(_ table: String) throws {
        guard try !engineLacks(table) else { return }
        try make("CREATE TABLE good (a); INSERT INTO good VALUES (7); \(table);")
        let error = storageError { _ = try encrypt() }
        check(error?.code, equals: 23, "\(String(describing: error))")
        check(error?.description.contains("() is refused"), equals: true)
        try check(target.fileNames(), equals: [])
    }

    @Test(arguments: [
        "CREATE TABLE t AS SELECT sql FROM sqlite_schema", "CREATE TEMP TABLE t (a)",
        "CREATE VIRTUAL TABLE t USING dbstat", "CREATE TABLE t (a); DROP TABLE good",
        "CREATE TABLE temp.t (a)", "CREATE TABLE t (a AS (fts3_tokenizer(''simple'')))",
    ])
    func `a schema text that does something else is not run`(_ text: String) throws {
        try make(
            """
            CREATE TABLE good (a); INSERT INTO good VALUES (7); CREATE TABLE t (a);
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET sql = '\(text)' WHERE name = 't';
            """)
        check(storageError { _ = try encrypt() } != nil)
        try check(target.fileNames(), equals: [])
    }

    @Test(arguments: [
        ("CREATE TABLE t AS SELECT sql FROM sqlite_schema", "does something other than"),
        ("CREATE TABLE temp.t (a)", "does something other than"),
        ("CREATE TABLE t (a CHECK (fts3_tokenizer(a) IS NULL))", "fts3_tokenizer() is refused"),
        ("CREATE TABLE t (a); DROP TABLE good", "text after the first statement"),
    ])
    func `a salvage does not run such a text either, and saves the other tables`(
        _ text: String, _ reason: String
    ) throws {
        guard try !engineLacks(text) else { return }
        let shell = try SQLCipherShell(
            source.path, key: "x'\(TemporaryDatabase.key.hex)'",
            """
            .dbconfig defensive off
            CREATE TABLE good (a); INSERT INTO good VALUES (7);
            CREATE TABLE t (a); INSERT INTO t VALUES (8);
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET sql = '\(text)' WHERE name = 't';
            """)
        try require(shell.errors == "", "\(shell.errors)")
        let report = try SecureDatabaseStore.salvage(
            at: source.url, key: Self.key, to: target.url)
        check(report.problems.contains { $0.contains(reason) }, "\(report.problems)")
        let db = try target.openStore()
        try check(db.int("SELECT a FROM good"), equals: 7)
        try check(!db.tableExists("t"))
    }

    @Test(arguments: ["", "x", "CREATE", "CREATE TABLE", "ATTACH 'x' AS y", "-- \u{1}"])
    func `a corrupt schema text is an error`(_ text: String) throws {
        try make(
            """
            CREATE TABLE good (a); INSERT INTO good VALUES (7); CREATE TABLE t (a);
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET sql = '\(text.replacingOccurrences(of: "'", with: "''"))'
                WHERE name = 't';
            """)
        check(storageError { _ = try encrypt() } != nil)
        try check(target.fileNames(), equals: [])
    }

    @Test func `views and triggers are imported, and can do no harm afterwards`() throws {
        try make(
            """
            CREATE TABLE t (a); INSERT INTO t VALUES (7);
            CREATE VIEW settings AS SELECT * FROM pragma_journal_mode;
            CREATE VIEW pages AS SELECT * FROM dbstat;
            CREATE VIEW code AS SELECT fts3_tokenizer('simple') AS pointer;
            CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT load_extension('evil.so'); END;
            CREATE TRIGGER h AFTER UPDATE ON t BEGIN SELECT secret(); END;
            """)
        try check(encrypt(), equals: ["t": 1])
        let db = try target.openStore()
        try db.makeFunction(named: "secret") { _ in
            Issue.record("a trigger of a foreign file called it")
            return nil
        }
        for sql in [
            "SELECT * FROM settings", "SELECT * FROM pages", "SELECT pointer FROM code",
            "INSERT INTO t VALUES (8)", "UPDATE t SET a = 9",
        ] {
            check(
                storageError { try db.executeStatements(sql) } != nil, "\(sql)")
        }
        try check(db.strings("SELECT a FROM t"), equals: ["7"])
    }

    @Test func `tables named like the engine's own do not change what is read`() throws {
        try make(
            """
            CREATE TABLE t (a, b, PRIMARY KEY (b)) WITHOUT ROWID; INSERT INTO t VALUES (7, 8);
            CREATE TABLE pragma_table_list (schema, name, wr);
            INSERT INTO pragma_table_list VALUES ('main', 't', 0);
            CREATE TABLE u (pragma); INSERT INTO u VALUES ('here'); DELETE FROM u;
            INSERT INTO u (rowid, pragma) VALUES (40, 'there');
            CREATE VIEW pragma_table_xinfo AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
                SELECT i AS name, i AS hidden FROM n;
            """)
        try check(encrypt(), equals: ["t": 1, "u": 1, "pragma_table_list": 1])
        let db = try target.openStore()
        try check(db.int("SELECT a + b FROM t"), equals: 15)
        try check(db.int("SELECT rowid FROM u"), equals: 40)
    }

    @Test func `an old schema with strings in double quotes is imported`() throws {
        try make(
            """
            .dbconfig dqs_ddl on
            CREATE TABLE t (a CHECK (a <> "nothing")); INSERT INTO t VALUES ('x');
            CREATE INDEX i ON t (a) WHERE a <> "other";
            """)
        try check(encrypt(), equals: ["t": 1])
        try check(target.openStore().strings("SELECT a FROM t"), equals: ["x"])
    }
}
