import Foundation
import SecureStorage
import TestSupport
import Testing

struct ShellTests {
    let workspace: Workspace
    private let shell = "securestorage shell a.db --key-file key --raw-key"

    init() throws { workspace = try Workspace() }

    private func history() -> String {
        (try? String(contentsOfFile: workspace.file("state/securestorage/history"), encoding: .utf8))
            ?? ""
    }

    @Test(.enabled(if: PseudoTerminal.isAvailable))
    func `Ctrl-C ends the statement, not the program`() throws {
        let terminal = try PseudoTerminal(workspace, shell)
        try terminal.expect("securestorage> ")
        terminal.type(
            "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c;"
        )
        try terminal.expect("FROM c;")
        usleep(500_000)
        terminal.send(PseudoTerminal.controlC)
        try terminal.expect("securestorage: interrupted")
        try terminal.expect("securestorage> ")
        terminal.type("SELECT 40 + 2;")
        try terminal.expect("\n    42")
        try terminal.leave()
    }

    @Test(.enabled(if: PseudoTerminal.isAvailable))
    func `the prompt shows an open transaction`() throws {
        let terminal = try PseudoTerminal(workspace, shell)
        try terminal.expect("securestorage> ")
        terminal.type("BEGIN;")
        try terminal.expect("securestorage*> ")
        terminal.type("ROLLBACK;")
        try terminal.expect("securestorage> ")
        try terminal.leave()
    }

    @Test(.enabled(if: PseudoTerminal.isAvailable))
    func `Ctrl-C discards the statement that is being typed`() throws {
        let terminal = try PseudoTerminal(workspace, shell)
        try terminal.expect("securestorage> ")
        terminal.type("SELECT 'never")
        try terminal.expect("...> ")
        terminal.send("half a line")
        usleep(200_000)
        terminal.send(PseudoTerminal.controlC)
        try terminal.expect("securestorage> ")
        terminal.type("SELECT 40 + 2;")
        try terminal.expect("\n    42")
        try terminal.expect("securestorage> ")
        terminal.type(".quit")
        try terminal.expect("[status 0]")
    }

    @Test(.enabled(if: PseudoTerminal.isAvailable))
    func `an error is shown and the shell continues`() throws {
        let terminal = try PseudoTerminal(workspace, shell)
        try terminal.expect("securestorage> ")
        terminal.type("SELECT nonsense;")
        try terminal.expect("no such column: nonsense")
        try terminal.expect("securestorage> ")
        terminal.type("SELECT 40 + 2;")
        try terminal.expect("\n    42")
        try terminal.leave()
    }

    @Test(.enabled(if: PseudoTerminal.isAvailable))
    func `the up key recalls typed lines, and none of them is stored on disk`() throws {
        let before = try workspace.names
        let terminal = try PseudoTerminal(workspace, shell)
        try terminal.expect("securestorage> ")
        terminal.type("CREATE TABLE t (a);")
        try terminal.expect("securestorage> ")
        terminal.type("INSERT INTO t VALUES ('a secret of mine');")
        try terminal.expect("ok, 1 row changed")
        try terminal.expect("securestorage> ")
        terminal.type(" SELECT 'never again';")
        try terminal.expect("──")
        try terminal.expect("securestorage> ")
        terminal.send("\u{1b}[A")  // the up key
        try terminal.expect("INSERT INTO t VALUES ('a secret of mine');")
        terminal.send("\r")
        try terminal.expect("ok, 1 row changed")
        try terminal.expect("securestorage> ")
        terminal.type(".quit")
        try terminal.expect("[status 0]")

        // Apart from the script that `script` runs, only the database is new.
        let new = Set(try workspace.names).subtracting(before).filter { !$0.hasPrefix("terminal-") }
        check(new, equals: ["a.db"])
        check(history(), equals: "")
    }

