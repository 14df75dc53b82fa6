import ArgumentParser
import Foundation
import TestSupport
import Testing

@testable import SecureStorageTool

struct UsageTests {
    let workspace: Workspace
    private static let verbs = [
        "info", "query", "shell", "browse", "import", "export", "rekey", "kv", "kv list", "kv get",
        "kv put",
        "kv remove", "mirror", "restore", "mirrors", "mirror-log", "mirror-verify",
        "sync", "sync status", "sync create", "sync invite", "sync join", "sync run",
        "sync members", "sync remove", "sync leave", "sync reset", "sync conflicts", "sync verify",
    ]

    init() throws { workspace = try Workspace() }

    @Test(arguments: verbs)
    func `the help of each verb contains examples`(_ verb: String) throws {
        // Without a process: the program would print the text, and end with the code.
        let error = try require(
            #expect(throws: (any Error).self) {
                var help = try Tool.parseAsRoot(
                    verb.split(separator: " ").map(String.init) + ["--help"])
                try help.run()
            })
        let text = Tool.fullMessage(for: error)
        check(Tool.exitCode(for: error).isSuccess && text.contains("USAGE:"))
        check(text.contains("EXAMPLES\n  ") && text.contains("securestorage \(verb) "))
    }

    @Test func `help is on standard output`() throws {
        let program = try workspace.shell("securestorage query --help")
        check(program.status == 0 && program.errors == "" && program.text.contains("EXAMPLES"))
    }

    @Test(
        arguments: [
            ("qurey a.db", "did you mean \"query\"?"), ("shel", "did you mean \"shell\"?"),
            ("mirror-lgo", "did you mean \"mirror-log\"?"),
            ("a.db", "securestorage --help lists them"),
        ])
    func `a mistyped verb is refused, and the nearest one named`(
        _ arguments: String, _ hint: String
    )
        throws
    {
        let program = try workspace.shell("securestorage \(arguments)")
        check(program.status, equals: 2)
        check(program.errors.contains("hint: " + hint), "\(program.errors)")
    }

    @Test func `the distance of two words counts letters, and swapped ones once`() {
        for (one, other, distance) in [
            ("", "", 0), ("", "ab", 2), ("verify", "verify", 0), ("verfiy", "verify", 1),
            ("verif", "verify", 1), ("xverify", "verify", 1), ("vexify", "verify", 1),
            ("query", "rekey", 4),
        ] {
            check(Tool.distance(one, other), equals: distance, "\(one) \(other)")
            check(Tool.distance(other, one), equals: distance, "\(other) \(one)")
        }
    }

    @Test func `help that cannot be written is a failure`() throws {
        let program = try workspace.shell("securestorage --help > /dev/full")
        check(program.status, equals: 14)
        check(program.errors.contains("No space left"), "\(program.errors)")
    }

    @Test(arguments: [
        "--nonsense", "nonsense", "query", "query a.db", "info a.db b.db", "browse", "browse a.db",
        "import a.db",
        "kv get a.db", "query a.db x --json --csv", "export a.db",
        "export a.db --table t --query x",
        "import a.db x.csv --delimiter ab", "import a.db data", "kv put a.db k v --type nonsense",
        "mirror a.db", "mirror a.db --to x --interval=-1", "mirror a.db --to x --keep-all soon",
        "mirror a.db --to x --purge-old-keys", "mirrors",
        "restore a.db", "restore a.db --from data --at yesterday", "mirror-log --from data",
        "sync run a.db", "sync create a.db --store data --device-keys x",
        "sync join a.db --store s --device-keys x --name n --code-fd 3 --code-file f",
        "sync status", "mirror-verify --name a.db", "mirror a.db --to postgresql:",
        "mirror a.db --to postgresql:g --postgresql a=b --postgresql-file data",
    ])
    func `wrong usage ends with status 2 and a message`(_ arguments: String) throws {
        try workspace.write("a\n", to: "data")
        let program = try workspace.shell("securestorage \(arguments) < /dev/null")
        check(program.status, equals: 2, "\(program.text)")
        let begin = arguments.contains("--json") ? "{\"code\":\"usage\"" : "securestorage: "
        check(program.errors.hasPrefix(begin) && program.text == "")
        try check(workspace.names, equals: ["data", "key"])
    }

    @Test(arguments: ["bash", "zsh", "fish"])
    func `a completion script can be generated`(_ name: String) throws {
        let program = try workspace.shell("securestorage --generate-completion-script \(name)")
        check(program.status == 0 && program.text.contains("securestorage"))
    }

    @Test(.enabled(if: PseudoTerminal.isAvailable))
    func `a message shows no control characters from a name`() throws {
        let terminal = try PseudoTerminal(
            workspace, #"securestorage info $'a\e]0;owned\a.db' --key-file key --raw-key"#)
        let shown = try terminal.expect("[status 10]")
        check(shown.contains(#"\x1b]0;owned\x07"#) && !shown.contains("\u{1b}]0;owned"))
    }
}
