import TestSupport
import Testing

/// Where in the SQL an error is.
struct ErrorPlaceTests {
    let workspace: Workspace

    init() throws {
        workspace = try Workspace()
        try workspace.fill("a.db", "CREATE TABLE t (a UNIQUE);")
    }

    @Test(arguments: ["shell", "query -", "import"])
    func `an error is marked in its line, whose number is that of the script`(_ verb: String) throws
    {
        try workspace.write(
            """
            INSERT INTO t VALUES (1);
            INSERT INTO t
            SELECT 1,
            \t'日本', nonsense FROM t;
            """, to: "s.sql")
        let words = verb.split(separator: " ").map { String($0) }
        let program = try workspace.shell(
            verb == "import"
                ? "securestorage import a.db s.sql --key-file key --raw-key"
                : "securestorage \(words[0]) a.db \(words.dropFirst().joined()) --key-file key --raw-key < s.sql"
        )
        check(program.status, equals: 8)
        let ending = verb == "import" ? "; nothing was imported" : ""
        check(
            program.errors,
            equals: """
                securestorage: line 4: no such column: nonsense [SQLITE_ERROR] (1)\(ending)
                  \\t'日本', nonsense FROM t;
                            ^

                """)
    }

    @Test func `long SQL is not repeated, but its part around the error`() throws {
        let long = (0..<200).map { "'value \($0)'" }.joined(separator: ", ")
        let program = try workspace.run("query", "a.db", "SELECT \(long), none, \(long)")
        check(
            program.errors,
            equals: """
                securestorage: no such column: none [SQLITE_ERROR] (1)
                  …lue 197', 'value 198', 'value 199', none, 'value 0', 'value 1', 'value 2…
                                                       ^

                """, "\(program.errors)")
        let inserted = try workspace.run(
            "query", "a.db", "INSERT INTO t VALUES (1), (1)\n-- \(long)")
        check(
            inserted.errors,
            equals: """
                securestorage: UNIQUE constraint failed: t.a; in: INSERT INTO t VALUES (1), (1)… \
                [SQLITE_CONSTRAINT_UNIQUE] (19)

                """)
    }

    @Test func `a statement with a key is not shown`() throws {
        for sql in [
            "SELECT nonsense; PRAGMA key = 'sesame'", "PRAGMA key = 'x' 'sesame'",
            "SELECT nonsense, key = 'sesame'",
        ] {
            let program = try workspace.run("query", "a.db", sql)
            check(program.status != 0 && !program.errors.contains("sesame"), "\(program.errors)")
        }
    }

    @Test func `JSON has the statement from the error on`() throws {
        let program = try workspace.run("query", "a.db", "SELECT\n1, nonsense, 2", "--json")
        check(
            program.errors,
            equals:
                #"{"code":"sql","message":"line 2: no such column: nonsense [SQLITE_ERROR] (1)","#
                + #""near":"nonsense, 2","status":8}"# + "\n")
    }

    @Test func `an error in a file that is read has its line there`() throws {
        try workspace.write("\n\nSELECT 1,\nno,\n2;\n", to: "inner.sql")
        try workspace.write("SELECT\n1;\n.read inner.sql\n", to: "outer.sql")
        let program = try workspace.shell(
            "securestorage shell a.db --key-file key --raw-key < outer.sql")
        check(
            program.errors.hasPrefix(
                "securestorage: line 3: inner.sql, line 4: no such column: no [SQLITE_ERROR] (1)\n"
                    + "  no,\n  ^\n"), equals: true, "\(program.errors)")
    }
}
