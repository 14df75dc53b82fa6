import Foundation
import SecureStorage
import TestSupport
import Testing

struct ExportTests {
    let workspace: Workspace

    init() throws { workspace = try Workspace() }

    private static let schema = """
        CREATE TABLE t (a INTEGER PRIMARY KEY AUTOINCREMENT, b TEXT, c REAL, d BLOB, e, g AS (a * 2));
        INSERT INTO t (b, c, d, e) VALUES
            ('plain', 1.5, x'00ff10', NULL), ('it''s "q"', 1e999, x'', 'two' || char(10) || 'lines'),
            ('nul' || char(0) || 'x', -1e999, zeroblob(3), 'cr' || char(13, 10)),
            ('', 0.1 + 0.2, NULL, 9223372036854775807),
            (CAST(x'ff41' AS TEXT), 1e300, NULL, -9223372036854775808),
            ('日本', 3.0, x'41', 5e-324), (char(27) || '[31m', 1.7976931348623157e308, 1, 2.0);
        CREATE INDEX ti ON t (b);
        CREATE TABLE "odd ""name" ("c ""1" TEXT, [c;2]);
        INSERT INTO "odd ""name" VALUES (1, 2);
        CREATE TABLE wr (k TEXT PRIMARY KEY, v) WITHOUT ROWID;
        INSERT INTO wr VALUES ('a', 1), ('b', NULL);
        CREATE VIEW v AS SELECT a, b FROM t;
        CREATE TABLE log (m);
        CREATE TRIGGER tr AFTER INSERT ON t BEGIN INSERT INTO log VALUES ('x;' || new.a); END;
        DELETE FROM t WHERE a = 7;
        PRAGMA user_version = 7;
        PRAGMA application_id = -5;
        """

    /// Queries with the same result on both sides, each of one column, which all shells print
    /// alike.
    private static let facts = """
        SELECT a || ' ' || hex(b) || ' ' || typeof(b) || ' ' || g FROM t;
        SELECT a || ' ' || typeof(c) || (c = 0.1 + 0.2) || (c > 1e308) || (c < -1e308) FROM t;
        SELECT a || ' ' || typeof(d) || hex(d) || ' ' || typeof(e) || ifnull(hex(e), '') FROM t;
        SELECT a || ' ' || e FROM t WHERE typeof(e) = 'integer';
        SELECT "c ""1" || [c;2] FROM "odd ""name"; SELECT k || typeof(v) FROM wr; SELECT count(*) FROM v;
        SELECT seq FROM sqlite_sequence;
        SELECT type || ' ' || hex(name) FROM sqlite_schema WHERE name NOT LIKE 'sqlite%' ORDER BY name;
        INSERT INTO t (b) VALUES ('new'); SELECT m FROM log; SELECT max(a) FROM t;
        PRAGMA user_version; PRAGMA application_id; PRAGMA integrity_check;
        """

    private static let shellIsThere = FileManager.default.isExecutableFile(
        atPath: "/usr/bin/sqlite3")

    @Test(.enabled(if: shellIsThere))
    func `the sqlite3 shell reads a dump back, value by value`() throws {
        try workspace.fill("a.db", Self.schema)
        try workspace.write(Self.facts, to: "facts.sql")
        let program = try workspace.shell(
            """
            securestorage export a.db --format sql --key-file key --raw-key --output a.sql
            sqlite3 -bail plain.db < a.sql && sqlite3 plain.db < facts.sql
            """)
        check(program.status == 0 && program.errors == "")
        check(program.lines.first, equals: "exported 10 rows to a.sql")
        let here = try workspace.run(
            "shell", "a.db", input: ".headers off\n.mode csv\n" + Self.facts)
        // The acknowledgement of the INSERT goes to standard error.
        let expected = here.text.split(separator: "\r\n").map { String($0) }
        check(program.lines.dropFirst() == expected[...] && expected.count > 30)
        check(expected.contains("x;8") && expected.last == "ok")
    }

