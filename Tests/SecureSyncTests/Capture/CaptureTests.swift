import Foundation
import SecureStorage
import SecureSync
import Testing
import TestSupport

/// Which tables can be synced, and whether their triggers are there.
struct CaptureTests {
    private static let note = "CREATE TABLE note (id TEXT PRIMARY KEY NOT NULL, a, b);"

    @Test(arguments: [
        ("SELECT 1", "there is no such table"),
        ("CREATE TABLE t (a, b)", "no PRIMARY KEY"),
        ("CREATE TABLE t (id INTEGER PRIMARY KEY, a)", "INTEGER PRIMARY KEY"),
        ("CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT)", "AUTOINCREMENT"),
        ("CREATE VIEW t AS SELECT 1 AS a", "view"),
        ("CREATE VIRTUAL TABLE t USING fts5 (a)", "virtual"),
        ("CREATE TEMP TABLE t (id TEXT PRIMARY KEY)", "temporary"),
        ("CREATE TABLE t (id TEXT COLLATE NOCASE PRIMARY KEY)", "NOCASE"),
        ("CREATE TABLE t (a, b COLLATE RTRIM, PRIMARY KEY (a, b)) WITHOUT ROWID", "RTRIM"),
        ("CREATE TABLE t (id TEXT PRIMARY KEY, a)", "\"id\" of its key may be NULL"),
        ("CREATE TABLE t (a TEXT NOT NULL, b TEXT, PRIMARY KEY (a, b))", "\"b\" of its key"),
        (
            "CREATE TABLE t (id TEXT PRIMARY KEY, a); CREATE UNIQUE INDEX i ON t (lower(a))",
            "expression"
        ),
        (
            "CREATE TABLE t (id TEXT PRIMARY KEY, a); CREATE UNIQUE INDEX i ON t (a) WHERE a > 1",
            "condition"
        ),
        (
            "CREATE TABLE t (id TEXT PRIMARY KEY, a, up AS (upper(a)) UNIQUE)",
            "generated column \"up\""
        ),
        (
            """
            CREATE TABLE t (id TEXT PRIMARY KEY, a, up AS (a + 1) STORED);
            CREATE UNIQUE INDEX i ON t (a, up)
            """, "generated column \"up\""
        ),
        ("CREATE TABLE t (id TEXT PRIMARY KEY, a REFERENCES u ON DELETE SET NULL)", "SET NULL"),
        (
            "CREATE TABLE t (id TEXT PRIMARY KEY, a REFERENCES u ON DELETE SET DEFAULT)",
            "SET DEFAULT"
        ),
        ("CREATE TABLE t (id TEXT PRIMARY KEY, a REFERENCES u ON DELETE RESTRICT)", "RESTRICT"),
        ("CREATE TABLE t (id TEXT PRIMARY KEY, a REFERENCES u ON UPDATE SET NULL)", "SET NULL"),
        ("CREATE TABLE t (id TEXT PRIMARY KEY, a REFERENCES u)", "not synced"),
        (
            "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL); CREATE TABLE u (id, a REFERENCES T)",
            "\"u\", which is not synced, refers to it"
        ),
    ])
    func `a table that cannot be synced is refused with the reason`(
        schema: String, reason: String
    ) throws {
        let error = #expect(throws: SyncError.self) { try CapturedFile(schema + ";", tables: "t") }
        guard case .unsuitableTable("t", let text) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        check(text.contains(reason))
    }

    @Test func `a unique column with a collation of the app is refused, with SQLite's own not`()
        throws
    {
        for collation in ["folded", "NOCASE", "rtrim", "BINARY"] {
            let home = try TemporaryDatabase()
            let db = home.store()
            try db.makeCollation(named: "folded") { $0.lowercased().compare($1.lowercased()) }
            try db.open(with: TemporaryDatabase.key)
            defer { db.close() }
            try db.executeStatements(
                "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a, b UNIQUE COLLATE \(collation))")
            var tables = SyncedTables()
            tables.add("t")
            func install() throws {
                try db.beginImmediateTransaction()
                defer { try? db.rollback() }
                try Capture(tables).install(in: db)
            }
            guard collation == "folded" else {
                try install()
                continue
            }
            let error = #expect(throws: SyncError.self) { try install() }
            guard case .unsuitableTable("t", let reason) = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            check(reason.contains("collation folded"))
        }
    }

