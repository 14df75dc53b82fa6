import Foundation
import TestSupport
import Testing

/// The shell's commands, in scripts.
struct ShellCommandTests {
    let workspace: Workspace

    init() throws {
        workspace = try .withNotes()
    }

    private func shell(_ script: String) throws -> Program {
        try workspace.run("shell", "a.db", input: script)
    }

    /// Expects that a command fails with a status and a message, and runs nothing after it.
    private func expectFailure(
        _ command: String, _ status: Int32, _ message: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let program = try shell(command + "\nSELECT 'after';\n")
        check(program.status, equals: status, sourceLocation: sourceLocation)
        check(program.text, equals: "", sourceLocation: sourceLocation)
        check(
            program.errors.hasPrefix("securestorage: line 1: " + message),
            "\(program.errors)", sourceLocation: sourceLocation)
    }

    // MARK: - Forms

    @Test(
        arguments: [
            (
                "box",
                """
                ┌────┬──────────┬─────────┐
                │ id │ text     │ a|b     │
                ├────┼──────────┼─────────┤
                │  1 │ buy milk │ 2.5     │
                │  2 │ NULL     │ X'00ff' │
                └────┴──────────┴─────────┘
                """
            ),
            (
                "markdown",
                #"""
                | id | text     | a\|b    |
                |---:|----------|---------|
                |  1 | buy milk | 2.5     |
                |  2 | NULL     | X'00ff' |
                """#
            ),
            ("tabs", "id\ttext\ta|b\n1\tbuy milk\t2.5\n2\tNULL\tX'00ff'"),
            ("list", "id|text|a|b\n1|buy milk|2.5\n2|NULL|X'00ff'"),
            (
                "column",
                """
                id  text      a|b
                ──  ────────  ───────
                 1  buy milk  2.5
                 2  NULL      X'00ff'
                """
            ),
            (
                "insert note",
                """
                INSERT INTO "note"("id","text","a|b") VALUES(1,'buy milk',2.5);
                INSERT INTO "note"("id","text","a|b") VALUES(2,NULL,X'00ff');
                """
            ),
        ])
    func `rows have the form that .mode names`(_ form: String, _ expected: String) throws {
        let program = try shell(".mode \(form)\nSELECT * FROM note ORDER BY id;\n")
        check(program.text == expected + "\n" && program.errors == "" && program.status == 0)
    }

    @Test func `.mode names the forms when there is no such one`() throws {
        try expectFailure(
            ".mode nonsense", 2, "unknown format \"nonsense\"\nhint: the formats are table")
    }

    @Test func `inserted rows are the same rows`() throws {
        let rows = try shell(".mode insert other\nSELECT 0.1 + 0.2 AS x UNION ALL SELECT 1e999;\n")
        let back = try shell(
            rows.text + ".headers off\nSELECT x = 0.1 + 0.2 OR x = 1e999 FROM other;\n")
        check(back.lines.suffix(2) == ["1", "1"] && back.status == 0)
    }

    @Test func `.nullvalue, .headers and .width change tables`() throws {
        let program = try shell(
            """
            .nullvalue -
            .headers off
            .width 3 -10 4
            SELECT * FROM note ORDER BY id;
            .width
            .nullvalue
            SELECT text FROM note WHERE text IS NULL;
            """)
        check(program.lines, equals: ["1      buy milk  2.5", "2             -  X'0…", "NULL"])
        try expectFailure(".width wide", 2, "usage: .width")
    }

    // MARK: - Plans

    private let join = "SELECT * FROM note JOIN other ON other.x = note.id WHERE text = 'a'"

    @Test func `a query plan is drawn as a tree`() throws {
        let program = try shell(
            "EXPLAIN QUERY PLAN \(join) UNION SELECT 1, 2, 3, 4;\n.explain off\nEXPLAIN QUERY PLAN \(join);\n"
        )
        let lines = program.lines
        check(lines.first == "QUERY PLAN" && lines[1] == "`--COMPOUND QUERY")
        check(lines[2], equals: "   |--LEFT-MOST SUBQUERY")
        check(lines[3].hasPrefix("   |  |--S") && lines[3].contains("other"))
        check(lines[4].hasPrefix("   |  `--SEARCH note USING"))
        check(lines.contains { $0.hasPrefix("id") && $0.hasSuffix("detail") })
    }

    @Test func `.eqp shows the plan before the rows`() throws {
        let program = try shell(".eqp on\nSELECT count(*) FROM note;\nPRAGMA user_version;\n")
        check(program.lines.first == "QUERY PLAN" && program.lines[1].hasPrefix("`--SCAN note"))
        check(program.lines.suffix(6).first, equals: "count(*)")
        check(program.lines.count { $0 == "QUERY PLAN" }, equals: 1)
    }

    @Test func `the loops of a program are indented`() throws {
        let program = try shell("EXPLAIN SELECT * FROM note;\n")
        let lines = program.lines
        check(lines.contains { $0.contains("  Rewind  ") })
        check(
            lines.contains { $0.contains("    Column  ") }
                && lines.contains { $0.contains("  Next  ") })
    }

    // MARK: - Files

    @Test func `.once writes one result into a file that only its owner can read`() throws {
        let program = try shell(
            ".mode csv\n.once \"the rows.csv\"\nSELECT id FROM note ORDER BY id;\nSELECT 7;\n")
        check(program.text == "7\r\n7\r\n" && program.status == 0)
        try check(workspace.read("the rows.csv"), equals: Data("id\r\n1\r\n2\r\n".utf8))
        let attributes = try FileManager.default.attributesOfItem(
            atPath: workspace.file("the rows.csv"))
        check(attributes[.posixPermissions] as? Int, equals: 0o600)
    }

    @Test func `.output writes all results until it ends, and acknowledgements elsewhere`() throws {
        let program = try shell(
            """
            .output rows
            SELECT id FROM note ORDER BY id;
            .print a text
            UPDATE note SET text = 'x';
            .output
            SELECT 7;
            """)
        check(program.lines == ["7", "─", "7"] && program.errors == "ok, 2 rows changed\n")
        check(
            String(decoding: try workspace.read("rows"), as: UTF8.self),
            equals: "id\n──\n 1\n 2\na text\n")
        try check(shell(".output rest\nSELECT 5;\n").status, equals: 0)
        check(workspace.exists("rest"))
    }

    @Test func `.output and .once leave what exists, unless they are forced`() throws {
        try workspace.write("mine", to: "rows")
        try expectFailure(".once rows", 12, "\"rows\" already exists\nhint: use --force")
        try expectFailure(".output a.db", 12, "\"a.db\" already exists")
        try expectFailure(
            ".output none/rows", 14, "\"none/rows\" cannot be created: No such file or directory")
        try expectFailure(".once", 2, "usage: .once [--force] FILE")
        // Programs and options of other shells.
        try expectFailure(".output |less", 2, ".output writes into a file, and starts no program")
        try expectFailure(
            ".once -e", 2, ".once has no option -e\nhint: a file of that name is \"./-e\"")
        check(!workspace.exists("|less") && !workspace.exists("-e"))
        try check(workspace.read("rows"), equals: Data("mine".utf8))
        let program = try shell(".once --force rows\nSELECT 1 AS a;\n")
        check(program.status, equals: 0)
        try check(workspace.read("rows"), equals: Data("a\n─\n1\n".utf8))
    }

    @Test func `a failed statement leaves no file of .once`() throws {
        try check(shell(".once rows\nSELECT nonsense;\n").status, equals: 8)
        check(!workspace.exists("rows"))
    }

    @Test func `.import reads a file into a table, or nothing of it`() throws {
        try workspace.write("id,text,a|b\n3,three,\n4,four,4\n", to: "more.csv")
        try workspace.write("x\n1\n1\n", to: "twice.csv")
        try workspace.write(#"{"a":1}"# + "\n", to: "rows.jsonl")
        try workspace.write("5\tfive\t5\n", to: "tabs of mine")
        let program = try shell(
            """
            .import more.csv note
            .import rows.jsonl
            BEGIN;
            .import --tsv --no-header "tabs of mine" note
            ROLLBACK;
            SELECT count(*) FROM note;
            """)
        check(
            program.lines,
            equals: [
                "imported 2 rows into note", "imported 1 row into rows",
                "imported 1 row into note, not committed yet", "ok, rolled back", "count(*)",
                "────────", "       4",
            ])
        try expectFailure(".import twice.csv other", 8, "line 3: UNIQUE constraint failed: other.x")
        try expectFailure(".import none.csv note", 10, "\"none.csv\" cannot be read: No such file")
        try expectFailure(".import more.txt note", 2, "the file's name does not tell its format")
        try expectFailure(".import --nonsense more.csv", 2, "unknown option \"--nonsense\"")
        try expectFailure(".import more.csv --types", 2, "--types needs a value")
        try expectFailure(
            ".import --delimiter ab more.csv", 2, "--delimiter must be one ASCII character")
        try expectFailure(".import", 2, "usage: .import")
        try check(shell(".headers off\nSELECT count(*) FROM other;\n").text, equals: "0\n")
    }

    @Test func `.read says which file is missing`() throws {
        try expectFailure(
            ".read none.sql", 10, "\"none.sql\" cannot be read: No such file or directory")
        try expectFailure(".read", 2, "usage: .read FILE")
        try workspace.write("SELECT 1 AS a;", to: "with blanks.sql")
        try check(shell(".read with blanks.sql\n").text, equals: "a\n─\n1\n")
        try check(shell(".read \"with blanks.sql\"\n").text, equals: "a\n─\n1\n")
    }

    @Test func `.backup and .dump copy the database`() throws {
        let program = try shell(".backup copy.db\n.dump other\n")
        check(program.lines.first == "backed up to copy.db" && program.lines.last == "COMMIT;")
        try check(workspace.run("query", "copy.db", "SELECT count(*) FROM note").status, equals: 0)
        try expectFailure(".backup copy.db", 12, "\"copy.db\" already exists")
        try expectFailure(".dump none", 11, "no such table: \"none\"")
    }

    // MARK: - Others

    @Test func `.indexes, .tables and .databases list names`() throws {
        let program = try shell(".indexes note\n.indexes\n.tables n%\n.databases\n")
        check(
            Array(program.lines.prefix(4)),
            equals: [
                "by_text", "by_text", "sqlite_autoindex_other_1", "note",
            ])
        check(program.lines[4].hasPrefix("name  file"))
        check(program.lines.contains { $0.hasPrefix("main  /") && $0.hasSuffix("/a.db") })
    }

    @Test func `.timer says how long a statement takes`() throws {
        let program = try shell(".timer on\nSELECT 1 AS a;\n.timer off\nSELECT 2 AS a;\n")
        check(program.lines.count, equals: 7)
        check(
            program.lines[3].firstMatch(of: /^time \d+\.\d{3} s, user \d+\.\d{3}, system \d/) != nil
        )
        try expectFailure(".timer", 2, "usage: .timer on|off")
    }

    @Test(arguments: ["quit", ".quit", "exit", ".exit", "QUIT;", "  exit ;"])
    func `the shell ends with or without a dot`(_ word: String) throws {
        let program = try shell("\(word)\nSELECT 1;\n")
        check(program.status == 0 && program.text == "" && program.errors == "")
    }

    @Test func `help lists every command, and explains one`() throws {
        let program = try shell("help\n")
        for name in [".import", ".once", ".timer", ".width", ".quit"] {
            check(program.text.contains(name))
        }
        try check(shell(".help mode\n").text.hasPrefix(".mode [FORM [TABLE]]"))
        try expectFailure(".help nonsense", 2, "\"nonsense\" is not a shell command")
        try expectFailure(".nonsense", 2, "\".nonsense\" is not a shell command")
    }

    @Test func `.show lists the settings`() throws {
        let program = try shell(".mode box\n.timer on\n.show\n")
        check(program.lines.contains("mode       box") && program.lines.contains("timer      on"))
    }
}
