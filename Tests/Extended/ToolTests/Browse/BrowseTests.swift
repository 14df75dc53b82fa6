import Foundation
import SecureStorage
import TestSupport
import Testing

/// The browser in a real terminal.
@Suite(.enabled(if: PseudoTerminal.isAvailable)) struct BrowseTests {
    let workspace: Workspace
    private let browse = "securestorage browse a.db --key-file key --raw-key"

    init() throws { workspace = try Workspace() }

    /// Fills a table that many screens are needed for.
    private func fill(_ count: Int = 20_000) throws {
        try workspace.fill(
            "a.db",
            """
            CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT, city TEXT, note);
            WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < \(count))
            INSERT INTO person SELECT x, 'person ' || x,
                CASE x % 3 WHEN 0 THEN 'London' WHEN 1 THEN '日本東京' END, x * 1.5 FROM c;
            CREATE VIEW londoner AS SELECT name FROM person WHERE city = 'London';
            """)
    }

    @Test func `a table is paged, searched and filtered`() throws {
        try fill()
        let terminal = try PseudoTerminal(workspace, browse)
        try terminal.wait("the list") { $0[3].hasPrefix(" person") && $0[3].hasSuffix("20000") }
        terminal.send("j\r")
        let first = try terminal.wait("the first page") { $0[2].contains("person 1 ") }
        check(first[1].hasPrefix("id  name       city      note"))
        check(first[22].hasPrefix("21  person 21") && first[23].contains("? help"))
        terminal.send(" ")
        try terminal.wait("the second page") { $0[2].hasPrefix("21  ") && $0[22].hasPrefix("41  ") }
        terminal.send("G")
        try terminal.wait("the end") {
            $0[22].hasPrefix("20000  person 20000") && $0[0].contains("row 20000 of 20000")
        }
        terminal.send("b")
        try terminal.wait("the page before") { $0[2].hasPrefix("19960  ") }
        terminal.send("g/PERSON 777\r")
        try terminal.wait("what was searched") {
            $0[2].hasPrefix("777  ") && $0[0].contains("column 2 of 4")
        }
        terminal.send("n")
        try terminal.wait("the next one") { $0[2].hasPrefix("7770  ") }
        terminal.send("N")
        try terminal.wait("the previous one") { $0[2].hasPrefix("777  ") }
        terminal.send("fcity = 'London' AND id > 19000\r")
        try terminal.wait("the filtered rows") {
            $0[2].hasPrefix("19002  ") && $0[3].hasPrefix("19005  ")
        }
        terminal.send("f\u{15}nonsense\r")
        try terminal.wait("the error") { $0[23].contains("no such column") }
        terminal.send("ls")
        try terminal.wait("the schema") { $0[1].hasPrefix("CREATE TABLE person (id INTEGER") }
        terminal.send("q\r")
        try terminal.wait("the value") {
            $0[0].contains("city of row 19002, 6 bytes") && $0[1] == "London"
        }
        terminal.send("Q")
        try terminal.expect("[status 0]")
        check(terminal.shown().unknown, equals: [])
    }

    /// The signals and keys that end the program, with its status.
    static let ends: [(keys: String, signal: String, status: Int)] = [
        ("q", "", 0), ("Q", "", 0), ("\u{3}", "", 130), ("", "TERM", 143), ("", "HUP", 129),
        ("", "ABRT", 134),
    ]

    @Test(arguments: ends)
    func `nothing of the data stays on the screen, and the terminal is as before`(
        _ end: (keys: String, signal: String, status: Int)
    ) throws {
        try workspace.fill(
            "a.db", "CREATE TABLE canary (a); INSERT INTO canary VALUES ('canary in a value');")
        let terminal = try PseudoTerminal(
            workspace,
            """
            echo first; before=$(stty -g)
            bash -c 'echo $$ > pid; exec \(browse) canary'
            status=$?; [ "$before" = "$(stty -g)" ] && echo "same settings, $status"
            """)
        try terminal.wait("the row") { $0[2] == "canary in a value" }
        if end.signal.isEmpty {
            terminal.send(end.keys == "q" ? "qq" : end.keys)
        } else {
            let pid = String(decoding: try workspace.read("pid"), as: UTF8.self)
                .trimmingCharacters(in: .newlines)
            _ = try workspace.shell("kill -\(end.signal) \(pid)")
        }
        try terminal.expect("same settings, \(end.status)")
        let screen = terminal.shown()
        check(!screen.isAlternate && screen.lines.first == "first")
        check(!screen.lines.joined().contains("canary in") && screen.unknown == [])
    }

    @Test func `Ctrl-Z suspends it, and fg continues with the same screen`() throws {
        try fill(100)
        let terminal = try PseudoTerminal(
            workspace,
            """
            set -m
            \(browse) person
            echo "stopped, $(stty -a | grep -o ' echo ')"
            fg > /dev/null
            """)
        try terminal.wait("the screen") { $0[2].contains("person 1") }
        terminal.send("jjj")
        try terminal.wait("the row") { $0[0].contains("row 4 of 100") }
        terminal.send("\u{1a}")
        try terminal.expect("stopped,  echo ")
        let again = try terminal.wait("the screen again") { $0[0].contains("row 4 of 100") }
        check(again[2].hasPrefix(" 1  person 1"))
        terminal.send("Q")
        try terminal.expect("[status 0]")
    }

    @Test func `a change of the terminal's size is followed`() throws {
        try fill(100)
        let terminal = try PseudoTerminal(
            workspace, "(sleep 1; stty cols 120 rows 40 < /dev/tty) & \(browse) person; wait")
        try terminal.wait("the smaller screen") { $0[22].hasPrefix("21  ") }
        try terminal.wait("the larger screen", columns: 120, lines: 40) {
            $0[38].hasPrefix("37  ") && $0[39].contains("? help")
        }
        terminal.send("Q")
        try terminal.expect("[status 0]")
    }

    @Test func `control characters in names and values are shown, not sent`() throws {
        try workspace.fill("a.db", "CREATE TABLE \"t\u{1b}]0;owned\u{7}\" (\"c\u{9b}31m\");")
        let store = try workspace.store("a.db")
        try store.executeUpdate(
            "INSERT INTO \"t\u{1b}]0;owned\u{7}\" VALUES (?)",
            values: ["a\u{1b}]0;owned\u{7}b\u{9b}31mc\u{202e}d\re\n"])
        store.close()
        let terminal = try PseudoTerminal(workspace, browse)
        try terminal.wait("the name") { $0[2].hasPrefix(#" t\x1b]0;owned\x07"#) }
        terminal.send("\r")
        try terminal.wait("the value") { $0[2] == #"a\x1b]0;owned\x07b\u{9b}31mc\u{202e}d\re\n"# }
        terminal.send("\r")
        try terminal.wait("the whole value") { $0[1].hasPrefix(#"a\x1b]0;owned\x07b\u{9b}31mc"#) }
        terminal.send("qs")
        try terminal.wait("the schema") { $0[1].hasPrefix(#"CREATE TABLE "t\x1b]0;owned"#) }
        terminal.send("Q")
        try terminal.expect("[status 0]")
        check(terminal.shown().unknown, equals: [])
    }

    @Test func `with --write, a cell is edited and a row deleted after a question`() throws {
        try fill(5)
        let terminal = try PseudoTerminal(workspace, browse + " person --write")
        try terminal.wait("the rows") { $0[2].contains("person 1") }
        terminal.send("le")
        try terminal.wait("the old value") { $0[23] == "new name: person 1" }
        terminal.send("\u{15}Ada\r")
        try terminal.wait("the question") { $0[23] == "set name of the row 1 to Ada? (y/n)" }
        terminal.send("n")
        try terminal.wait("the refusal") { $0[23] == "nothing was changed" }
        terminal.send("e\u{15}Ada\ry")
        try terminal.wait("the new value") {
            $0[2].contains("Ada") && $0[23] == "the cell was changed"
        }
        terminal.send("jd")
        try terminal.wait("the question") { $0[23] == "delete the row 2 of person? (y/n)" }
        terminal.send("y")
        try terminal.wait("the shorter table") {
            $0[23] == "the row was deleted" && $0[3].contains("person 3")
        }
        // The row that is in its place now, not the first one.
        terminal.send("d")
        try terminal.wait("the question") { $0[23] == "delete the row 3 of person? (y/n)" }
        terminal.send("n")
        terminal.send("Q")
        try terminal.expect("[status 0]")
        let rows = try workspace.run("query", "a.db", "--csv", "SELECT id, name FROM person")
        check(
            rows.text, equals: "id,name\r\n1,Ada\r\n3,person 3\r\n4,person 4\r\n5,person 5\r\n")
    }

    @Test func `without --write nothing is changed`() throws {
        try fill(5)
        let terminal = try PseudoTerminal(workspace, browse + " person")
        try terminal.wait("the rows") { $0[2].contains("person 1") }
        for key in ["e", "d"] {
            terminal.send(key)
            try terminal.wait("the refusal") { $0[23].contains("start with --write") }
            terminal.send("j")
        }
        terminal.send("Q")
        try terminal.expect("[status 0]")
    }

    @Test func `NO_COLOR turns colours off, but the chosen row is still marked`() throws {
        try fill(5)
        for (setting, hasColors) in [("NO_COLOR=1 ", false), ("NO_COLOR= ", true)] {
            let terminal = try PseudoTerminal(workspace, setting + browse + " person")
            let start = try terminal.expect("person 2")
            check(start.contains("\u{1b}[30;46m"), equals: hasColors)
            check(start.contains("\u{1b}[7m") != hasColors)
            terminal.send("Q")
            try terminal.expect("[status 0]")
        }
    }

    @Test(arguments: [
        ("TERM=dumb ", "", "TERM is \"dumb\""), ("", " > out", "needs a terminal"),
        ("", " < /dev/null", "needs a terminal"),
        ("stty cols 30; ", "", "has 30 columns and 24 lines"),
    ])
    func `a terminal that cannot show it gets an error`(
        _ before: String, _ after: String, _ message: String
    ) throws {
        try fill(5)
        let terminal = try PseudoTerminal(workspace, before + browse + after, columns: 80)
        let shown = try terminal.expect("[status 2]")
        check(shown.contains("securestorage: ") && shown.contains(message))
        check(!shown.contains("\u{1b}"))
    }

    @Test func `a wrong key ends before the screen is taken over`() throws {
        try workspace.fill("b.db", "CREATE TABLE t (a);", passphrase: "other")
        let terminal = try PseudoTerminal(
            workspace, "securestorage browse b.db --key-file key --raw-key")
        let shown = try terminal.expect("[status 5]")
        check(shown.contains("wrong key") && !shown.contains("\u{1b}"))
    }

    @Test func `a table that another program drops is left with a message`() throws {
        try fill(100)
        let terminal = try PseudoTerminal(workspace, browse + " person")
        try terminal.wait("the rows") { $0[2].contains("person 1") }
        try workspace.fill("a.db", "DROP TABLE person;")
        terminal.send("r")
        try terminal.wait("the message") { $0[23] == "person no longer exists" }
        terminal.send("q")
        try terminal.expect("[status 0]")
    }

    @Test func `the guide shows the screen as it is`() throws {
        try workspace.fill(
            "people.db",
            """
            CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT, born INTEGER, city TEXT, photo BLOB);
            WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 50000)
            INSERT INTO person SELECT x, 'Person ' || x, 1800 + x % 200,
                CASE x % 4 WHEN 0 THEN 'London' WHEN 1 THEN '東京' WHEN 2 THEN 'New York, NY' END,
                CASE x % 3 WHEN 0 THEN zeroblob(40) END FROM c;
            """)
        let terminal = try PseudoTerminal(
            workspace, "securestorage browse people.db person --key-file key --raw-key", lines: 14)
        try terminal.wait("the rows") { $0[0].hasSuffix("of 50000") && $0[2].contains("Person 1") }
        terminal.send("/person 49\rll")
        let screen = try terminal.wait("the row") {
            $0[2].hasPrefix("49  ") && $0[0].contains("column 4")
        }
        terminal.send("Q")
        try terminal.expect("[status 0]")
        let text = try Checkout.text("Docs/Tool.md")
        check(
            text.contains("```text\n" + screen.joined(separator: "\n") + "\n```"),
            "\(screen.joined(separator: "\n"))")
    }
}
