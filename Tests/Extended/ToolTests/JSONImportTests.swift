import TestSupport
import Testing

struct JSONImportTests {
    let workspace: Workspace

    init() throws { workspace = try Workspace() }

    private func run(_ text: String, _ name: String, _ options: String...) throws -> Program {
        try workspace.write(text, to: name)
        return try workspace.importing(name, options)
    }

    @Test func `a new table has the columns of all objects`() throws {
        let program = try run(
            "{\"a\":1}\n{\"b\":\"x\"}\n{\"B\":\"y\"}\n{\"a\":4,\"A\":2,\"\":3}\n", "t.jsonl")
        check(program.text.hasPrefix("imported 4 rows into t"), equals: true, "\(program.errors)")
        check(program.text.contains(#"a member "A" named "A_2""#), "\(program.text)")
        try check(
            workspace.rows("a.db", "SELECT name FROM pragma_table_info('t')"),
            equals: ["a", "b", "A_2", "column3"])
        try check(
            workspace.rows("a.db", "SELECT quote(a), quote(b), quote(A_2), quote(column3) FROM t"),
            equals: [
                "1|NULL|NULL|NULL", "NULL|'x'|NULL|NULL", "NULL|'y'|NULL|NULL", "4|NULL|2|3",
            ])
        let both = try run("{\"b\":1}\n{\"B\":1}\n{\"b\":1,\"B\":2}\n", "u.jsonl")
        check(both.errors.contains("line 3: two members are the column \"b\""), "\(both.errors)")
    }

    @Test(arguments: [
        "[{\"a\":1,\"b\":\"}]\\\"\"},{\"b\":{\"x\":[{}]},\"a\":2}]",
        "[\n\t{\"a\":1,\"b\":\"}]\\\"\"}\n,\n{\n\"a\": 2,\n\"b\": {\"x\":[{}]}\n}\n]\n",
        "{\"a\":1,\"b\":\"}]\\\"\"}\n{\n\"a\": 2,\n\"b\": {\"x\":[{}]}\n}",
    ])
    func `an array of objects, or objects over any lines, are rows`(_ text: String) throws {
        let program = try run(text, "t.json")
        check(program.text, equals: "imported 2 rows into t\n", "\(program.errors)")
        try check(
            workspace.rows("a.db", "SELECT a, b FROM t"),
            equals: ["1|}]\"", "2|{\"x\":[{}]}"])
    }

    @Test func `an array is recognised among JSON lines, and an empty one has no rows`() throws {
        let program = try run(" [{\"a\":1},\n{\"a\":2}]\n", "t.jsonl")
        check(program.text, equals: "imported 2 rows into t\n", "\(program.errors)")
        try check(run("[]", "u.json").text, equals: "imported 0 rows into u\n")
    }

    @Test(arguments: [
        ("[{\"a\":1}\n,1]", 2, "an array of objects"),
        ("[{\"a\":1}\n{\"a\":1}]", 2, "missing comma"),
        ("[{\"a\":1},\n", 2, "unterminated array"), ("[{\"a\":1}]\nx", 2, "text follows the array"),
        ("1", 1, "an array of objects"), ("[{\"a\":1},\n{\"a\":]", 2, "invalid JSON value"),
        ("[{\"a\":1},\n{\"a\":tru}]", 2, "invalid JSON value"), ("[{}]", 1, "has no members"),
    ])
    func `anything but an array of objects is an error that names the line`(
        _ text: String, _ line: Int, _ reason: String
    ) throws {
        let program = try run(text, "t.json")
        check(program.status, equals: 16, "\(program.text)")
        check(program.errors.contains("line \(line): "), "\(program.errors)")
        check(program.errors.contains(reason), "\(program.errors)")
        check(program.errors.contains("nothing was imported"))
        check(!workspace.exists("a.db"))
    }

    @Test func `objects that cannot be imported are left out on request`() throws {
        let lines = try run("{\"a\":1}\n{\"a\":\n[1]\n{\"a\":2}\n", "t.jsonl", "--skip")
        check(lines.text, equals: "imported 2 rows into t, 2 lines left out\n", "\(lines.errors)")
        let array = try run("[{\"b\":1},{\"b\":01},\n{\"b\":2}]", "u.json", "--skip")
        check(array.text, equals: "imported 2 rows into u, 1 line left out\n", "\(array.errors)")
        try check(workspace.rows("a.db", "SELECT b FROM u"), equals: ["1", "2"])
    }

    @Test func `a table that exists keeps its columns when lines are left out`() throws {
        try workspace.fill("a.db", "CREATE TABLE t (a);")
        let program = try run("{\"a\":1}\n{\"b\":2}\n", "t.jsonl", "--skip")
        check(program.text, equals: "imported 1 row into t, 1 line left out\n")
        check(program.errors.contains("line 2 is left out: table t has no column named b"))
    }
}
