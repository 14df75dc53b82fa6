import Foundation
import SecureStorage
import TestSupport
import Testing

struct ImportTests {
    let workspace: Workspace

    init() throws { workspace = try Workspace() }

    private func rows(_ sql: String) throws -> [String] { try workspace.rows("a.db", sql) }

    // MARK: - CSV

    @Test func `a CSV file becomes a table of texts`() throws {
        let csv =
            "\u{feff}name,\"size, in m\",\"say \"\"x\"\"\"\r\n"
            + "Ä,01.50,\"a\r\nb\"\"c\"\r\n\r\n\"\",,\" x \"\n日本,-1e3,last"
        try workspace.write(csv, to: "people.csv")
        let program = try workspace.run("import", "a.db", "people.csv")
        check(program.text, equals: "imported 3 rows into people\n", "\(program.errors)")
        check(program.status == 0 && program.errors == "")
        try check(
            rows(
                "SELECT quote(name), quote(\"size, in m\"), quote(\"say \"\"x\"\"\") FROM people"),
            equals: ["'Ä'|'01.50'|'a\r\nb\"c'", "''|''|' x '", "'日本'|'-1e3'|'last'"])
    }

    @Test func `declared types convert values, and empty fields are NULL on request`() throws {
        try workspace.fill("a.db", "CREATE TABLE t (i INTEGER, r REAL, s TEXT, x);")
        try workspace.write("1;2;3;4\n;;;\n\"\";\"\";\"\";\"\"\n", to: "t.csv")
        let program = try workspace.run(
            "import", "a.db", "t.csv", "--no-header", "--delimiter", ";", "--empty-as-null")
        check(program.status, equals: 0, "\(program.errors)")
        try check(
            rows("SELECT quote(i), quote(r), quote(s), quote(x) FROM t"),
            equals: ["1|2.0|'3'|'4'", "NULL|NULL|NULL|NULL", "''|''|''|''"])
    }

    @Test func `columns are matched by name, and tabs separate the fields of a TSV file`() throws {
        try workspace.fill(
            "a.db", "CREATE TABLE t (a, b DEFAULT 'd', g AS (a || b), c);")
        try workspace.write("c\ta\n1\t\"2\t\"\n", to: "x.tsv")
        try check(workspace.run("import", "a.db", "x.tsv", "--table", "t").status, equals: 0)
        try check(rows("SELECT a, b, c, g FROM t"), equals: ["2\t|d|1|2\td"])
        try workspace.write("p,q,r\n", to: "y.csv")
        try check(
            workspace.run("import", "a.db", "y.csv", "--table", "t", "--no-header").status,
            equals: 0)
        try check(rows("SELECT a, b, c FROM t WHERE a = 'p'"), equals: ["p|q|r"])
    }

    @Test func `one column, one line, no line`() throws {
        try workspace.write("a\n\n\"\"\nx\r", to: "one.csv")
        try check(workspace.run("import", "a.db", "one.csv", "--empty-as-null").status, equals: 0)
        try check(rows("SELECT quote(a) FROM one"), equals: ["NULL", "''", "'x'"])
        try workspace.write("a,b", to: "head.csv")
        try check(
            workspace.run("import", "a.db", "head.csv").text, equals: "imported 0 rows into head\n")
        try check(rows("SELECT count(*) FROM head"), equals: ["0"])
        try workspace.write("", to: "none.csv")
        try check(workspace.run("import", "a.db", "none.csv").status, equals: 16)
        try check(workspace.run("import", "a.db", "none.csv", "--no-header").status, equals: 0)
    }

    @Test(arguments: [
        ("a,b\n1,2\n3\n", 3, "1 field instead of 2"),
        ("a,b\n1,2,3\n", 2, "3 fields instead of 2"),
        ("a,b\n1,\"2\n\n", 2, "field 2 has no closing quote"),
        ("a,b\n\"1\n\n\",2\n\"1\"x,2\n", 5, "text follows the closing quote of field 1"),
    ])
    func `an error names the line, and nothing is imported`(
        _ csv: String, _ line: Int, _ reason: String
    ) throws {
        try workspace.fill("a.db", "CREATE TABLE other (a);")
        try workspace.write(csv, to: "t.csv")
        let program = try workspace.run("import", "a.db", "t.csv")
        check(program.status == 16 && program.text == "")
        check(program.errors.hasPrefix("securestorage: line \(line): "), "\(program.errors)")
        check(program.errors.contains(reason), "\(program.errors)")
        try check(rows("SELECT name FROM sqlite_schema"), equals: ["other"])
    }

