import Foundation
import Testing
import TestSupport

@testable import SecureStorage

struct ErrorMessageTests {
    let database: TemporaryDatabase
    let db: SecureDatabaseStore

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore()
    }

    private func message(_ body: () throws -> Void) -> String {
        storageError(body).map { "\($0) \(String(reflecting: $0))" } ?? "no error"
    }

    @Test func `no bound value is in a message`() throws {
        try db.executeStatements(
            """
            CREATE VIRTUAL TABLE search USING fts5 (body);
            CREATE TABLE u (a INTEGER PRIMARY KEY, b TEXT UNIQUE CHECK (length(b) < 40));
            INSERT INTO u VALUES (1, 'hunter2');
            """)
        let long = String(repeating: "hunter2", count: 10)
        let attempts: [(String, [(any SQLiteDatatypeBridgeable)?])] = [
            ("SELECT * FROM search WHERE search MATCH ?", ["\"hunter2"]),
            ("SELECT * FROM search WHERE search MATCH ?", ["hunter2:x"]),
            ("INSERT INTO u VALUES (2, ?)", ["hunter2"]),
            ("INSERT INTO u VALUES (?, 'x')", ["hunter2"]),
            ("INSERT INTO u VALUES (3, ?)", [long]),
            ("SELECT json(?)", ["{hunter2"]),
            ("SELECT json_extract('{}', ?)", ["hunter2"]),
            ("SELECT abs(?), abs(-9223372036854775807 - 1)", ["hunter2"]),
            ("ATTACH ? AS other", ["/nowhere/hunter2.db"]),
            ("SELECT load_extension(?)", ["hunter2"]),
        ]
        for (sql, values) in attempts {
            let text = message {
                let rs = try db.executeQuery(sql, values: values)
                while try rs.next() {}
            }
            let update = message { try db.executeUpdate(sql, values: values) }
            for text in [text, update] {
                check(!text.contains("hunter2"), "\(text)")
            }
        }
    }

    /// SQLite accepts a blob wherever it expects text, in the encoding of the database.
    @Test(.enabled(if: SQLCipherShell.isInstalled), arguments: ["UTF-8", "UTF-16le", "UTF-16be"])
    func `no bound blob is in a message, as text or in hexadecimal`(_ encoding: String) throws {
        // Only the first statement on a new file chooses the encoding, and the library runs that
        // one itself.
        let file = try TemporaryDatabase()
        _ = try SQLCipherShell(
            file.path, key: "x'\(TemporaryDatabase.key.hex)'",
            "PRAGMA encoding = '\(encoding)'; CREATE TABLE u (a);")
        let db = try file.openStore()
        try check(db.strings("PRAGMA encoding"), equals: [encoding])
        try db.executeStatements("CREATE VIRTUAL TABLE search USING fts5 (body)")
        let units: String.Encoding =
            encoding == "UTF-8"
            ? .utf8 : encoding == "UTF-16le" ? .utf16LittleEndian : .utf16BigEndian
        let marker = "S3CRETVALUE"
        let statements = [
            "SELECT * FROM search WHERE search MATCH ?1 || ':x'",
            "SELECT * FROM search WHERE search MATCH ?1 || 'tail:x'",
            "SELECT * FROM search WHERE search MATCH lower(?1) || ':x'",
            "SELECT * FROM search WHERE search MATCH substr(CAST(?1 AS TEXT), 1, 7) || ':x'",
            "ATTACH ?1 AS other", "ATTACH ?1 AS main", "DETACH ?1", "VACUUM INTO ?1",
            "SELECT * FROM pragma_table_info('u', ?1)", "SELECT * FROM pragma_index_list(?1, ?1)",
            "SELECT * FROM pragma_integrity_check(?1)", "SELECT fts3_tokenizer(?1)",
            "SELECT sqlcipher_export(?1)", "SELECT json(?1)", "SELECT json_extract('{}', ?1)",
            "INSERT INTO search (search) VALUES (?1)",
            "INSERT INTO search (search, rank) VALUES ('rank', ?1)",
            "SELECT * FROM json_each('{}', ?1)", "SELECT load_extension(?1)",
            "SELECT zeroblob(?1) MATCH ?1",
        ]
        var count = 0
        for prefix in ["", "/nowhere/"] {
            for suffix in ["", "\0rest", ":x", " \"", "!"] {
                guard var blob = (prefix + marker + suffix).data(using: units) else { continue }
                for isCut in [false, true] {
                    // No longer complete text.
                    if isCut { blob.append(0xff) }
                    for sql in statements {
                        let text = message {
                            let statement = try db.prepare(sql)
                            try statement.executeUpdate(values: [blob])
                        }
                        if text != "no error" { count += 1 }
                        check(!text.uppercased().contains("S3CRET"), "\(sql): \(text)")
                        check(!text.lowercased().contains(blob.hex.prefix(12)), "\(sql): \(text)")
                    }
                }
            }
        }
        check(count > 100, "most of the statements fail")
    }

    @Test func `the engine's own words stay in a message`() throws {
        try db.executeUpdate("CREATE VIRTUAL TABLE search USING fts5 (body)")
        let text = message {
            let rs = try db.executeQuery(
                "SELECT * FROM search WHERE search MATCH ?", values: [Data("hunter2:x".utf8)])
            _ = try rs.next()
        }
        check(text.contains("no such column: …"), "\(text)")
    }

    @Test func `no message contains a key from SQL`() {
        let key = "2DD29CA851E7B56E4697B0E1F08507293D761A05CE4D1B628663F411A8086D99"
        let statements = [
            "PRAGMA key = x'\(key)'", "PRAGMA rekey = \"x'\(key)'\"", "PRAGMA key = '\(key)' x",
            "ATTACH 'other.db' AS other KEY x'\(key)' y", "ATTACH '/nowhere/x' AS o KEY '\(key)'",
            "pragma hexkey='\(key)'", "/* */ PrAgMa main.ReKeY = '\(key)'", "PRAGMA textkey(\(key)",
        ]
        for sql in statements {
            for text in [
                message { try db.executeUpdate(sql) }, message { try db.executeStatements(sql) },
                message { _ = try db.executeQuery(sql).next() },
            ] {
                check(text != "no error", "\(sql)")
                check(!text.contains(key), "\(text)")
            }
        }
    }

    @Test(arguments: [
        "PRAGAM key = 'hunter2'", "PRAGMA key 'hunter2'", "ATTAC 'a' AS b KEY 'hunter2'",
        "ATTACH 'a' AS b KEYS 'hunter2'", "PRAGMA key = \"hunter2", "pragma_key('hunter2')",
        "SELECT 1; PRAGAM rekey = x'hunter2'", "RAGMA key('hunter2');",
    ])
    func `no message contains a key after a misspelt word`(_ sql: String) {
        for error in [
            storageError { try db.executeUpdate(sql) },
            storageError { try db.executeStatements(sql) },
            storageError { _ = try db.executeQuery(sql) },
        ] {
            let text = error?.description ?? "no error"
            check(text != "no error")
            check(!text.contains("hunter2"), "\(text)")
        }
    }

    @Test func `a schema's words stay in a message when a value repeats none of them`() throws {
        try db.executeUpdate("CREATE TABLE u (name TEXT NOT NULL)")
        let text = message {
            try db.executeUpdate("INSERT INTO u (name) VALUES (?)", values: [nil])
        }
        check(text.contains("NOT NULL constraint failed: u.name"))
    }

    // MARK: - Words of the schema

    @Test func `the message of an app's trigger is shown, whatever words the values have`() throws {
        try db.executeStatements(
            """
            CREATE TABLE u (name TEXT);
            CREATE TRIGGER quota BEFORE INSERT ON u WHEN length(NEW.name) > 4 BEGIN
                SELECT RAISE(ABORT, 'quota exceeded for user');
            END;
            CREATE TRIGGER quotes BEFORE DELETE ON u BEGIN
                SELECT RAISE(ABORT, 'the user''s quota: "exceeded" [quota]');
            END;
            CREATE TEMP TABLE v (name TEXT);
            CREATE TEMP TRIGGER limits BEFORE INSERT ON v BEGIN
                SELECT RAISE(FAIL, 'quota exceeded here');
            END;
            INSERT INTO u VALUES ('user');
            """)
        for value in ["user exceeded", "quota exceeded for user", "exceeded", "for quota"] {
            check(
                message { try db.executeUpdate("INSERT INTO u VALUES (?)", value) }
                    .contains("quota exceeded for user;"))
            check(
                message { try db.executeUpdate("INSERT INTO u VALUES (?)", Data(value.utf8)) }
                    .contains("quota exceeded for user;"))
            check(
                message { try db.executeUpdate("INSERT INTO v VALUES (?)", value) }
                    .contains("quota exceeded here;"))
        }
        let text = storageError {
            try db.executeUpdate("DELETE FROM u WHERE name = ? OR 'exceeded' = ?", "user", "quota")
        }
        check(text?.description.contains(#"the user's quota: "exceeded" [quota];"#), equals: true)
    }

    @Test func `names in a violated constraint are shown, whatever words the values have`() throws {
        try db.executeStatements(
            """
            CREATE TABLE parent (id INTEGER PRIMARY KEY);
            CREATE TABLE account (
                name TEXT UNIQUE NOT NULL, balance INTEGER CONSTRAINT positive CHECK (balance > 0),
                owner INTEGER REFERENCES parent (id)) STRICT;
            INSERT INTO account VALUES ('account', 1, NULL);
            """)
        let attempts: [([(any SQLiteDatatypeBridgeable)?], String)] = [
            (["account", 1, nil], "UNIQUE constraint failed: account.name;"),
            ([nil, 1, "account name"], "NOT NULL constraint failed: account.name;"),
            (["positive", -1, nil], "CHECK constraint failed: positive;"),
            (["failed", 1, 7], "FOREIGN KEY constraint failed;"),
        ]
        for (values, expected) in attempts {
            let text = message {
                try db.executeUpdate("INSERT INTO account VALUES (?, ?, ?)", values: values)
            }
            check(text.contains(expected), "\(text)")
        }
    }

    /// SQLite 3.47 accepts any expression in RAISE; earlier versions cannot create the trigger.
    @Test(.engine(since: "3.47.0"))
    func `text that a trigger makes from a value is left out`() throws {
        try db.executeStatements(
            """
            CREATE TABLE u (name TEXT);
            CREATE TRIGGER quota BEFORE INSERT ON u BEGIN
                SELECT RAISE(ABORT, 'no room for ' || NEW.name);
            END;
            """)
        for value in ["hunter2", "hunter2 no room"] {
            let text = message { try db.executeUpdate("INSERT INTO u VALUES (?)", value) }
            check(!text.contains("hunter2"), "\(text)")
        }
    }

    // MARK: - Attached files

    @Test func `attaching a file without its key is an error that says what KEY it needs`() throws {
        let passphrase = "correct horse battery"
        let (first, second) = (try TemporaryDatabase(), try TemporaryDatabase(name: "other.db"))
        let other = second.store()
        try other.open(with: passphrase)
        try other.executeStatements("CREATE TABLE u (a); INSERT INTO u VALUES (1)")
        other.close()
        let db = first.store()
        try db.open(with: passphrase)

        for sql in [
            "ATTACH '\(second.path)' AS other",
            "/* x */ attach database '\(second.path)' AS other;",
            "ATTACH \"\(second.path)\" AS other", "ATTACH '\(second.path)' AS other KEY 'hunter2'",
        ] {
            for error in [
                storageError { try db.executeUpdate(sql) },
                storageError { try db.executeStatements(sql) },
            ] {
                let text = error?.description ?? "no error"
                check(error?.code, equals: 26, "\(text)")
                check(text.contains(second.path), "\(text)")
                check(text.contains("its own salt") && text.contains("KEY"), "\(text)")
                check(!text.contains("hunter2") && !text.contains("horse"), "\(text)")
            }
        }
        // A bound path is a value.
        let text = message { try db.executeUpdate("ATTACH ? AS other", second.path) }
        check(text.contains("its own salt"), "\(text)")
        check(!text.contains("other.db"), "\(text)")
        // As the error advises.
        try db.executeUpdate("ATTACH ? AS other KEY ?", second.path, passphrase)
        try check(db.int("SELECT a FROM other.u"), equals: 1)
    }

    @Test func `a missing file that is attached is named in the error`() throws {
        let path = database.directory.path + "/none/other.db"
        for sql in ["ATTACH '\(path)' AS other", "ATTACH '\(path)' AS other KEY 'hunter2'"] {
            let text = message { try db.executeUpdate(sql) }
            check(text.contains(path), "\(text)")
            check(!text.contains("hunter2"), "\(text)")
        }
    }

    @Test func `text that a function quotes is left out, wherever it came from`() throws {
        try db.executeStatements("CREATE TABLE t (a); INSERT INTO t VALUES ('hunter2')")
        for (sql, values) in [
            ("SELECT json_extract('{}', ?)", [Data("hunter2".utf8)]),
            ("SELECT json_extract('{}', lower(?))", ["HUNTER2"]),
            ("SELECT json_extract('{}', a) FROM t", []),
        ] as [(String, [(any SQLiteDatatypeBridgeable)?])] {
            let text = message { _ = try db.executeQuery(sql, values: values).next() }
            check(text.contains("bad JSON path"))
            check(!text.contains("hunter2"), "\(text)")
        }
    }

    @Test func `an error in a table named attachment with a column named key keeps its message`()
        throws
    {
        try db.executeUpdate("CREATE TABLE attachment (key TEXT PRIMARY KEY)")
        try db.executeUpdate("INSERT INTO attachment (key) VALUES ('x')")
        let text = message { try db.executeUpdate("INSERT INTO attachment (key) VALUES ('x')") }
        check(text.contains("UNIQUE constraint failed: attachment.key"))
    }

    @Test func `an error without a reason is not taken for damage`() throws {
        try db.executeUpdate("CREATE VIRTUAL TABLE f USING fts5 (a)")
        db.close()
        try db.open(with: TemporaryDatabase.key)
        let error = storageError { try db.executeUpdate("INSERT INTO f (f) VALUES ('nonsense')") }
        check(error?.code, equals: 1)
        check((error as (any Error)?)?.localizedDescription, equals: error?.description)
    }

    @Test func `a lock on an attached file is not taken for damage`() throws {
        let other = try TemporaryDatabase()
        let rival = try other.openStore { $0.journalMode = .delete }
        try rival.executeStatements("CREATE TABLE u (a); INSERT INTO u VALUES (1)")
        try db.executeStatements(
            "CREATE TABLE t (a); INSERT INTO t VALUES (zeroblob(100000)), (zeroblob(100000))")
        let key = TemporaryDatabase.key.map { String(format: "%02x", $0) }.joined()
        db.close()
        let busy = try database.openStore { $0.busyTimeout = .zero }
        try busy.executeUpdate("ATTACH ? AS o KEY ?", values: [other.path, "x'\(key)'"])
        try rival.beginExclusiveTransaction()
        try check(busy.int("SELECT sum(length(a)) FROM t"), equals: 200_000)
        try rival.rollback()
    }

    @Test func `the error for a wrong key says so and contains neither key`() throws {
        db.close()
        for text in [
            message { try db.open(with: "wrong horse battery staple") },
            message { try db.open(with: Data(repeating: 0x41, count: 32)) },
        ] {
            check(text.contains("wrong key"))
            check(!text.contains("horse") && !text.contains("4141") && !text.contains("AAAA"))
        }
    }

    @Test func `every case has a description that says what to do`() {
        check("\(SecureStorageError.closed)".contains("open(with:)"))
        check(
            "\(SecureStorageError.openFailed(code: 14, message: "m"))",
            equals: "open failed: m (14)")
        check("\(SecureStorageError.backingStoreError(code: 1, message: "m"))", equals: "m (1)")
        check("\(SecureStorageError.authenticationFailed(message: "m"))".contains("m"))
        check("\(SecureStorageError.notEncrypted(message: "m"))".contains("m"))
        check(
            "\(SecureStorageError.legacyFormat(version: 3, message: "m"))",
            equals: "SQLCipher 3 format: m")
        check(
            "\(SecureStorageError.encryptionKeyChangeFailed(code: 5, message: "m"))".contains(
                "m (5)"))
        check(!"\(SecureStorageError.typeConversionFailed)".isEmpty)
    }
}

struct SQLTextTests {
    @Test(arguments: [
        (
            "fts5: syntax error near \"pass\"", "MATCH ?", "MATCH 'pass word'",
            "fts5: syntax error near \"…\""
        ),
        ("no such column: pass", "MATCH ?", "MATCH 'pass:'", "no such column: …"),
        ("failed: u.name", "u(name) ?", "u(name) 'x'", "failed: u.name"),
        ("unknown: p@ss!word", "f(?)", "f('p@ss!word')", "unknown: …"),
        ("unknown: 🗝️", "f(?)", "f('🗝️')", "unknown: …"),
        ("unknown: SECRETtail", "f(? || 'tail')", "f('secret' || 'tail')", "unknown: …"),
        ("unknown: secret", "f(?)", "f(x'534543524554')", "unknown: …"),
        ("unknown: 534543", "f(?)", "f(x'534543')", "unknown: …"),
        ("no such table: a", "f(?)", "f('notable')", "no such table: a"),
        ("", "a", "b", ""),
    ])
    func `words that come from values only are replaced`(
        _ message: String, _ sql: String, _ expanded: String, _ expected: String
    ) {
        check(SQLText.redact(message, sql: sql, expanded: expanded), equals: expected)
    }

    @Test func `an identifier is quoted`() {
        check(SQLText.identifier("a\"b"), equals: "\"a\"\"b\"")
    }
}