    @Test(.enabled(if: PseudoTerminal.isAvailable))
    func `history goes to the named file, except keys and lines that begin with a space`()
        throws
    {
        let keeping = shell + " --history typed"
        try workspace.write("SELECT 'of an earlier session';\n", to: "typed")
        let terminal = try PseudoTerminal(workspace, keeping)
        try terminal.expect("securestorage> ")
        for line in [
            "SELECT 'remembered';", "PRAGMA key = 'sesame-1';", "pragma REKEY='sesame-2';",
            "PRAGMA hexkey = '736573616d65';", "ATTACH 'b.db' AS b KEY 'sesame-3';",
            "PRGMA key = 'sesame-4';", "PRAGMA/**/key='sesame-5';", " SELECT 'not kept';",
            ".tables",
        ] {
            terminal.type(line)
            try terminal.expect("securestorage> ")
        }
        terminal.type("ATTACH 'b.db' AS b")
        try terminal.expect("...> ")
        terminal.type("KEY 'sesame-6';")
        try terminal.expect("securestorage> ")
        terminal.type(" SELECT 'of two lines',")
        try terminal.expect("...> ")
        terminal.type("'not kept either';")
        try terminal.expect("securestorage> ")
        terminal.type("SELECT 'afterwards';")
        try terminal.expect("securestorage> ")
        terminal.type(".quit")
        try terminal.expect("[status 0]")
        check(
            String(decoding: try workspace.read("typed"), as: UTF8.self),
            equals: "SELECT 'of an earlier session';\nSELECT 'remembered';\n.tables\n"
                + "SELECT 'afterwards';\n.quit\n")
        let attributes = try FileManager.default.attributesOfItem(atPath: workspace.file("typed"))
        check(attributes[.posixPermissions] as? Int, equals: 0o600)

        let next = try PseudoTerminal(workspace, keeping)
        try next.expect("securestorage> ")
        next.send("\u{1b}[A\u{1b}[A")  // the up key, twice
        try next.expect("SELECT 'afterwards';")
        next.send("\r")
        try next.expect("──")
        try next.leave()
    }

    @Test(.enabled(if: PseudoTerminal.isAvailable))
    func `a file that cannot be a history is left untouched`() throws {
        try workspace.fill("other.db", "CREATE TABLE t (a);")
        let before = try workspace.read("other.db")
        try require(
            symlink(workspace.file("other.db"), workspace.file("link")) == 0)
        for name in ["other.db", "link", "none/typed", "."] {
            let terminal = try PseudoTerminal(workspace, shell + " --history \(name)")
            try terminal.expect("securestorage: the history cannot be kept in")
            // Some cannot be opened, others are not a history.
            try terminal.expect("[status 1")
        }
        try check(workspace.read("other.db"), equals: before)
        check(!workspace.exists("a.db"))
    }

    @Test func `a script has no history`() throws {
        let program = try workspace.run(
            "shell", "a.db", "--history", "typed", input: "SELECT 'of a script';\n")
        check(program.status, equals: 0)
        check(!workspace.exists("typed"))
    }

    @Test(.enabled(if: PseudoTerminal.isAvailable))
    func `control characters in the data never reach a terminal`() throws {
        try workspace.fill("a.db", "CREATE TABLE t (x);")
        let evil = "a\u{1b}]0;owned\u{7}b\u{9b}31mc\u{202e}d\re\n"
        let store = try workspace.store("a.db")
        try store.executeUpdate("INSERT INTO t VALUES (?)", values: [evil])
        store.close()
        for form in ["table", "line", "json", "json-lines", "csv"] {
            let terminal = try PseudoTerminal(workspace, shell)
            try terminal.expect("securestorage> ")
            terminal.type(".mode \(form)")
            try terminal.expect("securestorage> ")
            terminal.type("SELECT x FROM t;")
            let shown = try terminal.expect("securestorage> ")
            check(!shown.contains("\u{1b}]0") && !shown.contains("\u{9b}"), "\(form)")
            check(!shown.contains("\u{202e}") && !shown.contains("\u{7}"), "\(form)")
            check(shown.contains("owned"), "\(form)")
            try terminal.leave()
        }
    }

    @Test(.enabled(if: PseudoTerminal.isAvailable))
    func `a table is cut to the width of the terminal`() throws {
        let long = String(repeating: "日本", count: 30)
        try workspace.fill(
            "a.db", "CREATE TABLE t (a, b, c); INSERT INTO t VALUES (1, '\(long)', 'end');")
        let terminal = try PseudoTerminal(
            workspace, "securestorage query a.db 'SELECT * FROM t' --key-file key --raw-key",
            columns: 40)
        let shown = try terminal.expect("[status 0]")
        let row = try require(shown.split(whereSeparator: \.isNewline).last)
        check(row, equals: "1  " + String(repeating: "日本", count: 7) + "日…   end")
    }

