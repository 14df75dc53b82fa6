import Foundation
import SecureStorage
import TestSupport
import Testing

/// The shell's keys, typed in a terminal.
@Suite(.enabled(if: PseudoTerminal.isAvailable)) struct ShellEditingTests {
    let workspace: Workspace
    private let shell = "securestorage shell a.db --key-file key --raw-key"
    private let up = "\u{1b}[A"

    init() throws {
        workspace = try Workspace()
        try workspace.fill(
            "a.db",
            """
            CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT, texture TEXT);
            CREATE TABLE "odd name" ("a b"); INSERT INTO note VALUES (1, 'milk', 'soft');
            """)
    }

    private func start(_ options: String = "") throws -> PseudoTerminal {
        let terminal = try PseudoTerminal(workspace, "unset PAGER; \(shell) \(options)")
        try terminal.expect("securestorage> ")
        // The terminal must be set up before a key that it would act on itself.
        terminal.type("SELECT 'ready' || '!';")
        try terminal.expect("\nready!")
        try terminal.expect("securestorage> ")
        usleep(100_000)
        return terminal
    }

    // MARK: - Completion

    @Test(
        arguments: [
            ("SELECT * FROM no\t", "note "), ("SELE\t", "SELECT "),
            ("SELECT textu\t", "texture "), ("SELECT n.textu\t", "textu"),
            ("SELECT * FROM note AS n WHERE n.textu\t", "texture "),
            ("SELECT note.i\t", "id "), ("SELECT * FROM o\t", "\"odd name\" "),
            ("PRAGMA user_v\t", "user_version "), ("PRAGMA cipher_se\t", "cipher_settings "),
            ("SELECT group_c\t", "group_concat "), (".mo\t", ".mode "),
            (".mode mark\t", "markdown "),
            (".timer of\t", "off "), (".schema no\t", "note "), (".read scr\t", "script.sql "),
            ("SELECT 'no\t", "'no"), ("qu\t", "qu"), ("-- SEL\t", "SEL"),
        ])
    func `Tab completes names, keywords and commands`(_ typed: String, _ shown: String) throws {
        try workspace.write("", to: "script.sql")
        let terminal = try start()
        terminal.send(typed + "~")
        // What is drawn last ends with the completed word and the character after it.
        try terminal.expect(shown + "~")
        terminal.send(PseudoTerminal.controlC)
        try terminal.expect("securestorage> ")
        try terminal.leave()
    }

    @Test func `a second Tab lists what is possible`() throws {
        let terminal = try start()
        terminal.send("SELECT tex\t\t")
        try terminal.expect("texture")
        terminal.send("u\t, 40 + 2 FROM note;\r")
        try terminal.expect("soft         42")
        try terminal.leave()
    }

    @Test func `a table is completed as soon as it exists`() throws {
        let terminal = try start()
        terminal.type("CREATE TABLE later (c);")
        try terminal.expect("\nok")
        terminal.send("SELECT * FROM lat\t;\r")
        try terminal.expect("later ;")
        try terminal.leave()
    }

    @Test func `names that would control the terminal are not offered`() throws {
        let store = try workspace.store("a.db")
        try store.executeUpdate("CREATE TABLE \"hostile\u{1b}]0;owned\u{7}\" (a)")
        store.close()
        let terminal = try start()
        terminal.send("SELECT * FROM host\t\t\t~")
        let shown = try terminal.expect("host~")
        check(!shown.contains("owned"))
        terminal.send(PseudoTerminal.controlC)
        try terminal.expect("securestorage> ")
        try terminal.leave()
    }

    // MARK: - History

    @Test func `a statement of several lines is one entry, for the next session too`() throws {
        let terminal = try start("--history typed")
        terminal.type("SELECT 40 AS n,")
        try terminal.expect("...> ")
        terminal.type("2;")
        try terminal.expect("\n40  2")
        try terminal.expect("securestorage> ")
        terminal.send(up)
        try terminal.expect("SELECT 40 AS n,")
        // Its last line, changed.
        terminal.send("\u{7f}\u{7f}3;\r")
        try terminal.expect("\n40  3")
        try terminal.leave()
        check(
            String(decoding: try workspace.read("typed"), as: UTF8.self),
            equals: "SELECT 'ready' || '!';\nSELECT 40 AS n,\n\t2;\nSELECT 40 AS n,\n\t3;\n")

        let next = try start("--history typed")
        // Over what `start` has typed, to the statement before it.
        next.send(up + up + "\u{7f}\u{7f}4;\r")
        try next.expect("\n40  4")
        try next.leave()
    }

    @Test func `the up key goes to the line above before it recalls`() throws {
        let terminal = try start()
        terminal.type("SELECT 40 AS n,")
        try terminal.expect("...> ")
        // Up to the first line and to its end, more text there, down again.
        terminal.send("2;\u{1b}[A\u{5} 1000,\u{1b}[B\u{5}\r")
        try terminal.expect("\n40  1000  2")
        try terminal.leave()
    }

    @Test func `Ctrl-R searches what was typed`() throws {
        let terminal = try start()
        for sql in ["SELECT 1 AS one;", "SELECT 2 AS two;"] {
            terminal.type(sql)
            try terminal.expect("\n───")
            try terminal.expect("securestorage> ")
        }
        terminal.send("\u{12}AS ONE")
        try terminal.expect("(search: AS ONE) SELECT 1 AS one;")
        terminal.send("\r")
        try terminal.expect("\n  1")
        try terminal.expect("securestorage> ")
        terminal.send("\u{12}nonsense")
        try terminal.expect("(not found: nonsense)")
        terminal.send("\u{7}SELECT 40 + 2;\r")
        try terminal.expect("\n    42")
        try terminal.leave()
    }

    @Test func `what may hold a key is in no history`() throws {
        let terminal = try start("--history typed")
        terminal.type("ATTACH 'b.db' AS b")
        try terminal.expect("...> ")
        terminal.type("KEY 'canary';")
        try terminal.expect("securestorage> ")
        terminal.type("PRAGMA rekey = 'canary")
        try terminal.expect("...> ")
        terminal.send(PseudoTerminal.controlC)
        try terminal.expect("securestorage> ")
        terminal.send("\u{12}canary")
        try terminal.expect("(not found: canary)")
        terminal.send("\u{7}")
        try terminal.leave()
        check(!String(decoding: try workspace.read("typed"), as: UTF8.self).contains("canary"))
    }

    // MARK: - Keys

    @Test func `pasted text runs at Enter, with its tabs`() throws {
        let terminal = try start()
        terminal.send("\u{1b}[200~SELECT 40\n\t+ 2;\nSELECT 50\n+ 1;\n\u{1b}[201~")
        try terminal.expect("+ 1;")
        usleep(200_000)
        check(!terminal.screen.contains("42"))
        terminal.send("\r")
        try terminal.expect("    42")
        try terminal.expect("    51")
        try terminal.leave()
    }

    @Test func `a line that is longer than the terminal is edited over its rows`() throws {
        let terminal = try start()
        let long = String(repeating: "x", count: 150)
        terminal.send("SELECT length('\(long)');")
        try terminal.expect("xxx');")
        terminal.send("\u{1}\u{4}\u{4}S\u{5}\u{7f}\u{7f} - 100;\r")
        try terminal.expect("syntax error")
        try terminal.expect("securestorage> ")
        terminal.send(up + "\u{1}\u{4}SE\u{5}\r")
        try terminal.expect("syntax error")
        try terminal.leave()
    }

    @Test func `characters of several bytes are deleted whole`() throws {
        let terminal = try start()
        terminal.send("SELECT 'é日👩‍👩‍👧x\u{1b}[D\u{7f}\u{7f}\u{1b}[C' AS t;\r")
        try terminal.expect("\néx")
        try terminal.leave()
    }

    @Test func `Ctrl-D ends the shell at an empty line only, and in a statement deletes`() throws {
        let terminal = try start()
        terminal.send("SELECT 40 + 2;x\u{2}\u{4}\r")
        try terminal.expect("\n    42")
        try terminal.expect("securestorage> ")
        terminal.send("SELECT 1\u{4}\u{4}")
        usleep(300_000)
        check(!terminal.screen.contains("[status"))
        terminal.send(PseudoTerminal.controlC)
        try terminal.expect("securestorage> ")
        try terminal.leave()
    }

    @Test func `Ctrl-Z stops the shell, which resumes where it was`() throws {
        let terminal = try PseudoTerminal(
            workspace, "set -m; \(shell); echo [stopped]; stty -a | grep -o ' echo '; fg")
        try terminal.expect("securestorage> ")
        terminal.type("SELECT 'ready' || '!';")
        try terminal.expect("\nready!")
        try terminal.expect("securestorage> ")
        usleep(100_000)
        terminal.send("SELECT 40 + \u{1a}")
        try terminal.expect("[stopped]")
        try terminal.expect(" echo ")
        try terminal.expect("SELECT 40 + ")
        terminal.send("2;\r")
        try terminal.expect("\n    42")
        try terminal.leave()
    }

    @Test func `a signal that ends the shell leaves the terminal as it was`() throws {
        let terminal = try PseudoTerminal(
            workspace, "sh -c 'echo $$ > pid; exec \(shell)'; echo [$?]; stty -a | grep -o ' echo '"
        )
        try terminal.expect("securestorage> ")
        usleep(200_000)
        let process = try require(
            pid_t(String(decoding: workspace.read("pid"), as: UTF8.self).dropLast()))
        kill(process, SIGTERM)
        try terminal.expect("[143]")
        try terminal.expect(" echo ")
    }

    // MARK: - Key

    @Test func `a wrong key is asked for again, twice`() throws {
        try workspace.fill("b.db", "CREATE TABLE t (a);", passphrase: "sesame")
        let open = "securestorage shell b.db --kdf-iterations 1"
        let terminal = try PseudoTerminal(workspace, open)
        for wrong in ["wrong 1", "wrong 2"] {
            try terminal.expect("key of b.db: ")
            terminal.type(wrong)
            let shown = try terminal.expect("wrong key; try again")
            check(!shown.contains("wrong"))
        }
        try terminal.expect("key of b.db: ")
        terminal.type("sesame")
        try terminal.expect("securestorage> ")
        try terminal.leave()

        let other = try PseudoTerminal(workspace, open)
        for _ in 1...3 {
            try other.expect("key of b.db: ")
            other.type("wrong")
        }
        try other.expect("cannot open")
        try other.expect("[status 5]")
    }
}
