import Foundation
import TestSupport
import Testing

/// Files as other programs write them.
struct MessyImportTests {
    let workspace: Workspace

    init() throws { workspace = try Workspace() }

    private func rows(_ sql: String) throws -> [String] {
        try workspace.rows("a.db", sql)
    }

    /// Imports a text, and returns what the program says.
    private func run(_ text: String, _ name: String, _ options: String...) throws -> Program {
        try workspace.write(text, to: name)
        return try workspace.importing(name, options)
    }

    // MARK: - Lines

    @Test func `short lines get NULLs and long ones are cut on request, and both are counted`()
        throws
    {
        let text = "a,b,c\n1,2,3\n4\n5,6,7,8\n9,10\n"
        let refused = try run(text, "t.csv")
        check(refused.status, equals: 16)
        check(refused.errors.contains("line 3: 1 field instead of 3"), "\(refused.errors)")
        check(refused.errors.contains("--fill sets the missing ones to NULL"))
        check(refused.errors.contains("--skip leaves out such lines"))
        check(!workspace.exists("a.db"))

        let filled = try run(text, "t.csv", "--fill")
        check(
            filled.text,
            equals: "imported 4 rows into t, 2 short lines filled, 1 long line cut\n",
            "\(filled.errors)")
        try check(
            rows("SELECT quote(a), quote(b), quote(c) FROM t"),
            equals: ["1|2|3", "4|NULL|NULL", "5|6|7", "9|10|NULL"])
    }

    @Test func `lines that cannot be imported are left out on request, and named`() throws {
        try workspace.fill("a.db", "CREATE TABLE t (a UNIQUE, b NOT NULL);")
        let text = "a,b\n1,x\n\"2\"x,\"y\n3,y\n1,secret\n4\n5,z\n6,\"open\n"
        let program = try run(text, "t.csv", "--skip")
        check(program.status, equals: 0)
        check(program.text, equals: "imported 3 rows into t, 4 lines left out\n")
        for reason in [
            "line 3 is left out: text follows the closing quote of field 1",
            "line 5 is left out: UNIQUE constraint failed", "line 6 is left out: 1 field instead",
            "line 8 is left out: field 2 has no closing quote",
        ] {
            check(program.errors.contains(reason), "\(reason): \(program.errors)")
        }
        check(!program.errors.contains("secret"))
        try check(rows("SELECT a, b FROM t"), equals: ["1|x", "3|y", "5|z"])
    }

