import Foundation
import SecureStorage
import Testing
import TestSupport

/// Content converted from one kind of file to another arrives complete.
struct ExportTests {
    let database: TemporaryDatabase
    let target: TemporaryDatabase

    init() throws {
        database = try TemporaryDatabase()
        target = try TemporaryDatabase(name: "target.db")
    }

    private static let key = DatabaseKey.raw(SecretBytes(copying: TemporaryDatabase.key))

    /// One of everything that a schema can contain.
    private static let everything = """
        PRAGMA auto_vacuum = 2;
        CREATE TABLE plain (z);
        INSERT INTO plain (rowid, z) VALUES (-9223372036854775808, 'least'), (5, 'five'),
            (9223372036854775807, 'greatest');
        CREATE TABLE "a ""quoted"" name" ("a column" TEXT, [select] INT, rowid TEXT);
        INSERT INTO "a ""quoted"" name" VALUES ('x', 1, 'no row id');
        CREATE TABLE "values" (i INTEGER, r REAL, t TEXT, b BLOB, n);
        INSERT INTO "values" VALUES (9223372036854775807, 1e999, char(97, 0, 98), x'00ff', NULL),
            (-1, -0.0, '', x'', NULL), (NULL, 0.1, 'é', zeroblob(70000), 'text');
        CREATE TABLE counted (id INTEGER PRIMARY KEY AUTOINCREMENT, x);
        INSERT INTO counted (x) VALUES (1), (2), (3);
        DELETE FROM counted WHERE id = 3;
        CREATE TABLE computed (a INT, b INT AS (a * 2) STORED, c INT AS (a * 3));
        INSERT INTO computed (a) VALUES (7);
        CREATE TABLE keyed (k TEXT, l INT, v, PRIMARY KEY (l, k)) WITHOUT ROWID;
        INSERT INTO keyed VALUES ('b', 1, 'first'), ('a', 2, 'second');
        CREATE TABLE strict (a ANY, b TEXT) STRICT;
        INSERT INTO strict VALUES (x'01', 'b');
        CREATE TABLE parent (id INTEGER PRIMARY KEY);
        CREATE TABLE child (p REFERENCES parent, CHECK (p <> 3));
        INSERT INTO child VALUES (99);
        CREATE UNIQUE INDEX by_z ON plain (z COLLATE NOCASE) WHERE z IS NOT NULL;
        CREATE INDEX by_expression ON "values" (length(t));
        CREATE VIRTUAL TABLE words USING fts5(body, content = 'plain', content_rowid = 'rowid');
        CREATE VIRTUAL TABLE texts USING fts5(body);
        INSERT INTO texts VALUES ('buy some milk'), ('write a letter');
        CREATE VIRTUAL TABLE boxes USING rtree(id, x0, x1);
        INSERT INTO boxes VALUES (1, 2, 3);
        CREATE VIEW seen AS SELECT z FROM plain;
        CREATE TRIGGER noted AFTER INSERT ON plain BEGIN INSERT INTO counted (x) VALUES (new.z); END;
        ANALYZE;
        PRAGMA user_version = 42;
        PRAGMA application_id = 4711;
        """

    /// The queries whose answers a person would compare.
    private static let questions = [
        "SELECT type || name || tbl_name || coalesce(sql, '') FROM sqlite_schema ORDER BY type, name",
        "SELECT rowid || z FROM plain ORDER BY rowid",
        "SELECT \"a column\" || \"select\" || rowid FROM \"a \"\"quoted\"\" name\"",
        "SELECT quote(i) || quote(r) || hex(t) || typeof(t) || hex(b) || typeof(b) || quote(n) "
            + "FROM \"values\" ORDER BY rowid",
        "SELECT id || x FROM counted", "SELECT seq FROM sqlite_sequence",
        "SELECT a || b || c FROM computed", "SELECT k || l || v FROM keyed",
        "SELECT hex(a) || b FROM strict", "SELECT p FROM child",
        "SELECT body FROM texts WHERE texts MATCH 'milk'", "SELECT id || x0 || x1 FROM boxes",
        "SELECT z FROM seen",
        "SELECT tbl || coalesce(idx, '') || stat FROM sqlite_stat1 ORDER BY 1",
        "PRAGMA user_version", "PRAGMA application_id", "PRAGMA auto_vacuum", "PRAGMA encoding",
    ]

    private func makeStore(
        configure: (inout SecureDatabaseConfiguration) -> Void = { _ in }
    ) throws -> SecureDatabaseStore {
        let db = try database.openStore {
            $0.foreignKeysEnabled = false
            configure(&$0)
        }
        try db.executeStatements(Self.everything)
        return db
    }

    private func answers(_ db: SecureDatabaseStore) throws -> [[String?]] {
        try Self.questions.map { try db.strings($0) }
    }

    @Test func `everything arrives under another cipher configuration`() throws {
        let db = try makeStore()
        let expected = try answers(db)
        check(expected.allSatisfy { !$0.isEmpty })
        var cipher = CipherConfiguration()
        cipher.pageSize = 8192
        cipher.hmacAlgorithm = .sha256
        cipher.kdfIterations = 2000

        let counts = try db.export(to: target.url, key: .passphrase("other"), cipher: cipher)

        check(counts["plain"], equals: 3)
        check(counts["texts_content"], equals: 2)
        let opened = target.store { $0.cipher = cipher }
        try opened.open(with: "other")
        try check(answers(opened), equals: expected)
        try check(opened.int("PRAGMA page_size"), equals: 8192)
        let report = try opened.verifyIntegrity()
        check(report.damagedPages == [] && report.structureProblems == [], "\(report)")
        // The copy works: triggers fire, the index is unique, the counter continues.
        try opened.executeUpdate("DELETE FROM plain WHERE rowid = 9223372036854775807")
        try opened.executeUpdate("INSERT INTO plain (z) VALUES ('new')")
        try check(opened.int("SELECT max(id) FROM counted"), equals: 4)
        check(
            storageError { try opened.executeUpdate("INSERT INTO plain (z) VALUES ('FIVE')") }?
                .code, equals: 19)
        check(target.mode(of: "target.db"), equals: 0o600)
        try check(db.strings("SELECT z FROM plain").count, equals: 3)
    }