    @Test func `bytes that are not UTF-8 are refused, and a violated constraint names its line`()
        throws
    {
        try workspace.write(Data("a\nx\n".utf8) + [0xe9, 0x0a], to: "latin.csv")
        let latin = try workspace.run("import", "a.db", "latin.csv")
        check(latin.status == 16 && latin.errors.contains("line 3: field 1 is not UTF-8"))
        check(!workspace.exists("a.db"), "the import left the file that it created")
        try workspace.fill("a.db", "CREATE TABLE t (a UNIQUE);")
        try workspace.write("a\nsecret\nsecret\n", to: "t.csv")
        let program = try workspace.run("import", "a.db", "t.csv")
        check(program.status == 8 && program.errors.contains("line 3: UNIQUE constraint failed"))
        check(!program.errors.contains("secret"))
        try check(rows("SELECT count(*) FROM t"), equals: ["0"])
    }

    @Test func `a NUL, a giant field and chunks that end anywhere are imported`() throws {
        // Longer than the chunks that are read, with quotes and line ends at every offset.
        let giant = String(repeating: "é\"\r\n,", count: 200_000)
        let quoted = "\"" + giant.replacingOccurrences(of: "\"", with: "\"\"") + "\""
        var csv = "a,b\r\n\(quoted),a\0b\r\n"
        for number in 0..<40_000 { csv += "\"\(number)\"\"\",\(number)\r\n" }
        try workspace.write(csv, to: "t.csv")
        try check(workspace.run("import", "a.db", "t.csv").status, equals: 0)
        try check(
            rows("SELECT length(CAST(a AS BLOB)), hex(b) FROM t LIMIT 1"),
            equals: ["\(giant.utf8.count)|610062"])
        try check(
            rows("SELECT count(*) FROM t WHERE rowid > 1 AND a = b || '\"'"), equals: ["40000"])
        let exported = try workspace.run("export", "a.db", "--table", "t")
        let isSame = exported.text.hasPrefix("a,b\r\n\(quoted),a\0b\r\n\"0\"\"\",0\r\n")
        check(isSame, "the exported text differs")
    }