    @Test func `sets of columns are checked`() throws {
        for together in [[["a", "id"]], [["a", "none"]], [["a", "b"], ["B"]]] {
            #expect(throws: SyncError.self) {
                try CapturedFile(Self.note) { $0.add("note", together: together) }
            }
        }
    }

    @Test func `a refusal changes nothing`() throws {
        let file = try CapturedFile(Self.note, tables: "note")
        try file.run("CREATE TABLE bad (a)")
        let before = try file.db.strings("SELECT sql FROM sqlite_schema")
        var tables = file.capture.tables
        tables.add("bad")
        #expect(throws: SyncError.self) {
            try file.write { try Capture(tables).install(in: file.db) }
        }
        try check(file.db.strings("SELECT sql FROM sqlite_schema"), equals: before)
    }

    @Test func `a key's words in comments and names mean nothing`() throws {
        _ = try CapturedFile(
            """
            CREATE TABLE note (id TEXT PRIMARY KEY NOT NULL, "AUTOINCREMENT" /* AUTOINCREMENT */,
                [CHECK] TEXT DEFAULT 'it''s AUTOINCREMENT' -- CHECK
            );
            """, tables: "note")
    }

    @Test func `shapes say what the schema says`() throws {
        let file = try CapturedFile(
            """
            CREATE TABLE list (id BLOB PRIMARY KEY NOT NULL, name TEXT UNIQUE COLLATE NOCASE) STRICT;
            CREATE TABLE Item (n INT NOT NULL,
                list BLOB NOT NULL REFERENCES LIST ON DELETE CASCADE, text TEXT,
                up AS (upper(text)), CHECK (n > 0), PRIMARY KEY (list, n));
            """, tables: "list", "item")
        let shapes = try file.capture.shapes(in: file.db)
        check(shapes.map(\.name), equals: ["list", "Item"])
        check(shapes[0].uniques, equals: [.init(columns: ["name"], collations: ["NOCASE"])])
        check(shapes[0].mayRefuseRows)
        check(shapes[1].key, equals: ["list", "n"])
        check(shapes[1].groups, equals: [["text"]])
        check(shapes[1].uniques, equals: [])
        check(
            shapes[1].foreignKeys,
            equals: [
                .init(columns: ["list"], parent: "list", parentColumns: ["id"], onDelete: "CASCADE")
            ])
        check(shapes[1].mayRefuseRows)
        check(shapes[1].columnNumbers, equals: ["text": 0])
    }

    @Test func `to install again changes nothing`() throws {
        let file = try CapturedFile(Self.note, tables: "note")
        let before = try file.db.int("PRAGMA schema_version")
        try file.run("INSERT INTO note VALUES ('x', 1, 1)")
        try file.install()
        try check(file.db.int("PRAGMA schema_version"), equals: before)
        try check(file.capture.member(in: file.db), equals: file.member)
        try check(file.captured(), equals: ["+ note[x] a=1 b=1"])
    }

    @Test(arguments: [
        "DROP TRIGGER securestorage_sync_1_insert",
        "DROP TRIGGER securestorage_sync_1_compact",
        "ALTER TABLE note ADD COLUMN c DEFAULT 5",
        "ALTER TABLE note RENAME COLUMN b TO c",
        "CREATE UNIQUE INDEX i ON note (a)",
        """
        CREATE TABLE new (id TEXT PRIMARY KEY NOT NULL, a, b);
        INSERT INTO new SELECT * FROM note; DROP TABLE note; ALTER TABLE new RENAME TO note;
        """,
        """
        DROP TRIGGER securestorage_sync_1_delete;
        CREATE TRIGGER securestorage_sync_1_delete AFTER DELETE ON note BEGIN SELECT 1; END;
        """,
    ])
    func `triggers that are not those of the table are found, and made again`(_ change: String)
        throws
    {
        let file = try CapturedFile(Self.note, tables: "note")
        try file.run("INSERT INTO note VALUES ('x', 1, 1)")
        _ = try file.timestamped()
        let born = try require(file.clock(of: .text("x")))
        try file.capture.verify(in: file.db)
        try file.run(change)
        #expect(throws: SyncError.captureWasOff("note")) { try file.capture.verify(in: file.db) }
        try file.install()
        try file.capture.verify(in: file.db)
        try check(file.clock(of: .text("x")), equals: born)
        try file.run("UPDATE note SET a = 9")
        try check(file.captured(), equals: ["~ note[x] a=9"])
        try file.run("DELETE FROM note")
        try check(file.captured(), equals: ["- note[x]"])
    }

    @Test func `a file without triggers is found`() throws {
        let file = try CapturedFile(Self.note, tables: "note")
        let other = try TemporaryDatabase()
        let db = try other.openStore()
        defer { db.close() }
        try db.executeStatements(Self.note)
        #expect(throws: SyncError.captureWasOff("note")) { try file.capture.verify(in: db) }
        #expect(throws: SyncError.captureWasOff("note")) { try file.capture.shapes(in: db) }
    }

    @Test func `a column can be added, renamed and dropped in a migration`() throws {
        let file = try CapturedFile(Self.note, tables: "note")
        try file.run("INSERT INTO note VALUES ('x', 1, 1)")
        try file.write {
            _ = try file.capture.timestamp(in: file.db)
            try SyncedTables.removeTriggers(in: file.db)
            try file.run("ALTER TABLE note DROP COLUMN a; ALTER TABLE note ADD COLUMN c")
            try file.capture.install(in: file.db)
        }
        // The number of a dropped column is not given to another.
        try check(file.capture.shapes(in: file.db)[0].columnNumbers, equals: ["b": 1, "c": 2])
        try file.run("UPDATE note SET c = 3")
        try check(file.captured(), equals: ["~ note[x] c=3"])
    }

    @Test func `marks survive a new column`() throws {
        let file = try CapturedFile(Self.note, tables: "note")
        try file.run("INSERT INTO note VALUES ('x', 1, 1)")
        _ = try file.timestamped()
        try file.run("UPDATE note SET b = 2; ALTER TABLE note ADD COLUMN c")
        try file.install()
        try check(file.captured(), equals: ["~ note[x] b=2"])
    }

    @Test func `a table that is no longer declared is no longer captured`() throws {
        let file = try CapturedFile(
            Self.note + "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL);", tables: "note", "t")
        var tables = SyncedTables()
        tables.add("t")
        try file.write { try Capture(tables).install(in: file.db) }
        try file.run("INSERT INTO note VALUES ('x', 1, 1); INSERT INTO t VALUES ('y')")
        try check(file.db.int("SELECT count(*) FROM securestorage_sync_mark_1"), equals: 0)
        try check(file.db.int("SELECT count(*) FROM securestorage_sync_mark_2"), equals: 1)
    }

    @Test func `a key of other columns begins with new clocks`() throws {
        let file = try CapturedFile(Self.note, tables: "note")
        try file.run("INSERT INTO note VALUES ('x', 1, 1)")
        _ = try file.timestamped()
        try file.run(
            "DROP TABLE note; CREATE TABLE note (id, a, b, PRIMARY KEY (id, a)) WITHOUT ROWID")
        try file.install()
        try check(file.clock(of: .text("x"), .integer(1)) == nil)
        try file.run("INSERT INTO note VALUES ('x', 1, 1)")
        try check(file.captured(), equals: ["+ note[x,1] b=1"])
    }

    @Test func `a format of a newer version is refused`() throws {
        let file = try CapturedFile(Self.note, tables: "note")
        try file.run("UPDATE securestorage_sync_state SET format = 99")
        #expect(throws: SyncError.newerFormat("securestorage_sync_state")) { try file.install() }
    }

    @Test func `members keep their numbers`() throws {
        let file = try CapturedFile(Self.note, tables: "note")
        try file.write {
            try file.capture.setMember(.numbered(7), in: file.db)
            try file.capture.setMember(.numbered(1), in: file.db)
        }
        try check(file.capture.member(in: file.db), equals: .numbered(1))
        try check(file.db.int("SELECT count(*) FROM securestorage_sync_member"), equals: 2)
        try check(MemberNumbers(in: file.db).number(of: .numbered(7)), equals: 2)
    }

    @Test func `bookkeeping is as secret as the rest`() throws {
        let file = try CapturedFile(Self.note, tables: "note")
        try file.run("INSERT INTO note VALUES ('canary-5b1e', 1, 1)")
        file.db.close()
        let bytes = try Data(contentsOf: URL(fileURLWithPath: file.home.path))
        check(bytes.range(of: Data("canary-5b1e".utf8)) == nil)
        check(bytes.range(of: Data("securestorage_sync".utf8)) == nil)
    }

    @Test func `a text that is not UTF-8 is refused with its table where all rows have to travel`()
        throws
    {
        let file = try CapturedFile(
            "CREATE TABLE note (id TEXT PRIMARY KEY NOT NULL, text)", tables: "note")
        let refusal = SyncError.unsuitableTable(
            "note", "a row has a TEXT that is not UTF-8, which cannot travel; store a BLOB instead")
        // One that was there before, for a snapshot.
        try file.write {
            try file.capture.withoutCapturing(in: file.db) {
                try file.run("INSERT INTO note VALUES ('a', CAST(x'61ff' AS TEXT))")
            }
        }
        #expect(throws: refusal) {
            try file.write { try file.capture.eachRow(in: file.db) { _ in } }
        }
    }
}
