import Foundation
import SecureStorage
import SecureSync
import Testing
import TestSupport

/// What triggers note of each way to write a row.
struct CaptureTriggersTests {
    private static let note = "CREATE TABLE note (id TEXT PRIMARY KEY NOT NULL, a, b TEXT);"

    @Test func `an insertion has all columns, an update those that changed, a deletion none`()
        throws
    {
        let file = try CapturedFile(Self.note, tables: "note")
        try file.run("INSERT INTO note VALUES ('x', 1, 'one'), ('y', 2, 'two'), ('z', 3, NULL)")
        try check(
            file.captured(),
            equals: [
                "+ note[x] a=1 b=one", "+ note[y] a=2 b=two", "+ note[z] a=3 b=null",
            ])
        try file.run("UPDATE note SET a = 5, b = b WHERE id = 'x'; DELETE FROM note WHERE id = 'y'")
        try check(file.captured(), equals: ["- note[y]", "~ note[x] a=5"])
        try check(file.captured(), equals: [])
        try file.run("UPDATE note SET a = a, b = b")
        try check(file.db.int("SELECT count(*) FROM securestorage_sync_mark_1"), equals: 0)
    }

    @Test func `a value that is equal only to SQLite is a change`() throws {
        let file = try CapturedFile(
            "CREATE TABLE note (id TEXT PRIMARY KEY NOT NULL, a, b TEXT COLLATE NOCASE);",
            tables: "note")
        try file.run("INSERT INTO note VALUES ('x', 1, 'one')")
        _ = try file.captured()
        try file.run("UPDATE note SET a = 1.0")
        try check(file.captured(), equals: ["~ note[x] a=1.0"])
        try file.run("UPDATE note SET a = '1'")
        try check(file.captured(), equals: ["~ note[x] a=1"])
        try file.run("UPDATE note SET b = 'ONE'")
        try check(file.captured(), equals: ["~ note[x] b=ONE"])
        try file.run("UPDATE note SET a = NULL")
        try check(file.captured(), equals: ["~ note[x] a=null"])
    }

    @Test func `a changed key ends one row and begins another`() throws {
        let file = try CapturedFile(
            "CREATE TABLE pair (a TEXT, b INTEGER, v, PRIMARY KEY (b, a)) WITHOUT ROWID;",
            tables: "pair")
        try file.run("INSERT INTO pair VALUES ('x', 1, 'v')")
        try check(file.captured(), equals: ["+ pair[1,x] v=v"])
        try file.run("UPDATE pair SET a = 'y', v = 'w'")
        try check(file.captured(), equals: ["+ pair[1,y] v=w", "- pair[1,x]"])
    }

    @Test(arguments: [false, true])
    func `rows that a REPLACE removes are captured`(recursive: Bool) throws {
        let file = try CapturedFile(
            """
            CREATE TABLE user (id TEXT PRIMARY KEY NOT NULL, name TEXT UNIQUE COLLATE NOCASE,
                a, b, UNIQUE (a, b));
            """, tables: "user")
        try file.run("PRAGMA recursive_triggers = \(recursive)")
        try file.run(
            "INSERT INTO user VALUES ('1', 'ann', 1, 1), ('2', 'bob', 2, 2), ('3', 'cy', 3, 3)")
        _ = try file.captured()
        try file.run("INSERT OR REPLACE INTO user VALUES ('4', 'ANN', 2, 2)")
        try check(
            file.captured(), equals: ["+ user[4] a=2 b=2 name=ANN", "- user[1]", "- user[2]"])
        try file.run("UPDATE OR REPLACE user SET name = 'Cy' WHERE id = '4'")
        try check(file.captured(), equals: ["- user[3]", "~ user[4] name=Cy"])
        try file.run("REPLACE INTO user VALUES ('4', 'dan', NULL, 2)")
        try check(file.captured(), equals: ["+ user[4] a=null b=2 name=dan"])
        try file.run("INSERT INTO user VALUES ('5', 'eve', 5, 5)")
        _ = try file.captured()
        try file.run("UPDATE OR REPLACE user SET id = '5' WHERE id = '4'")
        try check(file.captured(), equals: ["+ user[5] a=null b=2 name=dan", "- user[4]"])
        try check(file.db.strings("SELECT id FROM user"), equals: ["5"])
    }

