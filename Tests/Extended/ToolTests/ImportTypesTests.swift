import Foundation
import TestSupport
import Testing

/// The types of columns that an import makes.
struct ImportTypesTests {
    let workspace: Workspace

    init() throws { workspace = try Workspace() }

    /// Imports a column of fields, and returns its type and the values as SQL.
    private func column(_ fields: [String], _ options: String...) throws -> [String] {
        try workspace.write("x,y\n" + fields.map { "\($0),_\n" }.joined(), to: "t.csv")
        let program = try workspace.importing("t.csv", options)
        check(program.status, equals: 0, "\(program.errors)")
        return try workspace.rows("a.db", "SELECT type FROM pragma_table_info('t') LIMIT 1")
            + workspace.rows("a.db", "SELECT quote(x) FROM t")
    }

    @Test(arguments: [
        (["0", "-7", "9223372036854775807", "-9223372036854775808", ""], "INTEGER"),
        (["1.5", "-2e3", "3", ""], "REAL"),
        (["1", "007"], "TEXT"), (["1", "9223372036854775808"], "TEXT"), (["1", "+1"], "TEXT"),
        (["1", " 1"], "TEXT"), (["1", "-0"], "TEXT"), (["1", "x"], "TEXT"),
        (["1", "\"\""], "TEXT"), (["1.5", "1234567890123456"], "TEXT"),
        (["1.1234567890123456"], "TEXT"), (["1e999"], "TEXT"), (["1e-999"], "TEXT"),
        (["1."], "TEXT"), ([".5"], "TEXT"), (["1e"], "TEXT"), (["0x10"], "TEXT"), ([""], "TEXT"),
    ])
    func `the type is found out, and loses nothing`(_ fields: [String], _ type: String) throws {
        let values = fields.map { field in
            switch type {
            case _ where field.isEmpty && type != "TEXT": "NULL"
            case "INTEGER": field
            case "REAL": "\(Double(field) ?? .nan)"
            default: field == "\"\"" ? "''" : "'\(field)'"
            }
        }
        try check(column(fields), equals: [type] + values)
    }

    @Test func `a number in the last line of a long file counts`() throws {
        let fields = (0..<30_000).map { "\($0)" } + ["x"]
        try check(column(fields).prefix(2), equals: ["TEXT", "'0'"])
    }

    @Test func `types can be chosen, by name and for all others`() throws {
        try workspace.write("zip,size,\"a, b\"\n1,2,\n3,x,4\n", to: "t.csv")
        let program = try workspace.importing("t.csv", ["--types", "size=integer,BLOB"])
        check(program.status, equals: 0, "\(program.errors)")
        try check(
            workspace.rows("a.db", "SELECT name, type FROM pragma_table_info('t')"),
            equals: ["zip|BLOB", "size|INTEGER", "a, b|BLOB"])
        try check(
            workspace.rows("a.db", "SELECT quote(zip), quote(size), quote(\"a, b\") FROM t"),
            equals: ["'1'|2|''", "'3'|'x'|'4'"])
        for (types, reason) in [
            ("size=NUMBER", "has no type of a column"), ("sise=TEXT", "no column \"sise\""),
        ] {
            let wrong = try workspace.importing("t.csv", ["--table", "u", "--types", types])
            check(wrong.status, equals: 2, "\(wrong.text)")
            check(wrong.errors.contains(reason), "\(wrong.errors)")
        }
        try check(workspace.rows("a.db", "SELECT name FROM sqlite_schema"), equals: ["t"])
    }

    /// What is kept of a pipe ends; a number must not lose its zeros after that.
    @Test func `in a pipe, a line that contradicts the first ones is an error with the way out`()
        throws
    {
        let script = """
            { echo a,b; yes "1,$(head -c 1000 /dev/zero | tr '\\0' _)" | head -n 20000; echo 007,x; } |
            securestorage import a.db - --format csv --table t --key-file key --raw-key
            """
        let program = try workspace.shell(script)
        check(program.status, equals: 16, "\(program.text)")
        check(
            program.errors.contains("line 20002: field 1 does not fit the type INTEGER"),
            "\(program.errors)")
        check(program.errors.contains("--types name=TEXT"))
        let chosen = try workspace.shell(script + " --types a=TEXT")
        check(chosen.text, equals: "imported 20001 rows into t\n", "\(chosen.errors)")
        try check(
            workspace.rows("a.db", "SELECT quote(a) FROM t WHERE b = 'x'"), equals: ["'007'"])
    }
}