    @Test func `an encrypted file can be exported to a plain one and imported again`() throws {
        let db = try makeStore()
        let expected = try answers(db)

        try db.exportPlaintext(to: target.url)

        let shell = try SQLCipherShell(
            target.path, key: nil,
            "SELECT count(*) FROM plain; PRAGMA integrity_check; PRAGMA user_version;")
        check(shell.lines, equals: ["3", "ok", "42"])
        check(target.mode(of: "target.db"), equals: 0o600)
        let back = try TemporaryDatabase(name: "back.db")
        let counts = try SecureDatabaseStore.importPlaintext(
            from: target.url, to: back.url, key: Self.key)
        check(counts["values"], equals: 3)
        let opened = try back.openStore { $0.foreignKeysEnabled = false }
        try check(answers(opened), equals: expected)
        try check(target.fileNames(), equals: ["target.db"])
    }

    @Test(arguments: ["UTF-16le", "UTF-16be"])
    func `a file in another encoding keeps its encoding`(_ encoding: String) throws {
        let db = try database.openStore()
        db.close()
        try FileManager.default.removeItem(at: database.url)
        _ = try SQLCipherShell(
            database.path, key: nil,
            "PRAGMA encoding = '\(encoding)'; CREATE TABLE t (x); INSERT INTO t VALUES ('é𝄞');")
        try SecureDatabaseStore.importPlaintext(
            from: database.url, to: target.url, key: Self.key)
        let opened = try target.openStore()
        try check(opened.strings("PRAGMA encoding"), equals: [encoding])
        try check(opened.strings("SELECT x FROM t"), equals: ["é𝄞"])
    }

    @Test func `a plaintext header is added and removed`() throws {
        let db = try makeStore()
        var cipher = CipherConfiguration()
        cipher.plaintextHeaderSize = 32
        cipher.salt = Data((1...16).map { UInt8($0) })
        try db.export(to: target.url, key: Self.key, cipher: cipher)
        let opened = try target.openStore { $0.cipher = cipher }
        try check(opened.int("SELECT count(*) FROM plain"), equals: 3)
        try opened.export(
            to: target.directory.appendingPathComponent("back.db"), key: Self.key)
        let back = SecureDatabaseStore(
            url: target.directory.appendingPathComponent("back.db"))
        try back.open(with: Self.key)
        try check(back.int("SELECT count(*) FROM plain"), equals: 3)
        opened.close()
        // If the app supplies no salt, the library stores one.
        cipher.salt = nil
        try db.export(to: target.url, key: Self.key, cipher: cipher, replacing: true)
        let again = try target.openStore { $0.cipher = cipher }
        try check(again.int("SELECT count(*) FROM plain"), equals: 3)
    }

    @Test func `only a plain SQLite file is imported`() throws {
        let db = try makeStore()
        db.close()
        for name in [database.url, database.directory.appendingPathComponent("missing.db")] {
            let error = storageError {
                try SecureDatabaseStore.importPlaintext(
                    from: name, to: target.url, key: Self.key)
            }
            check(error?.kind, equals: .openFailed)
        }
        try check(target.fileNames(), equals: [])
    }

    @Test func `an error thrown by progress ends the export, and nothing is left`() throws {
        let db = try database.openStore()
        try db.executeStatements(
            """
            CREATE TABLE t (x);
            WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
            INSERT INTO t SELECT i FROM n;
            CREATE TABLE u (x PRIMARY KEY) WITHOUT ROWID; INSERT INTO u SELECT x FROM t;
            """)
        for limit in [0, 0.2, 0.4, 0.7] {
            #expect(throws: CancellationError.self) {
                try db.exportPlaintext(to: target.url) {
                    if $0.fraction >= limit { throw CancellationError() }
                }
            }
            try check(target.fileNames(), equals: [])
        }
        var seen: [FileProgress] = []
        try db.exportPlaintext(to: target.url) { seen.append($0) }
        check(seen.count > 10)
        check(seen.last?.fraction, equals: 1)
        // First the rows are counted, and each once.
        let rows = seen.prefix { $0.fraction <= 0.5 }
        check(Set(rows.map(\.total)).count, equals: 1)
        check(rows.last?.fraction, equals: 0.5)
    }

    @Test func `a damaged source is an error, and nothing is left`() throws {
        let db = try database.openStore { $0.journalMode = .delete }
        try db.executeStatements(
            "CREATE TABLE t (x); INSERT INTO t VALUES (randomblob(50000)), (randomblob(50000))")
        db.close()
        var bytes = try Data(contentsOf: database.url)
        bytes[bytes.count - 4000] ^= 1
        try bytes.write(to: database.url)
        let damaged = try database.openStore { $0.journalMode = .delete }
        check(storageError { try damaged.exportPlaintext(to: target.url) }?.code, equals: 11)
        try check(target.fileNames(), equals: [])
    }

    @Test func `no error contains a key`() throws {
        let db = try makeStore()
        let missing = target.directory.appendingPathComponent("no/such/dir.db")
        let error = storageError { try db.export(to: missing, key: .passphrase("secret key")) }
        check(error?.description.contains("secret"), equals: false)
    }
}
