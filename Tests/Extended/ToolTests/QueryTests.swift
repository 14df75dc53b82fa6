import Foundation
import SecureStorage
import TestSupport
import Testing

struct QueryTests {
    let workspace: Workspace

    init() throws { workspace = try Workspace() }

    private func table() throws {
        try workspace.fill(
            "a.db",
            """
            CREATE TABLE t (i INTEGER, r REAL, s TEXT, b BLOB);
            INSERT INTO t VALUES (1, 1.5, 'one', x'00ff'), (-20, 1e999, 'NULL', x''), (NULL, NULL, NULL, NULL);
            """)
    }

    @Test func `a table is aligned, with numbers to the right and NULL distinct from text`() throws
    {
        try table()
        let program = try workspace.run("query", "a.db", "SELECT * FROM t")
        check(
            program.text,
            equals: """
                   i     r  s       b
                ────  ────  ──────  ───────
                   1   1.5  one     X'00ff'
                 -20   Inf  'NULL'  X''
                NULL  NULL  NULL    NULL

                """)
    }

    @Test func `JSON holds every value`() throws {
        try table()
        let program = try workspace.run("query", "a.db", "--json", "SELECT * FROM t")
        check(
            program.text,
            equals: """
                [
                {"i":1,"r":1.5,"s":"one","b":"AP8="},
                {"i":-20,"r":9e999,"s":"NULL","b":""},
                {"i":null,"r":null,"s":null,"b":null}
                ]

                """)
        let lines = try workspace.run(
            "query", "a.db", "--json-lines",
            "SELECT 1 AS a, 2 AS a, char(10, 27, 34, 92, 0x2028, 0x1f600) AS \"\"\"\"")
        check(lines.text, equals: #"{"a":1,"a:1":2,"\"":"\n\u001b\"\\\u2028😀"}"# + "\n")
        try check(workspace.run("query", "a.db", "--json", "SELECT 1 WHERE 0").text, equals: "[]\n")
    }

    @Test func `CSV follows RFC 4180 and distinguishes NULL from empty text`() throws {
        try table()
        let program = try workspace.run(
            "query", "a.db", "--csv",
            "SELECT i, b, 'a,\"b\"' || char(13, 10) AS \"x,y\", '' AS e, NULL AS n FROM t LIMIT 1")
        check(
            program.text, equals: "i,b,\"x,y\",e,n\r\n1,X'00ff',\"a,\"\"b\"\"\r\n\",\"\",\r\n")
    }

    @Test(arguments: [
        (["--tsv"], "a\tb\n1\tNULL\n"), (["--tsv", "--no-header", "--nullvalue", "-"], "1\t-\n"),
        (["--csv", "--no-header"], "1,\r\n"), (["--line", "--nullvalue", ""], "a = 1\nb = \n"),
        (["--markdown"], "| a | b    |\n|--:|------|\n| 1 | NULL |\n"),
        (["--box", "--no-header"], "┌───┬──────┐\n│ 1 │ NULL │\n└───┴──────┘\n"),
        (["--no-header", "--nullvalue", "none"], "1  none\n"),
    ])
    func `rows have the form that an option names`(_ options: [String], _ text: String) throws {
        try table()
        let program = try Program(
            ["query", "a.db", "SELECT 1 AS a, NULL AS b", "--key-file", "key", "--raw-key"]
                + options, directory: workspace.path)
        check(program.text, equals: text, "\(program.errors)")
    }

    @Test func `only one form can be chosen`() throws {
        let program = try workspace.run("query", "a.db", "SELECT 1", "--box", "--tsv")
        check(program.status == 2 && program.errors.contains("use only one of"))
    }

    @Test func `values are bound and never run as SQL`() throws {
        try table()
        let program = try workspace.run(
            "query", "a.db", "SELECT i, s FROM t WHERE s = ? OR i = ?", "' OR 1 --", "1")
        check(program.lines.dropFirst(2), equals: ["1  one"])
        let two = try workspace.run("query", "a.db", "SELECT ?; SELECT ?", "1")
        check(two.status, equals: 2)
        try check(workspace.run("query", "a.db", "SELECT ?").status, equals: 8)
    }

    @Test func `a write is acknowledged when it is committed`() throws {
        let made = try workspace.run(
            "query", "--create", "a.db",
            "CREATE TABLE t (a); BEGIN; INSERT INTO t VALUES (1), (2); DELETE FROM t WHERE a = 1; COMMIT"
        )
        check(made.lines, equals: ["ok", "ok, committed"], "\(made.errors)")
        let returning = try workspace.run(
            "query", "a.db", "--json", "INSERT INTO t VALUES (3) RETURNING a")
        check(returning.text, equals: "[\n{\"a\":3}\n]\n")
        check(returning.errors, equals: "{\"code\":\"done\",\"message\":\"ok, 1 row changed\"}\n")
        let undone = try workspace.run(
            "query", "a.db", "BEGIN; DELETE FROM t; ROLLBACK; UPDATE t SET a = 1 WHERE a = 3")
        check(undone.lines, equals: ["ok, rolled back", "ok, 1 row changed"])
        let reading = try workspace.run("query", "a.db", "PRAGMA user_version; -- the end")
        check(reading.lines.last == "           0" && reading.status == 0)
    }

    @Test func `an acknowledged row survives a kill`() throws {
        try workspace.fill("a.db", "CREATE TABLE t (a INTEGER);")
        let count = ProcessInfo.processInfo.environment["SECURESTORAGE_KILLS"].flatMap { Int($0) }
        for round in 0..<(count ?? 3) {
            let program = try workspace.shell(
                """
                (while echo 'INSERT INTO t VALUES (\(round));'; do :; done) 2> /dev/null |
                    securestorage shell a.db --key-file key --raw-key > acks 2> errors &
                pid=$!
                sleep 0.\(Int.random(in: 2...5))
                kill -KILL $pid
                wait 2> /dev/null
                grep -c 'ok, 1 row changed' acks
                """)
            let acknowledged = try require(Int(program.lines.first ?? ""))
            let store = try workspace.store("a.db")
            let stored = try store.int(forQuery: "SELECT count(*) FROM t WHERE a = ?", round)
            store.close()
            // One row may have been committed without its acknowledgement being written.
            check(stored == acknowledged || stored == acknowledged + 1)
        }
    }

    @Test func `a transaction that is left open is a failure`() throws {
        try table()
        let program = try workspace.run("query", "a.db", "BEGIN; DELETE FROM t")
        check(program.status == 8 && program.text == "")
        check(program.errors.contains("rolled back"))
        try check(workspace.run("query", "a.db", "SELECT i FROM t").lines.count, equals: 5)
    }

    @Test func `SQL is read from standard input`() throws {
        try table()
        let program = try workspace.run("query", "a.db", "-", input: "SELECT 1 AS a;\nSELECT no")
        check(program.status == 8 && program.text == "a\n─\n1\n")
        check(program.errors.hasPrefix("securestorage: line 2: no such column: no"))
        try check(workspace.run("query", "a.db", " ; -- nothing").status, equals: 0)
    }

    @Test func `a missing file is not created, and a read-only one is not changed`() throws {
        let missing = try workspace.run("query", "none.db", "SELECT 1")
        check(missing.status == 10 && missing.errors.contains("no such file"))
        try check(workspace.names, equals: ["key"])
        try table()
        let refused = try workspace.run("query", "a.db", "--read-only", "DELETE FROM t")
        check(refused.status == 14 && refused.errors.contains("SQLITE_READONLY"))
    }

    @Test func `head ends the program quietly`() throws {
        let program = try workspace.shell(
            """
            securestorage query --create a.db --key-file key --raw-key \
                "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 1000000) \
                SELECT x FROM c" | head -3; echo ${PIPESTATUS[0]}
            """)
        check(program.lines, equals: ["  x", "───", "  1", "141"], "\(program.text)")
        check(program.errors, equals: "")
    }

    @Test func `a giant value, a NUL and text that is not UTF-8 are printed`() throws {
        let store = try workspace.store("a.db")
        try store.executeUpdate("CREATE TABLE t (x)")
        let giant = String(repeating: "x", count: 5_000_000)
        try store.executeUpdate("INSERT INTO t VALUES (?), (?)", values: [giant, "a\0b"])
        try store.executeUpdate("INSERT INTO t VALUES (CAST(x'41ff42' AS TEXT))")
        store.close()
        let csv = try workspace.run("query", "a.db", "--csv", "SELECT x FROM t")
        check(
            csv.output,
            equals: Data("x\r\n\(giant)\r\na\0b\r\nA".utf8) + [0xff] + Data("B\r\n".utf8))
        let json = try workspace.run(
            "query", "a.db", "--json-lines", "SELECT x FROM t WHERE rowid > 1")
        check(json.text, equals: "{\"x\":\"a\\u0000b\"}\n{\"x\":\"A\u{fffd}B\"}\n")
        let table = try workspace.run("query", "a.db", "SELECT x FROM t WHERE rowid > 1")
        check(table.lines.suffix(2), equals: [#"a\x00b"#, "X'41ff42'"])
    }
}
