import Foundation
import TestSupport
import Testing

/// Tests of where keys come from and where they never appear.
struct KeyTests {
    let workspace: Workspace
    /// A query with one round of key derivation, which these tests are not about.
    private let query = "securestorage query a.db 'SELECT 40 + 2' --kdf-iterations 1"

    init() throws { workspace = try Workspace() }

    /// Makes a file that the passphrase `sesame` opens.
    private func make() throws {
        try workspace.write("sesame", to: "sesame", mode: 0o600)
        try workspace.fill("a.db", "CREATE TABLE t (x)", passphrase: "sesame")
    }

    @Test(arguments: [
        "3< sesame --key-fd 3", "--key-fd 0 < sesame", "--key-fd 3 3<<< sesame",
        "--key-file sesame", "--key-file line", "--key-file dos", "--key-env KEY",
    ])
    func `a key is read from a descriptor, a file or the environment`(_ source: String) throws {
        try make()
        try workspace.write("sesame\n", to: "line", mode: 0o600)
        try workspace.write("sesame\r\n", to: "dos", mode: 0o400)
        let program = try workspace.shell("\(query) \(source)", environment: ["KEY": "sesame"])
        check(program.status, equals: 0, "\(program.errors)")
        check(program.lines.last, equals: "    42")
    }

    @Test func `only one trailing line feed is not part of the key`() throws {
        try make()
        for key in ["sesame\n\n", "sesame ", " sesame", "Sesame", "sesame\r"] {
            try workspace.write(key, to: "other", mode: 0o600)
            let program = try workspace.shell("\(query) --key-file other")
            check(program.status == 5 && program.errors.contains("wrong key"), "\(key)")
        }
    }

    @Test func `a wrong key changes nothing, and the message has a hint`() throws {
        try make()
        let before = try workspace.read("a.db")
        let program = try workspace.shell("\(query) --key-fd 3 3<<< open")
        check(program.status == 5 && program.text == "")
        let lines = program.errors.split(separator: "\n")
        check(lines.count, equals: 2)
        check(lines[0].hasPrefix("securestorage: cannot open") && lines[1].hasPrefix("hint: "))
        try check(workspace.read("a.db"), equals: before)
    }

    @Test(arguments: [0o640, 0o604, 0o660, 0o620, 0o601])
    func `a key file that other users can use is refused`(_ mode: Int) throws {
        try make()
        try require(chmod(workspace.file("sesame"), mode_t(mode)) == 0)
        let program = try workspace.shell("\(query) --key-file sesame")
        check(program.status, equals: 17)
        check(program.errors.contains("is accessible to other users\nhint: chmod 600 sesame"))
    }

    @Test(.enabled(if: geteuid() == 0))
    func `a credential of a service, which is root's and shows rights of the group, is read`()
        throws
    {
        try make()
        try require(chmod(workspace.file("sesame"), 0o440) == 0)
        for (directory, path, status) in [
            (workspace.path, "$PWD/sesame", 0), (workspace.path, "sesame", 17),
            (workspace.path, "$PWD/../${PWD##*/}/sesame", 17), ("/", "$PWD/sesame", 17),
            ("", "$PWD/sesame", 17),
        ] as [(String, String, Int32)] {
            let program = try workspace.shell(
                "\(query) --key-file \(path)", environment: ["CREDENTIALS_DIRECTORY": directory])
            check(program.status, equals: status, "\(directory) \(path): \(program.errors)")
        }
        for mode in [0o444, 0o460, 0o441] as [mode_t] {
            try require(chmod(workspace.file("sesame"), mode) == 0)
            let program = try workspace.shell(
                "\(query) --key-file $PWD/sesame",
                environment: ["CREDENTIALS_DIRECTORY": workspace.path])
            check(program.status == 17 && program.errors.contains("accessible to other users"))
        }
    }

