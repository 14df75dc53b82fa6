import Foundation
import SecureStorage
import Testing
import TestSupport

@testable import SecureStorageTests

/// A file of one program, one cipher configuration and one shape of content, for tests of
/// salvaging.
struct SalvageFile: CustomTestStringConvertible {
    /// The program that writes the file.
    enum Maker: Hashable {
        case library
        /// The `sqlcipher` shell with per-connection settings, or with those of its process, which
        /// leave fewer bytes of a page free.
        case shell(processSettings: Bool)
        /// A Python with `sqlcipher3`, by the interpreter's path.
        case python(String)
    }

    /// The content of the file besides a table of rows.
    enum Shape: String, CaseIterable {
        case overflow, withoutRowID, indexes, fts4, fts5, rtree, utf16, autoVacuum
    }

    let pageSize: Int
    let hmac: CipherConfiguration.HMACAlgorithm
    let header: Int
    let maker: Maker
    let shape: Shape

    var testDescription: String {
        "\(maker), \(pageSize), \(hmac.rawValue), \(header), \(shape.rawValue)"
    }

    static let key = DatabaseKey.raw(SecretBytes(copying: TemporaryDatabase.key))
    static let salt = Data(repeating: 0x5a, count: 16)

    var cipher: CipherConfiguration {
        var cipher = CipherConfiguration()
        (cipher.pageSize, cipher.hmacAlgorithm) = (pageSize, hmac)
        cipher.plaintextHeaderSize = header
        if header > 0 { cipher.salt = Self.salt }
        return cipher
    }

    func make(at database: TemporaryDatabase) throws {
        switch maker {
        case .library:
            let db = try open(database)
            defer { db.close() }
            try db.executeStatements(script)
        case .shell(let isOfProcess):
            let shell = try SQLCipherShell(
                database.path, key: nil, settings: settings(ofProcess: isOfProcess), script)
            try require(shell.errors == "", "\(shell.errors)")
        case .python(let program):
            let code = """
                import sys
                from sqlcipher3 import dbapi2
                db = dbapi2.connect(sys.argv[1], isolation_level=None)
                db.executescript(sys.stdin.read())
                db.close()
                """
            let lines = settings(ofProcess: false).map { "PRAGMA \($0);\n" }.joined()
            let run = try ChildProcess(
                program, ["-c", code, database.path], input: Data((lines + script).utf8))
            try require(run.status == 0, "\(run.errors)")
        }
    }

    func open(_ database: TemporaryDatabase) throws -> SecureDatabaseStore {
        let store = database.store {
            $0.journalMode = .delete
            $0.cipher = cipher
        }
        try store.open(with: Self.key)
        return store
    }

    private func settings(ofProcess isOfProcess: Bool) -> [String] {
        let salt = header > 0 ? Self.salt.hex : ""
        let key = "key = \"x'\(TemporaryDatabase.key.hex)\(salt)'\""
        let pages = [
            "page_size = \(pageSize)", "hmac_algorithm = \(hmac.rawValue)",
            "plaintext_header_size = \(header)",
        ]
        return isOfProcess
            ? pages.map { "cipher_default_\($0)" } + [key]
            : [key] + pages.map { "cipher_\($0)" }
    }