    @Test func `lines that are left out are in the JSON report, of which only ten are told`() throws
    {
        let text = "a,b\n" + String(repeating: "1\n", count: 12) + "1,2\n1,2,3\n"
        let program = try run(text, "t.csv", "--skip", "--json")
        let answer = try JSONSerialization.jsonObject(with: program.output) as? [String: Any]
        check(answer?["skipped"] as? Int, equals: 13, "\(program.text)")
        check(answer?["rows"] as? Int, equals: 1)
        check(program.errors.split(separator: "\n").count, equals: 10)
        check(program.errors.hasPrefix(#"{"code":"warning","message":"line 2 is left out: "#))
    }

    @Test func `a table that rolls back at a conflict ends the import`() throws {
        try workspace.fill("a.db", "CREATE TABLE t (a UNIQUE ON CONFLICT ROLLBACK, b);")
        let program = try run("a,b\n1,2\n1,3\n4,5\n", "t.csv", "--skip")
        check(program.status, equals: 8, "\(program.text)")
        try check(rows("SELECT count(*) FROM t"), equals: ["0"])
    }

    // MARK: - Columns

    @Test func `columns without a name and with a taken one get names, which are told`() throws {
        let program = try run("a,,A,a_2,\n1,2,3,4,\n", "t.csv")
        check(
            program.text,
            equals: """
                imported 1 row into t, column 2 named "column2", column 3 named "A_2", \
                column 4 named "a_2_2", column 5 named "column5"

                """, "\(program.errors)")
        try check(
            rows("SELECT name FROM pragma_table_info('t')"),
            equals: ["a", "column2", "A_2", "a_2_2", "column5"])
    }

    @Test(arguments: ["t.csv", "t.jsonl"])
    func `a column that the table lacks is an error that names the option which adds it`(
        _ name: String
    ) throws {
        try workspace.fill("a.db", "CREATE TABLE t (a); INSERT INTO t VALUES (0)")
        let text = name.hasSuffix("csv") ? "A,new\n1,2\n" : "{\"A\":1}\n{\"a\":3,\"new\":2}\n"
        let refused = try run(text, name)
        check(refused.status, equals: 8)
        let line = name.hasSuffix("csv") ? 1 : 2
        check(
            refused.errors.contains("line \(line): table t has no column named new"),
            "\(refused.errors)")
        check(refused.errors.contains("--add-columns adds it"))
        try check(rows("SELECT a FROM t"), equals: ["0"])

        let added = try run(text, name, "--add-columns")
        check(added.text.hasSuffix("into t, added \"new\"\n"), "\(added.text)\(added.errors)")
        try check(rows("SELECT quote(new) FROM t WHERE new = 2"), equals: ["2"])
    }

    // MARK: - Delimiters, line ends, encodings

    @Test(arguments: [
        ("a;b\n1,5;2,5\n", ";", "fields separated by \";\""),
        ("a\tb\n1\t2, 3\n", "\t", "fields separated by tabs"),
        ("a|b\n\"x;y;z\"|2\n", "|", "fields separated by \"|\""),
    ])
    func `the delimiter is found out, and told`(
        _ text: String, _ delimiter: String, _ remark: String
    ) throws {
        let program = try run(text, "t.csv")
        check(program.text, equals: "imported 1 row into t, \(remark)\n", "\(program.errors)")
        try check(rows("SELECT count(*) FROM pragma_table_info('t')"), equals: ["2"])
        // What is given holds, and commas need no word.
        try check(
            workspace.importing("t.csv", ["--delimiter", delimiter, "--table", "u"]).text,
            equals: "imported 1 row into u\n")
        try check(run("a,b\n1;2,3;4\n", "v.csv").text, equals: "imported 1 row into v\n")
    }

    @Test(arguments: ["\r", "\r\n", "\n"])
    func `any line ends are read`(_ end: String) throws {
        let lines = ["a,b", "1,\"x\(end)y\"", "2,z", ""]
        let program = try run(lines.joined(separator: end), "t.csv")
        check(program.text, equals: "imported 2 rows into t\n", "\(program.errors)")
        try check(rows("SELECT a, b FROM t"), equals: ["1|x\(end)y", "2|z"])
        let broken = try run(["a,b", "1,2", "3"].joined(separator: end), "u.csv")
        check(broken.errors.contains("line 3: "), "\(broken.errors)")
        let json = try run(["{\"a\":1}", "{\"a\":2}", "[]"].joined(separator: end), "v.jsonl")
        check(json.errors.contains("line 3: "), "\(json.errors)")
    }

    @Test(arguments: [String.Encoding.utf16LittleEndian, .utf16BigEndian])
    func `UTF-16 with a byte-order mark is read, wherever a chunk ends`(
        _ encoding: String.Encoding
    ) throws {
        var text = "\u{feff}name;size\r\n"
        for number in 0..<20_000 { text += "Ä😀日;\(number)\r\n" }
        let data = try require(text.data(using: encoding))
        try workspace.write(data, to: "t.csv")
        let program = try workspace.importing("t.csv", [])
        check(
            program.text, equals: "imported 20000 rows into t, fields separated by \";\"\n",
            "\(program.errors)")
        try check(
            rows("SELECT count(*), sum(size) FROM t WHERE name = 'Ä😀日'"),
            equals: ["20000|199990000"])
        try workspace.write(data.dropLast(), to: "cut.csv")
        let cut = try workspace.importing("cut.csv", [])
        check(cut.status == 16 && cut.errors.contains("is not UTF-16"), "\(cut.errors)")
    }

    @Test func `a pipe is read as a file is`() throws {
        let text = "\u{feff}a;b\r1;2,5\r007;\r"
        let program = try workspace.run(
            "import", "a.db", "-", "--format", "csv", "--table", "t", input: text)
        check(
            program.text, equals: "imported 2 rows into t, fields separated by \";\"\n",
            "\(program.errors)")
        try check(rows("SELECT quote(a), quote(b) FROM t"), equals: ["'1'|'2,5'", "'007'|''"])
    }
}
