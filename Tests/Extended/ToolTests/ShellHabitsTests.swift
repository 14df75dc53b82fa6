import TestSupport
import Testing

/// Commands that users of sqlite3's shell miss.
struct ShellHabitsTests {
    let workspace: Workspace

    init() throws {
        workspace = try .withNotes()
    }

    private func shell(_ script: String) throws -> Program {
        try workspace.run("shell", "a.db", input: script)
    }

    private func expectFailure(_ command: String, _ message: String) throws {
        let program = try shell(command + "\nSELECT 'after';\n")
        check(program.status == 2 && program.text == "", "\(program.text)")
        check(
            program.errors.hasPrefix("securestorage: line 1: " + message), "\(program.errors)")
    }

    @Test func `the beginning of a command is sufficient if it is that of one`() throws {
        try check(
            shell(".tab\n.hea off\n.mod list\nSELECT 1;\n.q\nSELECT 2;\n").text,
            equals: "note\nother\n1\n")
        try expectFailure(".s", "\".s\" may be .schema or .separator or .show")
        try expectFailure(".", "\".\" is not a shell command")
    }

    @Test func `.exit ends with a status`() throws {
        let program = try shell("BEGIN;\nDELETE FROM note;\n.exit 7\nSELECT 1;\n")
        check(program.status == 7 && program.errors == "", "\(program.errors)")
        try check(workspace.rows("a.db", "SELECT count(*) FROM note"), equals: ["2"])
        try expectFailure(".exit seven", "usage: .exit [STATUS]")
    }

    @Test func `.bail off continues after errors, and ends with the status of the first`() throws {
        let program = try shell(
            ".bail off\nSELECT no;\n.nonsense\n.headers off\n.mode list\nSELECT\n1,\nno;\nSELECT 2;\n"
        )
        check(program.status, equals: 8)
        check(program.text, equals: "2\n")
        for message in ["line 2: no such column: no", "line 3: ", "line 8: no such column: no"] {
            check(program.errors.contains("securestorage: " + message), "\(program.errors)")
        }
    }

    @Test func `.parameter gives placeholders values, which are never SQL`() throws {
        let program = try shell(
            """
            .mode quote
            .headers off
            .parameter set :n 5
            .parameter set @text it's; DROP TABLE note
            .parameter set $five "'5'"
            .parameter set ?1 X'00ff'
            .parameter set :null NULL
            .parameter set :date 2026-11-27
            .parameter list
            SELECT :n, @text, $five, :null, :date;
            SELECT ?1;
            INSERT INTO note (id) VALUES (:n);
            .eqp on
            SELECT id FROM note WHERE id = :n;
            .parameter unset :n
            SELECT :n;
            """)
        check(
            program.lines.prefix(8),
            equals: [
                "$five 5", ":date 2026-11-27", ":n 5", ":null NULL", "?1 X'00ff'",
                "@text it's; DROP TABLE note",
                "5,'it''s; DROP TABLE note','5',NULL,'2026-11-27'", "X'00ff'",
            ])
        check(program.lines.last, equals: "5")
        check(program.status, equals: 2)
        check(
            program.errors.contains("line 16: the placeholder :n has no value"), "\(program.errors)"
        )
        check(program.errors.contains("SEARCH note USING INTEGER PRIMARY KEY"))
        try expectFailure(".parameter set n 1", "\"n\" is not a placeholder")
        try expectFailure(".parameter", "usage: .parameter set NAME VALUE")
    }

    @Test func `small commands do what their help says`() throws {
        let program = try shell(
            """
            .mode
            .changes off
            DELETE FROM other;
            .changes on
            DELETE FROM other;
            .mode list
            .separator "\\t"
            .headers off
            SELECT 1, 2;
            .timeout 1234
            PRAGMA busy_timeout;
            """)
        check(program.lines, equals: ["table", "ok", "1\t2", "1234"], "\(program.errors)")
        try expectFailure(".timeout soon", "usage: .timeout MS")
        try workspace.fill("a.db", "ANALYZE note;")
        let schema = try shell(".fullschema\n")
        check(
            schema.text.contains(
                "CREATE TABLE other (x UNIQUE);\nANALYZE sqlite_schema;\nINSERT INTO \"sqlite_stat1\""
            ),
            "\(schema.text)")
    }
}