    /// Rows in about a hundred pages, each with a tag first, by which it is recognised anywhere.
    ///
    /// The long ones repeat 00000003, which is also a page number.
    private var script: String {
        let long = shape == .overflow ? 5 : 25
        let rows = """
            CREATE TABLE t (tag TEXT, x BLOB, r REAL, n);
            WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 150)
            INSERT INTO t (rowid, tag, x, r, n) SELECT i * 3, 't:' || i,
                CASE WHEN i % \(long) = 0
                THEN CAST(replace(hex(zeroblob(\(pageSize / 4) + i)), '00', char(0, 0, 0, 3)) AS BLOB)
                ELSE randomblob(\(pageSize / 16) + i) END, i + 0.25, NULLIF(i, 7) FROM n;
            DELETE FROM t WHERE rowid BETWEEN 90 AND 120;

            """
        let extra =
            switch shape {
            case .overflow: ""
            case .withoutRowID:
                """
                CREATE TABLE k (x, tag TEXT, PRIMARY KEY (tag)) WITHOUT ROWID;
                INSERT INTO k SELECT x, 'k' || tag FROM t;
                """
            case .indexes:
                """
                CREATE INDEX i ON t (x, tag); CREATE UNIQUE INDEX u ON t (tag COLLATE NOCASE DESC);
                CREATE VIEW v AS SELECT tag FROM t; PRAGMA user_version = -3;
                CREATE TABLE d (k INTEGER PRIMARY KEY DESC, rowid INT, a AS (k * 2) STORED);
                INSERT INTO d (k, rowid) VALUES (NULL, 1), (7, 2); PRAGMA application_id = 77;
                CREATE TABLE c (n INTEGER PRIMARY KEY AUTOINCREMENT, x); ANALYZE;
                INSERT INTO c (x) VALUES (1), (2); DELETE FROM c WHERE n = 2;
                CREATE TRIGGER g AFTER DELETE ON t BEGIN DELETE FROM c; END;
                """
            case .fts4:
                """
                CREATE VIRTUAL TABLE words USING fts4(body);
                INSERT INTO words SELECT tag || ' word' || (n % 7) || ' ' || hex(x) FROM t WHERE length(x) < 300;
                """
            case .fts5:
                """
                CREATE VIRTUAL TABLE words USING fts5(body);
                INSERT INTO words SELECT tag || ' word' || (n % 7) || ' ' || hex(x) FROM t WHERE length(x) < 300;
                CREATE VIRTUAL TABLE "of t" USING fts5(tag, content = 't');
                INSERT INTO "of t" ("of t") VALUES ('rebuild');
                """
            case .rtree:
                """
                CREATE VIRTUAL TABLE places USING rtree(id, a, b, c, d, +name);
                INSERT INTO places SELECT rowid, n, n + 1, -n, n, tag FROM t WHERE n > 0;
                """
            case .utf16, .autoVacuum:
                "INSERT INTO t VALUES ('t:NUL' || char(0, 233, 119070), x'01', 2, CAST(x'41ff' AS TEXT));"
            }
        let before =
            switch shape {
            case .utf16: "PRAGMA encoding = 'UTF-16be'; "
            case .autoVacuum: "PRAGMA auto_vacuum = INCREMENTAL; "
            default: ""
            }
        return before + "BEGIN; " + rows + extra + " COMMIT;"
    }

    // MARK: - Content

    /// Returns everything that an app can see of the database, one line each.
    static func content(of db: SecureDatabaseStore) throws -> [String] {
        var lines = try db.strings(
            "SELECT type || ' ' || name || ' ' || tbl_name || ' ' || ifnull(sql, '') FROM sqlite_schema "
                + "ORDER BY 1")
        for pragma in ["user_version", "application_id", "auto_vacuum", "encoding"] {
            lines += try db.strings("PRAGMA \(pragma)")
        }
        let tables = try db.strings(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_stat%' ORDER BY 1"
        )
        for table in tables.compactMap({ $0 }) { lines += try rows(of: table, in: db) }
        for table in ["words", "of t"] where tables.contains(table) {
            lines += try db.strings(
                "SELECT rowid FROM \"\(table)\" WHERE \"\(table)\" MATCH 'word3 OR t' ORDER BY 1")
        }
        return lines.map { $0 ?? "NULL" }
    }

    /// Returns the rows of a table with their storage classes, bytes and row ids.
    static func rows(of table: String, in db: SecureDatabaseStore) throws -> [String] {
        let columns = try db.strings(
            "SELECT name FROM pragma_table_info('\(table)')"
        ).compactMap { $0 }
        let hasRowIDs =
            try db.int(
                "SELECT wr FROM pragma_table_list WHERE schema = 'main' AND name = '\(table)'") == 0
        let names = (hasRowIDs ? ["_rowid_"] : []) + columns.map { "\"\($0)\"" }
        let values = names.map {
            "typeof(\($0)) || CASE WHEN typeof(\($0)) IN ('text', 'blob') THEN hex(\($0)) "
                + "ELSE quote(\($0)) END"
        }
        return try db.strings(
            "SELECT '\(table) ' || \(values.joined(separator: " || ' ' || ")) FROM \"\(table)\""
        ).map { $0 ?? "" }.sorted()
    }
}