    @Test func `a key file that is a link, a folder, missing, empty or too long is refused`() throws
    {
        try make()
        try workspace.write("", to: "empty", mode: 0o600)
        try workspace.write("\n", to: "blank", mode: 0o600)
        try workspace.write(String(repeating: "x", count: 5000), to: "long", mode: 0o600)
        for (name, reason) in [
            ("link", "is a symbolic link"), (".", "is not a regular file"),
            ("pipe", "is not a regular file"), ("none", "No such file"), ("empty", "is empty"),
            ("blank", "is empty"), ("long", "more than 4096 bytes"),
        ] {
            let program = try workspace.shell(
                "ln -sf sesame link; [ -p pipe ] || mkfifo pipe; chmod 600 pipe; \(query) --key-file \(name)"
            )
            check(program.status == 17 && program.errors.contains(reason), "\(program.errors)")
        }
    }

    /// As Kubernetes mounts a secret, and Docker.
    private func mountSecrets() throws {
        let made = try workspace.shell(
            """
            mkdir -p secret/..2026_11_21 && cp sesame secret/..2026_11_21/password
            ln -s ..2026_11_21 secret/..data && ln -s ..data/password secret/password
            chmod 644 secret/..2026_11_21/password
            mkdir -p run/secrets && cp sesame run/secrets/password && chmod 444 run/secrets/password
            """)
        try require(made.status == 0, "\(made.errors)")
    }

    @Test(arguments: ["secret/password", "run/secrets/password"])
    func `a secret of a container is read on request, and the refusal names the option`(
        _ path: String
    ) throws {
        try make()
        try mountSecrets()
        let refused = try workspace.shell("\(query) --key-file \(path)")
        check(refused.status == 17 && refused.errors.contains("--insecure-key-file"))
        let read = try workspace.shell("\(query) --key-file \(path) --insecure-key-file")
        check(read.status == 0 && read.lines.last == "    42", "\(read.errors)")
        let rekeyed = try workspace.shell(
            "securestorage rekey a.db --key-file sesame --new-key-file \(path) --kdf-iterations 1 "
                + "--insecure-key-file")
        check(rekeyed.status, equals: 0, "\(rekeyed.errors)")
    }

    @Test(arguments: [0o664, 0o646, 0o622])
    func `a key file that others can change is refused in any case`(_ mode: Int) throws {
        try make()
        try require(chmod(workspace.file("sesame"), mode_t(mode)) == 0)
        let program = try workspace.shell("\(query) --key-file sesame --insecure-key-file")
        check(program.status == 17 && program.errors.contains("can be changed by other users"))
    }

    @Test(.enabled(if: geteuid() == 0))
    func `a key file of another user is refused`() throws {
        try make()
        try require(chown(workspace.file("sesame"), 65534, 65534) == 0)
        for option in ["", "--insecure-key-file"] {
            let program = try workspace.shell("\(query) --key-file sesame \(option)")
            check(program.status == 17 && program.errors.contains("belongs to another user"))
        }
    }

    @Test func `wrong use of key options ends with status 2`() throws {
        try make()
        for options in [
            "--key-file sesame --key-env KEY", "--key-fd x", "--key sesame",
            "< /dev/null",
        ] {
            // In a new session, which has no terminal.
            let program = try workspace.shell("setsid -w \(query) \(options)")
            check(program.status, equals: 2, "\(options): \(program.errors)")
            check(program.errors.hasPrefix("securestorage: "))
        }
    }

    @Test func `a variable that is not set is a key that cannot be read`() throws {
        try make()
        let program = try workspace.shell("\(query) --key-env NONE")
        check(program.status, equals: 17)
        check(program.errors.contains("NONE is not set"))
    }

    @Test func `a raw key is 64 or 96 hex digits`() throws {
        let salt = String(repeating: "ab", count: 16)
        try workspace.write(Workspace.rawKey.uppercased() + salt, to: "salted", mode: 0o600)
        try check(
            workspace.shell("securestorage kv put r.db k v --key-file salted --raw-key").status,
            equals: 0)
        try check(workspace.read("r.db").prefix(16), equals: Data(repeating: 0xab, count: 16))
        try check(workspace.run("kv", "get", "r.db", "k").text, equals: "v\n")
        for digits in ["00", Workspace.rawKey + "0", String(Workspace.rawKey.dropLast()) + "g"] {
            try workspace.write(digits, to: "bad", mode: 0o600)
            let program = try workspace.shell(
                "securestorage kv get r.db k --key-file bad --raw-key")
            check(program.status == 17 && program.errors.contains("neither 64 hex digits"))
            check(!program.errors.contains(digits + "\""))
        }
    }