    @Test func `importing a dump restores the contents`() throws {
        try workspace.fill("a.db", Self.schema)
        try check(
            workspace.run("export", "a.db", "--output", "a.sql").text,
            equals: "exported 10 rows to a.sql\n")
        let imported = try workspace.run("import", "b.db", "a.sql")
        check(imported.status, equals: 0, "\(imported.errors)")
        let before = try workspace.run("shell", "a.db", input: ".mode csv\n" + Self.facts)
        let after = try workspace.run("shell", "b.db", input: ".mode csv\n" + Self.facts)
        check(before.output == after.output && before.status == 0 && after.status == 0)
        check(before.text.contains("x;8") && before.text.contains("\nok\r\n"))
    }

    @Test(.enabled(if: shellIsThere))
    func `virtual tables are dumped as the sqlite3 shell dumps them`() throws {
        try workspace.fill(
            "a.db",
            """
            CREATE VIRTUAL TABLE f USING fts5(body);
            INSERT INTO f VALUES ('hello world'), ('other words');
            CREATE VIRTUAL TABLE r USING rtree(id, x0, x1);
            INSERT INTO r VALUES (1, 0.5, 2.5);
            """)
        let program = try workspace.shell(
            """
            securestorage export a.db --format sql --key-file key --raw-key | sqlite3 -bail plain.db
            sqlite3 plain.db "SELECT body FROM f('hello'); SELECT * FROM r WHERE x0 < 1; \
                INSERT INTO f VALUES ('more'); PRAGMA integrity_check"
            """)
        check(program.lines, equals: ["hello world", "1|0.5|2.5", "ok"], "\(program.errors)")
    }

    @Test(.enabled(if: shellIsThere))
    func `a hostile schema does not become shell commands`() throws {
        // SQLite runs the first statement of a schema's text and ignores the rest. The `sqlcipher`
        // shell allows writing to the schema.
        try workspace.fill("a.db", "CREATE TABLE t (a);")
        let program = try workspace.shell(
            """
            sqlcipher a.db <<'END'
            PRAGMA key = "x'\(Workspace.rawKey)'";
            .dbconfig defensive off
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET sql = 'CREATE TABLE t (a);' || char(10) || '.shell touch owned';
            END
            securestorage export a.db --format sql --key-file key --raw-key | sqlite3 plain.db
            echo ${PIPESTATUS[0]}
            """)
        check(program.lines.last == "1" && !workspace.exists("owned"))
        check(program.errors.contains("not a single SQL statement"), "\(program.errors)")
    }

    @Test func `every number round-trips to the last bit`() throws {
        let store = try workspace.store("a.db")
        try store.executeUpdate("CREATE TABLE n (x REAL, hex TEXT)")
        try store.beginExclusiveTransaction()
        // SQLite reads the 21 digits of the first number as the number next to it.
        let count = ProcessInfo.processInfo.environment["SECURESTORAGE_NUMBERS"].flatMap { Int($0) }
        for index in 0..<(count ?? 2000) {
            let number = Double(
                bitPattern: index == 0 ? 0x3e76_82ee_fa51_ead1 : .random(in: .min ... .max))
            guard number.isFinite else { continue }
            try store.executeUpdate(
                "INSERT INTO n VALUES (?, ?)",
                values: [number, String(number.bitPattern, radix: 16)])
        }
        try store.commit()
        store.close()
        try require(workspace.run("export", "a.db", "--output", "a.sql").status == 0)
        try require(workspace.run("import", "b.db", "a.sql").status == 0)
        let copy = try workspace.store("b.db")
        let rows = try copy.executeQuery("SELECT x, hex FROM n")
        var found = 0
        while try rows.next() {
            let number = try require(rows.double(forColumnIndex: 0))
            check(String(number.bitPattern, radix: 16), equals: rows.string(forColumnIndex: 1))
            found += 1
        }
        check(found > 1900)
    }

    @Test func `the output file appears when it is complete, with mode 0600`() throws {
        try workspace.fill("a.db", "CREATE TABLE t (a); INSERT INTO t VALUES (1);")
        let program = try workspace.shell(
            "umask 0; securestorage export a.db --table t --output t.csv --key-file key --raw-key")
        check(program.status, equals: 0)
        let mode = try FileManager.default.attributesOfItem(atPath: workspace.file("t.csv"))
        check(mode[.posixPermissions] as? Int, equals: 0o600)
        try check(workspace.read("t.csv"), equals: Data("a\r\n1\r\n".utf8))
        try check(workspace.names, equals: ["a.db", "key", "t.csv"])
    }