    @Test(.enabled(if: PseudoTerminal.isAvailable), arguments: ["table", "box"])
    func `columns for which the terminal has no room are below each other`(_ form: String) throws {
        let long = String(repeating: "x", count: 100)
        let columns = (1...40).map { "'\($0) \(long)' AS column\($0)" }.joined(separator: ", ")
        try workspace.write(
            ".mode \(form)\nSELECT \(columns) UNION ALL SELECT \(columns);\n", to: "wide.sql")
        let terminal = try PseudoTerminal(
            workspace, "securestorage shell a.db --key-file key --raw-key < wide.sql", columns: 60)
        let shown = try terminal.expect("[status 0]")
        let lines = shown.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        let start = try require(lines.firstIndex { $0.hasPrefix(" column1 = 1 xxx") })
        check(lines[start].count == 60 && lines[start].hasSuffix("x…"), "\(lines[start])")
        check(lines[start + 39].hasPrefix("column40 = 40 xxx"), "\(lines[start + 39])")
        check(lines[start + 40], equals: "")
        check(lines[start + 41].hasPrefix(" column1 = 1 xxx"))
        check(!shown.contains("─"))
        // A pipe has room for all.
        let piped = try workspace.shell(
            "securestorage shell a.db --key-file key --raw-key < wide.sql | head -n 2")
        check(piped.text.contains("column39"), "\(piped.errors)")
        check(piped.text.contains("─"))
    }

    // MARK: - Scripts

    @Test func `statements end where SQLite says and at the end of the script`() throws {
        let script = """
            CREATE TABLE t (a /* ; */, "b;" TEXT, [c;]); -- ; no end
            CREATE TABLE log (m);
            CREATE TEMP TRIGGER
            r AFTER INSERT ON t BEGIN
              INSERT INTO log VALUES ('a;' || new.a);
              INSERT INTO log SELECT CASE WHEN 1 THEN 'end;' END;
            END;
            INSERT INTO t VALUES ('it''s; here', ';', 1); ; ;
            SELECT a FROM t; SELECT m FROM log
            """
        let program = try workspace.run("shell", "a.db", input: script)
        check(program.errors, equals: "")
        check(
            program.lines,
            equals: [
                "ok", "ok", "ok", "ok, 1 row changed", "a", "──────────", "it's; here", "m",
                "────────────", "a;it's; here", "end;",
            ])
        check(program.status, equals: 0)
    }

    @Test func `a script stops at its first error, which names the line`() throws {
        let program = try workspace.run(
            "shell", "a.db", input: "CREATE TABLE t (a);\n\nSELECT nonsense;\nDROP TABLE t;\n")
        check(program.status, equals: 8)
        check(program.errors.hasPrefix("securestorage: line 3: no such column: nonsense"))
        try check(workspace.run("query", "a.db", "SELECT count(*) FROM t").status, equals: 0)
    }

    @Test func `commands show the schema and change the output mode`() throws {
        try workspace.fill("a.db", "CREATE TABLE t (a); CREATE VIEW v AS SELECT a FROM t;")
        let program = try workspace.run(
            "shell", "a.db",
            input: """
                .tables
                .schema T
                .headers off
                SELECT 1 AS x;
                .mode json
                SELECT 2 AS x;
                .mode line
                SELECT 3 AS x;
                .quit
                SELECT 4;
                """)
        check(
            program.lines,
            equals: [
                "t", "v", "CREATE TABLE t (a);", "1", "[", #"{"x":2}"#, "]", "x = 3",
            ])
    }

    @Test func `a file is read, and its errors name the line`() throws {
        try workspace.write("SELECT 1 AS a;\n.mode csv\nSELECT 2 AS a", to: "good.sql")
        try workspace.write("\nnonsense;\n", to: "bad.sql")
        try workspace.write(".read loop.sql\n", to: "loop.sql")
        try check(
            workspace.run("shell", "a.db", input: ".read good.sql\n").text,
            equals: "a\n─\n1\na\r\n2\r\n")
        let bad = try workspace.run("shell", "a.db", input: ".read bad.sql\n")
        check(bad.status == 8 && bad.errors.contains("bad.sql, line 2: near \"nonsense\""))
        let loop = try workspace.run("shell", "a.db", input: ".read loop.sql\n")
        check(loop.status == 1 && loop.errors.contains("more than 10 levels deep"))
        try check(workspace.run("shell", "a.db", input: ".read none\n").status, equals: 10)
    }

    @Test func `a transaction that is left open is rolled back with status 1`() throws {
        try workspace.fill("a.db", "CREATE TABLE t (a);")
        let program = try workspace.run(
            "shell", "a.db", input: "BEGIN; INSERT INTO t VALUES (1);\n")
        check(program.status == 1 && program.errors.contains("rolled back"))
        check(program.text, equals: "")
        try check(workspace.run("query", "a.db", "SELECT * FROM t").text, equals: "")
    }
}