    @Test func `cipher options describe the file`() throws {
        try make()
        let options =
            "--page-size 8192 --kdf-iterations 1000 --hmac sha256 --kdf sha256 "
            + "--plaintext-header 32 --salt 000102030405060708090a0b0c0d0e0f --key-file sesame"
        try check(workspace.shell("securestorage kv put c.db k v \(options)").status, equals: 0)
        try check(workspace.shell("securestorage kv get c.db k \(options)").text, equals: "v\n")
        try check(workspace.read("c.db").starts(with: Data("SQLite format 3\0".utf8)))
        try check(
            workspace.shell("securestorage kv get c.db k --key-file sesame").status, equals: 6)
        let other = "--page-size 8192 --hmac sha256 --key-file sesame"
        try check(workspace.shell("securestorage kv put d.db k v \(other)").status, equals: 0)
        for verb in ["kv get d.db k", "query d.db 'SELECT 1'", "info d.db"] {
            let program = try workspace.shell("securestorage \(verb) --key-file sesame")
            check(program.status, equals: 13, "\(program.errors)")
            check(program.errors.hasSuffix("\nhint: pass --page-size 8192 --hmac sha256\n"))
        }
        let bad = try workspace.shell("securestorage info c.db --salt 00 --key-file sesame")
        check(bad.status == 2 && bad.errors.contains("32 hex digits"))
        try check(
            workspace.shell("securestorage info c.db --page-size 1000 --key-file sesame").status
                != 0)
    }

    // MARK: - Terminals

    @Test(.enabled(if: PseudoTerminal.isAvailable))
    func `the prompt for a key does not echo, and appears twice for a new file`() throws {
        let terminal = try PseudoTerminal(
            workspace, "securestorage kv put a.db theme dark --kdf-iterations 1")
        try terminal.expect("key of a.db (to be set): ")
        terminal.type("wrnog\u{7f}\u{7f}\u{7f}\u{15}sésX\u{7f}ame")
        try terminal.expect("key, once more: ")
        terminal.type("sésame")
        try terminal.expect("put theme")
        try terminal.expect("[status 0]")

        let next = try PseudoTerminal(
            workspace,
            "securestorage kv get a.db theme --kdf-iterations 1 < /dev/null | cat; stty -a | grep -o ' echo '"
        )
        try next.expect("key of a.db: ")
        next.type("sésame")
        let shown = try next.expect("[status 0]")
        check(shown.contains("dark") && shown.contains(" echo "))
        check(!shown.contains("same"))
    }

    @Test(.enabled(if: PseudoTerminal.isAvailable))
    func `two different answers create no file`() throws {
        let terminal = try PseudoTerminal(workspace, "securestorage shell a.db")
        try terminal.expect("(to be set): ")
        terminal.type("one")
        try terminal.expect("once more: ")
        terminal.type("two")
        try terminal.expect("the two keys do not match")
        try terminal.expect("[status 17]")
        check(!workspace.exists("a.db"))
    }

    @Test(.enabled(if: PseudoTerminal.isAvailable))
    func `Ctrl-C at the prompt leaves the terminal as it was`() throws {
        try make()
        let terminal = try PseudoTerminal(workspace, "\(query); stty -a | grep -o ' echo '")
        try terminal.expect("key of a.db: ")
        terminal.send("secret" + PseudoTerminal.controlC)
        let shown = try terminal.expect("[status 0]")
        check(shown.contains("interrupted") && shown.contains(" echo "))
        check(!shown.contains("secret"))
    }

