import Foundation
import SecureStorage
import TestSupport
import Testing

/// Results longer than the screen, in a terminal of 24 rows.
@Suite(.enabled(if: PseudoTerminal.isAvailable)) struct PagerTests {
    let workspace: Workspace
    private let shell = "securestorage shell a.db --key-file key --raw-key"
    private let numbers = "SELECT * FROM numbers"

    init() throws {
        workspace = try Workspace()
        try workspace.fill(
            "a.db",
            """
            CREATE VIEW numbers AS WITH RECURSIVE
            c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 100000) SELECT x, 'row' AS r FROM c;
            CREATE VIEW endless AS WITH RECURSIVE
            c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c;
            """)
    }

    private func start(_ pager: String) throws -> PseudoTerminal {
        let terminal = try PseudoTerminal(workspace, "export PAGER='\(pager)'; \(shell)")
        try terminal.expect("securestorage> ")
        return terminal
    }

    @Test func `a long result goes to the pager, a short one does not`() throws {
        let terminal = try start("cat > paged")
        terminal.type("\(numbers) LIMIT 21;")
        try terminal.expect("\n21  row")
        try terminal.expect("securestorage> ")
        check(!workspace.exists("paged"))
        terminal.type("\(numbers) LIMIT 22;")
        try terminal.expect("securestorage> ")
        terminal.type("SELECT 40 + 2;")
        try terminal.expect("\n    42")
        let paged = String(decoding: try workspace.read("paged"), as: UTF8.self)
        check(paged.hasPrefix(" x  r\n") && paged.hasSuffix("22  row\n"))
        try terminal.leave()
    }

    @Test func `leaving the pager ends the query without an error`() throws {
        let terminal = try start("head -n 3 > paged")
        terminal.type("\(numbers);")
        let shown = try terminal.expect("securestorage> ")
        check(!shown.contains("securestorage: "))
        terminal.type("SELECT 40 + 2;")
        try terminal.expect("\n    42")
        try terminal.leave()
        check(String(decoding: try workspace.read("paged"), as: UTF8.self).contains("x  r\n"))
    }

    @Test func `what would control the terminal is escaped for the pager, too`() throws {
        try workspace.fill("a.db", "CREATE TABLE t (x);")
        let store = try workspace.store("a.db")
        try store.executeUpdate(
            "INSERT INTO t VALUES (?)", values: ["\u{1b}[31mred\u{1b}]8;;http://x\u{7}\u{9b}0m"])
        store.close()
        for form in ["table", "csv", "list", "box", "markdown"] {
            let terminal = try start("cat > paged.\(form)")
            terminal.type(".mode \(form)")
            try terminal.expect("securestorage> ")
            terminal.type("SELECT t.x FROM t, (\(numbers) LIMIT 30);")
            try terminal.expect("securestorage> ")
            try terminal.leave()
            let paged = try workspace.read("paged.\(form)")
            check(!paged.contains(0x1b) && !paged.contains(0x07), "\(form)")
            check(String(decoding: paged, as: UTF8.self).contains("red"), "\(form)")
        }
    }

    @Test func `less shows a screen and gives it back`() throws {
        let terminal = try PseudoTerminal(workspace, "unset PAGER; \(shell)")
        try terminal.expect("securestorage> ")
        terminal.type("\(numbers);")
        try terminal.expect("row")
        usleep(500_000)
        terminal.send("q")
        try terminal.expect("securestorage> ")
        terminal.type("SELECT 40 + 2;")
        try terminal.expect("\n    42")
        try terminal.leave()
    }

    @Test func `a pager that does not exist is an error, and .pager off does without`() throws {
        let terminal = try start("no-such-pager")
        terminal.type("\(numbers) LIMIT 50;")
        try terminal.expect("the pager \"no-such-pager\" cannot be run")
        try terminal.expect("securestorage> ")
        terminal.type(".pager off")
        try terminal.expect("securestorage> ")
        terminal.type("\(numbers) LIMIT 50;")
        try terminal.expect("\n50  row")
        try terminal.leave()
    }

    @Test func `without a terminal there is no pager`() throws {
        let program = try workspace.run(
            "shell", "a.db", input: "\(numbers) LIMIT 50;\n",
            environment: ["PAGER": "cat > paged", "TERM": "xterm"])
        check(program.lines.count == 52 && !workspace.exists("paged"))
    }

    @Test func `Ctrl-C ends a query whose rows are in the pager`() throws {
        let terminal = try start("cat > paged")
        terminal.type("SELECT * FROM endless;")
        try terminal.expect("FROM endless;")
        usleep(700_000)
        terminal.send(PseudoTerminal.controlC)
        try terminal.expect("securestorage> ")
        terminal.type("SELECT 40 + 2;")
        try terminal.expect("\n    42")
        try terminal.leave()
    }
}