    @Test func `an existing file is replaced only with --force`() throws {
        try workspace.fill("a.db", "CREATE TABLE t (a); INSERT INTO t VALUES (1);")
        try workspace.write("old", to: "t.csv")
        let refused = try workspace.run("export", "a.db", "--table", "t", "--output", "t.csv")
        check(refused.status == 12 && refused.errors.contains("hint: use --force to replace it"))
        try check(workspace.read("t.csv"), equals: Data("old".utf8))
        let failed = try workspace.run(
            "export", "a.db", "--query", "SELECT abs(-9223372036854775807 - 1)", "--output",
            "t.csv", "--force")
        check(failed.status, equals: 8)
        try check(workspace.read("t.csv"), equals: Data("old".utf8))
        try check(workspace.names, equals: ["a.db", "key", "t.csv"])
        let forced = try workspace.run(
            "export", "a.db", "--table", "T", "--output", "t.csv", "--force")
        check(forced.status, equals: 0)
        try check(workspace.read("t.csv"), equals: Data("a\r\n1\r\n".utf8))
    }

    @Test func `a signal leaves no partial file`() throws {
        try workspace.fill("a.db", "CREATE TABLE t (a);")
        let program = try workspace.shell(
            """
            securestorage export a.db --output x.csv --key-file key --raw-key --query \
                "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c" &
            until ls -A | grep -q '^[.]securestorage' || ls -l /proc/$!/fd | grep -q deleted
            do sleep 0.05; done
            kill -TERM $!
            wait $!
            echo $?
            """)
        check(program.lines, equals: ["143"])
        try check(workspace.names.filter { $0.contains("csv") || $0.contains("export") }.isEmpty)
    }

    @Test func `exported JSON lines and CSV can be imported again`() throws {
        try workspace.fill("a.db", Self.schema + "; DELETE FROM t WHERE a = 5;")
        for (ending, options) in [("jsonl", []), ("csv", ["--empty-as-null"])] {
            let output = "wr.\(ending)"
            try require(
                workspace.run("export", "a.db", "--table", "wr", "--output", output).status == 0
            )
            let arguments =
                ["import", "\(ending).db", output] + options
                + ["--key-file", "key", "--raw-key"]
            let program = try Program(arguments, directory: workspace.path)
            check(program.status, equals: 0, "\(program.errors)")
            let rows = try workspace.run(
                "query", "\(ending).db", "--csv", "SELECT k, v IS NULL FROM wr ORDER BY k")
            check(rows.text, equals: "k,v IS NULL\r\na,0\r\nb,1\r\n")
        }
    }

    @Test func `a missing table is an error before any file is created`() throws {
        try workspace.fill("a.db", "CREATE TABLE t (a);")
        for format in ["csv", "sql", "json-lines"] {
            let program = try workspace.run(
                "export", "a.db", "--table", "none", "--format", format, "--output", "x")
            check(program.status == 11 && program.errors.contains("no such table: \"none\""))
        }
        try check(workspace.names, equals: ["a.db", "key"])
    }

    @Test func `one table is dumped with its indexes and triggers`() throws {
        try workspace.fill("a.db", Self.schema)
        let program = try workspace.run("export", "a.db", "--format", "sql", "--table", "t")
        check(
            program.text.contains("CREATE TRIGGER tr") && program.text.contains("CREATE INDEX ti"))
        check(!program.text.contains("CREATE TABLE wr"))
    }

    @Test func `a full disk is an error with its own status`() throws {
        try workspace.fill("a.db", "CREATE TABLE t (a); INSERT INTO t VALUES (zeroblob(100000));")
        guard FileManager.default.fileExists(atPath: "/dev/full") else { return }
        let program = try workspace.shell(
            "securestorage export a.db --table t --key-file key --raw-key > /dev/full")
        check(program.status == 14 && program.errors.contains("cannot write: No space left"))
    }
}