    @Test(.enabled(if: PseudoTerminal.isAvailable))
    func `a signal at the prompt leaves the terminal as it was`() throws {
        try make()
        let terminal = try PseudoTerminal(
            workspace,
            """
            (while [ ! -e asked ]; do sleep 0.1; done; kill -TERM $(cat pid)) &
            sh -c 'echo $$ > pid; exec "$@"' - \(query)
            echo [$?]; stty -a | grep -o ' echo '
            """
        )
        try terminal.expect("key of a.db: ")
        try workspace.write("", to: "asked")
        let shown = try terminal.expect("[status 0]")
        check(shown.contains("[143]") && shown.contains(" echo "), "\(shown)")
    }

    @Test func `output to a closed descriptor does not end up in the file`() throws {
        try make()
        let program = try workspace.shell(
            "\(query) --key-file sesame <&- >&- 2>&-; \(query) --key-file sesame")
        check(program.status == 0 && program.lines.last == "    42", "\(program.errors)")
        let export = try workspace.shell(
            "securestorage export a.db --kdf-iterations 1 --key-file sesame --query 'SELECT 1 AS a' "
                + "--output x.csv <&- >&- 2>&-; cat x.csv")
        check(export.text, equals: "a\r\n1\r\n")
    }

    // MARK: - Nowhere else

    @Test func `a key is in no argument and no longer in the environment`() throws {
        try make()
        let program = try workspace.shell(
            """
            mkfifo gate
            securestorage shell a.db --key-env KEY --kdf-iterations 1 < gate > out &
            exec 9> gate
            echo 'SELECT 1;' >&9
            until grep -q 1 out; do sleep 0.05; done
            cat /proc/$!/cmdline /proc/$!/environ | tr '\\0' '\\n' | grep -v XDG
            exec 9>&-
            wait
            """, environment: ["KEY": "sesame"])
        check(program.status, equals: 0)
        check(program.text.contains("--key-env") && program.text.contains("PATH="))
        check(!program.text.contains("sesame"))
    }

    @Test func `no message contains a key`() throws {
        try make()
        for (arguments, status) in [
            ("query a.db \"PRAGMA key = 'sesame-2'\"", 8),
            ("query a.db \"ATTACH 'x' AS x KEY 'sesame-2\"", 8),
            ("query a.db \"PRAGMA rekey = 'sesame-2'\"", 8),
            ("query a.db \"PRGMA hexkey = 'sesame-2'\"", 8),
            ("rekey a.db --new-key-env NEW --new-raw-key", 17),
            ("rekey a.db --new-key-env EMPTY", 17),
        ] {
            let program = try workspace.shell(
                "securestorage \(arguments) --key-env KEY --kdf-iterations 1",
                environment: ["KEY": "sesame", "NEW": "sesame-2", "EMPTY": ""])
            check(program.status == status, "\(arguments): \(program.errors)")
            check(!program.errors.contains("sesame") && !program.text.contains("sesame"))
        }
    }

    // MARK: - Another key

    @Test func `rekey gives the file another key and says so afterwards`() throws {
        try make()
        let program = try workspace.shell(
            "securestorage rekey a.db --key-file sesame --new-key-fd 3 --new-raw-key 3< key --kdf-iterations 1"
        )
        check(program.status == 0 && program.text == "re-keyed a.db\n", "\(program.errors)")
        try check(workspace.run("query", "a.db", "SELECT count(*) FROM t").status, equals: 0)
        try check(workspace.shell("\(query) --key-file sesame").status, equals: 5)
    }

    @Test(.enabled(if: PseudoTerminal.isAvailable))
    func `a new key is requested twice, after the old one was verified`() throws {
        try make()
        let terminal = try PseudoTerminal(
            workspace,
            "for f in key sesame; do securestorage rekey a.db --key-file $f --kdf-iterations 1; done"
        )
        try terminal.expect("wrong key")
        try terminal.expect("new key of a.db (to be set): ")
        terminal.type("new")
        try terminal.expect("new key, once more: ")
        terminal.type("new")
        try terminal.expect("re-keyed a.db")
        try terminal.expect("[status 0]")
        try check(workspace.shell("\(query) --key-fd 3 3<<< new").status, equals: 0)
    }
}