    @Test func `a row that was not replaced after all is not captured`() throws {
        let file = try CapturedFile(
            "CREATE TABLE user (id TEXT PRIMARY KEY NOT NULL, name TEXT UNIQUE);", tables: "user")
        try file.run("INSERT INTO user VALUES ('1', 'ann')")
        _ = try file.captured()
        try file.run("INSERT OR IGNORE INTO user VALUES ('2', 'ann')")
        #expect(throws: SecureStorageError.self) {
            try file.run("INSERT INTO user VALUES ('2', 'ann')")
        }
        try check(file.captured(), equals: [])
        try file.run(
            "INSERT INTO user VALUES ('2', 'ann') ON CONFLICT (name) DO UPDATE SET name = 'eve'")
        try check(file.captured(), equals: ["~ user[1] name=eve"])
    }

    @Test func `an upsert is an insertion or an update`() throws {
        let file = try CapturedFile(Self.note, tables: "note")
        let upsert =
            "INSERT INTO note VALUES ('x', 1, 'b') ON CONFLICT (id) DO UPDATE SET a = a + 1"
        try file.run(upsert)
        try check(file.captured(), equals: ["+ note[x] a=1 b=b"])
        try file.run(upsert)
        try check(file.captured(), equals: ["~ note[x] a=2"])
    }

    @Test func `cascades are captured`() throws {
        let file = try CapturedFile(
            """
            CREATE TABLE list (id TEXT PRIMARY KEY NOT NULL);
            CREATE TABLE item (id TEXT PRIMARY KEY NOT NULL,
                list TEXT REFERENCES list ON DELETE CASCADE ON UPDATE CASCADE);
            """, tables: "list", "item")
        try file.run("INSERT INTO list VALUES ('l'); INSERT INTO item VALUES ('i', 'l')")
        try check(file.captured(), equals: ["+ item[i] list=l", "+ list[l]"])
        try file.run("UPDATE list SET id = 'm'")
        try check(file.captured(), equals: ["+ list[m]", "- list[l]", "~ item[i] list=m"])
        try file.run("DELETE FROM list")
        try check(file.captured(), equals: ["- item[i]", "- list[m]"])
    }

    @Test func `a deletion of all rows is captured`() throws {
        let file = try CapturedFile(Self.note, tables: "note")
        try file.run("INSERT INTO note (id) VALUES ('x'), ('y')")
        _ = try file.captured()
        try file.run("DELETE FROM note")
        try check(file.captured(), equals: ["- note[x]", "- note[y]"])
    }

    @Test func `the caller's counts and row ids are its own`() throws {
        let file = try CapturedFile(
            "CREATE TABLE user (id TEXT PRIMARY KEY NOT NULL, name TEXT UNIQUE);", tables: "user")
        try file.run("INSERT INTO user VALUES ('1', 'a'), ('2', 'b')")
        try file.run("DELETE FROM securestorage_sync_mark_1")
        try file.db.executeUpdate("INSERT OR REPLACE INTO user VALUES ('3', 'a')")
        try check(file.db.changedRowCount(), equals: 1)
        try check(file.db.int("SELECT changes()"), equals: 1)
        try check(file.db.lastInsertRowId(), equals: 3)
        try file.db.executeUpdate("UPDATE user SET name = name || '!'")
        try check(file.db.changedRowCount(), equals: 2)
        try check(file.db.lastInsertRowId(), equals: 3)
        try file.db.executeUpdate("DELETE FROM user")
        try check(file.db.changedRowCount(), equals: 2)
    }

    @Test func `a rollback takes marks back`() throws {
        let file = try CapturedFile(Self.note, tables: "note")
        try file.run("BEGIN; INSERT INTO note (id) VALUES ('x'); ROLLBACK")
        try check(file.captured(), equals: [])
    }

    @Test func `writes of another connection are captured, also with strict settings`() throws {
        let file = try CapturedFile(Self.note, tables: "note")
        let other = try file.stranger()
        defer { other.close() }
        try other.executeStatements(
            "PRAGMA trusted_schema = OFF; INSERT INTO note (id) VALUES ('x')")
        try check(file.captured(), equals: ["+ note[x] a=null b=null"])
    }

    @Test(.enabled(if: ChildProcess.find("sqlcipher") != nil))
    func `writes of the sqlcipher shell are captured`() throws {
        let file = try CapturedFile(Self.note, tables: "note")
        let key = TemporaryDatabase.key.map { String(format: "%02x", $0) }.joined()
        let shell = try ChildProcess(
            "sqlcipher", ["-batch", "-bail", file.home.path],
            input: Data(
                """
                PRAGMA key = "x'\(key)'";
                PRAGMA trusted_schema = OFF;
                .dbconfig dqs_dml off
                .dbconfig dqs_ddl off
                INSERT INTO note VALUES ('x', 1, 'b');
                INSERT OR REPLACE INTO note VALUES ('y', 1, 'b');
                UPDATE note SET a = 2 WHERE id = 'y';
                """.utf8))
        check(shell.status, equals: 0, "\(shell.errors)")
        try check(file.captured(), equals: ["+ note[x] a=1 b=b", "+ note[y] a=2 b=b"])
    }

    @Test func `columns beyond the forty-eighth have bits of their own`() throws {
        let names = (0..<200).map { "c\($0)" }
        let file = try CapturedFile(
            "CREATE TABLE wide (id TEXT PRIMARY KEY NOT NULL, \(names.joined(separator: ", ")));",
            tables: "wide")
        try file.run("INSERT INTO wide (id) VALUES ('x')")
        _ = try file.captured()
        try file.run("UPDATE wide SET c0 = 1, c47 = 2, c48 = 3, c199 = 4")
        try check(file.captured(), equals: ["~ wide[x] c0=1 c199=4 c47=2 c48=3"])
    }

    @Test func `names with quotation marks and keywords work`() throws {
        let file = try CapturedFile(
            #"CREATE TABLE "a ""table" ("the 'key" TEXT PRIMARY KEY NOT NULL, "select" UNIQUE, "é""x");"#,
            tables: #"a "table"#)
        try file.run(#"INSERT INTO "a ""table" VALUES ('k', 1, 2)"#)
        try file.run(#"UPDATE "a ""table" SET "é""x" = 3"#)
        try check(file.captured(), equals: [#"+ a "table[k] select=1 é"x=3"#])
    }

    @Test func `generated columns do not travel`() throws {
        let file = try CapturedFile(
            """
            CREATE TABLE note (id TEXT PRIMARY KEY NOT NULL, a, b AS (a + 1) STORED,
                c AS (a + 2));
            """, tables: "note")
        try file.run("INSERT INTO note (id, a) VALUES ('x', 1)")
        try check(file.captured(), equals: ["+ note[x] a=1"])
        try file.run("UPDATE note SET a = 2")
        try check(file.captured(), equals: ["~ note[x] a=2"])
    }

    @Test func `a random row id is a key, also under its other names`() throws {
        let file = try CapturedFile("CREATE TABLE note (id INTEGER PRIMARY KEY, a);") {
            $0.add("note", ids: .random)
        }
        try file.run("INSERT INTO note VALUES (7, 1)")
        try check(file.captured(), equals: ["+ note[7] a=1"])
        try file.run("UPDATE note SET rowid = 8")
        try check(file.captured(), equals: ["+ note[8] a=1", "- note[7]"])
    }

    @Test func `a row for which SQLite would count is refused where keys are random`() throws {
        let file = try CapturedFile(
            "CREATE TABLE note (id INTEGER PRIMARY KEY, a); INSERT INTO note VALUES (1, 1)"
        ) {
            $0.add("note", ids: .random)
        }
        for sql in ["INSERT INTO note (a) VALUES (2)", "INSERT INTO note VALUES (NULL, 2)"] {
            let error = #expect(throws: SecureStorageError.self) { try file.run(sql) }
            check(error?.description.contains("SyncedTables.randomID()"), equals: true)
        }
        // A row that was there keeps its number.
        try file.run("REPLACE INTO note VALUES (1, 2)")
        try file.run("INSERT INTO note VALUES (\(SyncedTables.randomID()), 3)")
        try check(file.db.int("SELECT count(*) FROM note"), equals: 2)
    }

    @Test func `the log of a row that is changed again and again stays short`() throws {
        let file = try CapturedFile(Self.note, tables: "note")
        try file.run("INSERT INTO note VALUES ('x', 0, 'b'), ('y', 0, 'b')")
        try file.write {
            for _ in 0..<3 {
                try file.run(
                    """
                    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000)
                    INSERT INTO note SELECT 'x', 0, 'b' FROM n WHERE true
                    ON CONFLICT (id) DO UPDATE SET a = a + 1
                    """)
            }
        }
        let count = try require(file.db.int("SELECT count(*) FROM securestorage_sync_mark_1"))
        check(count < 66000)
        try check(file.captured(), equals: ["+ note[x] a=120000 b=b", "+ note[y] a=0 b=b"])
    }
}