    @Test(
        .enabled(
            if: !Sanitizer.isPresent && FileManager.default.fileExists(atPath: "/proc/self/status"))
    )
    func `a large file takes little memory`() throws {
        let megabytes =
            ProcessInfo.processInfo.environment["SECURESTORAGE_IMPORT_MB"].flatMap { Int($0) } ?? 10
        let line =
            "12345678,name of somebody,\"a street, a number\",1.5,some more text to fill it\n"
        let block = Data(String(repeating: line, count: 10_000).utf8)
        var csv = Data("id,name,street,size,text\n".utf8)
        while csv.count < megabytes << 20 { csv += block }
        try workspace.write(csv, to: "big.csv")
        let program = try workspace.shell(
            """
            securestorage import a.db big.csv --key-file key --raw-key > ack &
            while memory=$(grep VmHWM /proc/$!/status 2> /dev/null); do
                echo "$memory"
                sleep 0.05
            done
            wait $! && cat ack
            """)
        check(program.lines.last?.hasPrefix("imported "), equals: true)
        let peaks = program.lines.filter { $0.hasPrefix("VmHWM") }.compactMap { line in
            line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }
        }
        check(peaks.count > 5 && (peaks.max() ?? .max) < 100 << 10, "\(peaks.max() ?? 0) kB")
    }

    // MARK: - JSON lines

    @Test func `JSON lines keep the types of their values`() throws {
        try workspace.write(
            #"""
            {"i": 9223372036854775807, "r": -1.5e3, "s": "a\u00e9\ud83d\ude00\n\u0000", "n": null}

            {"s": "", "b": true, "o": {"x": [1, {"y": "}"}]}, "i": 1}
            """#, to: "e.jsonl")
        try workspace.fill("a.db", "CREATE TABLE e (i, r, s DEFAULT 'd', n, b, o);")
        let program = try workspace.run("import", "a.db", "e.jsonl")
        check(program.text, equals: "imported 2 rows into e\n", "\(program.errors)")
        try check(
            rows("SELECT quote(i), quote(r), hex(s), quote(n), quote(b), quote(o) FROM e"),
            equals: [
                "9223372036854775807|-1500.0|61C3A9F09F98800A00|NULL|NULL|NULL",
                #"1|NULL||NULL|1|'{"x": [1, {"y": "}"}]}'"#,
            ])
    }

    @Test func `a table created for JSON lines has no types`() throws {
        try workspace.write("{\"a\":1,\"b\":\"1\"}\n{\"b\":2,\"a\":\"2\"}\n", to: "t.ndjson")
        try check(workspace.run("import", "a.db", "t.ndjson").status, equals: 0)
        try check(rows("SELECT quote(a), quote(b) FROM t"), equals: ["1|'1'", "'2'|2"])
    }

    @Test(arguments: [
        "[1]", "{\"a\":1", "{\"a\":01}", "{\"a\":}", "{\"a\":\"\\x\"}", "{\"a\":\"\\ud800\"}",
        "{\"a\":1} x", "{\"a\":tru}", "{a:1}", "{\"a\":\"\t\"}", "{\"a\":1,\"a\":2}",
        "{\"a\":\(String(repeating: "[", count: 200))\(String(repeating: "]", count: 200))}",
    ])
    func `a line that is not an object of the columns is an error that names it`(_ line: String)
        throws
    {
        try workspace.write("{\"a\":1}\n\(line)\n", to: "t.jsonl")
        let program = try workspace.run("import", "a.db", "t.jsonl")
        check(
            program.status == 16 && program.errors.contains("line 2: "),
            "\(program.errors)")
        check(!workspace.exists("a.db"))
    }

    // MARK: - SQL

    @Test func `a script is one transaction, and its own BEGIN and COMMIT are skipped`() throws {
        try workspace.write(
            """
            PRAGMA foreign_keys=OFF;
            BEGIN TRANSACTION;
            CREATE TABLE child (p REFERENCES parent (id)); -- before its parent
            INSERT INTO child VALUES (1);
            CREATE TABLE parent (id INTEGER PRIMARY KEY);
            INSERT INTO parent VALUES (1);
            COMMIT;
            """, to: "s.sql")
        let program = try workspace.run("import", "a.db", "s.sql")
        check(program.text, equals: "imported 5 statements\n", "\(program.errors)")
        try check(rows("SELECT p FROM child"), equals: ["1"])
    }

    @Test(arguments: [
        ("SELECT no;", "no such column"),
        ("INSERT OR ROLLBACK INTO t VALUES (1), (1);", "UNIQUE constraint"),
        ("pragma/**/'writable_schema'(1);", "PRAGMA writable_schema is refused"),
        ("PRAGMA synchronous = OFF;", "PRAGMA synchronous is refused"),
        ("PRAGMA ignore_check_constraints = ON;", "untrusted SQL"),
        ("SELECT load_extension('evil.so');", "load_extension() is refused"),
        ("CREATE TABLE u (a CHECK (fts3_tokenizer(a)));", "fts3_tokenizer() is refused"),
        ("VACUUM INTO 'copy.db';", "VACUUM INTO is refused"),
        ("SELECT sqlcipher_export('main');", "sqlcipher_export() is refused"),
        ("CREATE VIRTUAL TABLE temp.x USING dbstat;", "virtual table is refused"),
        ("SELECT sql FROM sqlite_stmt;", "table of the engine is refused"),
        ("PRAGMA key = 'sesame';", "SQLITE_AUTH"), ("'open", "unrecognized token"),
    ])
    func `a script that SQLite refuses imports nothing`(_ sql: String, _ reason: String) throws {
        try expectFailure(of: sql, status: 8, reason)
    }

    @Test(arguments: [
        ("ROLLBACK;", "rolls back"),
        ("INSERT INTO sqlite_schema(type) VALUES ('table');", "\"securestorage encrypt\" copies"),
        ("PRAGMA writable_schema=ON;", "virtual table"),
    ])
    func `a script that is not a dump for import imports nothing`(
        _ sql: String, _ reason: String
    ) throws {
        try expectFailure(of: sql, status: 16, reason)
    }

    private func expectFailure(of sql: String, status: Int32, _ reason: String) throws {
        try workspace.write("CREATE TABLE t (a UNIQUE);\n\n\(sql)\n", to: "s.sql")
        let program = try workspace.run("import", "a.db", "s.sql")
        check(
            program.status == status && program.errors.contains("line 3: "),
            "\(program.errors)")
        // Without the module, such a table is only missing.
        try check(engineLacks(sql) || program.errors.contains(reason))
        check(!program.errors.contains("sesame"))
        check(!workspace.exists("a.db"))
    }

    @Test(arguments: [
        "ATTACH 'victim.db' AS v KEY '';", "ATTACH DATABASE 'vic' || 'tim.db' AS v;",
        "\u{FEFF}/* */attach (SELECT 'victim.db') AS v KEY '';",
        "ATTACH 'file:victim.db?mode=ro' AS v;",
        "ATTACH \"victim.db\" AS v;", "EXPLAIN ATTACH 'victim.db' AS v KEY '';",
        "SELECT 1; ATTACH 'victim.db' AS v KEY '';", "DETACH main;",
    ])
    func `a script cannot reach another file`(_ attack: String) throws {
        // A plain file, which needs no key.
        let made = try workspace.store("v.db")
        try made.executeStatements("CREATE TABLE s (x); INSERT INTO s VALUES ('secret')")
        try made.exportPlaintext(to: URL(fileURLWithPath: workspace.file("victim.db")))
        made.close()
        let before = try workspace.read("victim.db")
        try workspace.write(
            """
            CREATE TABLE loot (x);
            \(attack)
            INSERT INTO loot SELECT x FROM v.s; UPDATE v.s SET x = 'altered';
            """, to: "s.sql")
        let program = try workspace.run("import", "a.db", "s.sql")
        check(program.status, equals: 8, "\(program.text)")
        check(program.errors.contains("tach") || program.errors.contains("TACH"))
        check(program.errors.contains("untrusted SQL"), "\(program.errors)")
        check(!workspace.exists("a.db"))
        try check(workspace.read("victim.db"), equals: before)
    }

    @Test func `a COMMIT after a byte-order mark does not commit`() throws {
        let mark = "\u{FEFF}"
        try workspace.fill("a.db", "CREATE TABLE kept (a);")
        let script = """
            \(mark)BEGIN; CREATE TABLE t (a);
            \(mark)CREATE TRIGGER g AFTER INSERT ON t BEGIN DELETE FROM t WHERE a = 0; SELECT 1; END;
            INSERT INTO t VALUES (1); \(mark)/* */\(mark) COMMIT; \(mark)

            """
        try workspace.write(script + "SELECT no;\n", to: "bad.sql")
        let failed = try workspace.run("import", "a.db", "bad.sql")
        check(failed.status, equals: 8)
        check(failed.errors.contains("line 4: no such column"), "\(failed.errors)")
        check(failed.errors.contains("nothing was imported"))
        try check(rows("SELECT name FROM sqlite_schema"), equals: ["kept"])

        try workspace.write(script, to: "good.sql")
        let program = try workspace.run("import", "a.db", "good.sql")
        check(program.text, equals: "imported 3 statements\n", "\(program.errors)")
        try check(rows("SELECT a FROM t"), equals: ["1"])
    }

    @Test func `a dangling reference rolls the import back`() throws {
        try workspace.fill("a.db", "CREATE TABLE p (id INTEGER PRIMARY KEY);")
        try workspace.write(
            "CREATE TABLE c (p REFERENCES p); INSERT INTO c VALUES (7);", to: "s.sql")
        let program = try workspace.run("import", "a.db", "s.sql")
        check(program.status == 8 && program.errors.contains("FOREIGN KEY"))
        try check(rows("SELECT name FROM sqlite_schema"), equals: ["p"])
    }

    /// SQLite treats a byte-order mark as white space wherever a word could begin.
    @Test func `a byte-order mark hides neither BEGIN nor COMMIT nor the body of a trigger`() throws
    {
        try workspace.write(
            """
            \u{feff}BEGIN;
            CREATE TABLE t (a);
            \u{feff}CREATE TRIGGER r AFTER INSERT ON t BEGIN UPDATE t SET a = a + 1; DELETE FROM t WHERE a > 9; END;
            INSERT INTO t VALUES (1);\u{feff}
            \u{feff}COMMIT;\u{feff}
            """, to: "s.sql")
        let program = try workspace.run("import", "a.db", "s.sql")
        check(program.text, equals: "imported 3 statements\n", "\(program.errors)")
        try check(rows("SELECT a FROM t"), equals: ["2"])
        // A script that fails after a COMMIT hidden by a byte-order mark commits nothing.
        try workspace.write(
            "INSERT INTO t VALUES (2);\u{feff}COMMIT; INSERT INTO nowhere VALUES (3);", to: "s.sql")
        try check(workspace.run("import", "a.db", "s.sql").status, equals: 8)
        try check(rows("SELECT count(*) FROM t"), equals: ["1"])
    }

    @Test func `a kill leaves all rows or none`() throws {
        try workspace.fill("a.db", "CREATE TABLE t (a, b);")
        try workspace.write(
            "a,b\n" + String(repeating: "1,some text\n", count: 60_000), to: "t.csv")
        let rounds = ProcessInfo.processInfo.environment["SECURESTORAGE_KILLS"].flatMap { Int($0) }
        var expected = 0
        for _ in 0..<(rounds ?? 4) {
            let program = try workspace.shell(
                """
                securestorage import a.db t.csv --key-file key --raw-key > ack &
                sleep 0.\(Int.random(in: 1...9))
                kill -KILL $! 2> /dev/null
                wait 2> /dev/null
                cat ack
                """)
            if program.text.contains("imported") { expected += 60_000 }
            let count = Int(try rows("SELECT count(*) FROM t")[0]) ?? -1
            check(count == expected || count == expected + 60_000)
            expected = count
        }
    }
}
