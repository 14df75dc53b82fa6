import Foundation
import TestSupport
import Testing

/// Tests of the verb that keeps a file in a store.
struct MirrorTests {
    let workspace: Workspace
    /// The options of every verb here: a raw key needs no derivation.
    private static let key = "--key-file key --raw-key"

    init() throws {
        workspace = try Workspace()
        try workspace.fill("a.db", "CREATE TABLE t (x); INSERT INTO t VALUES ('first')")
    }

    /// Runs a script in which `$key` stands for the options of the key, `start` starts a mirror in
    /// the background and waits until it has stored everything, and `await` waits for a text.
    private func run(
        _ script: String, environment: [String: String] = [:]
    ) throws -> Program {
        try workspace.shell(
            """
            key="\(Self.key)"
            await() { until grep -qs "$2" "$1"; do kill -0 $mirror || break; sleep 0.05; done; }
            begin() { securestorage mirror a.db $key "$@" > out 2> err & mirror=$!; }
            start() { begin --to store "$@"; await out 'is in the store\\|"complete"'; }
            \(script)
            """, environment: environment)
    }

    private func rows(_ name: String) throws -> [String] {
        let program = try workspace.run("query", name, "SELECT x FROM t ORDER BY rowid", "--csv")
        return program.text.split(whereSeparator: \.isNewline).dropFirst().map { String($0) }
    }

    private func text(_ name: String) throws -> String {
        String(decoding: try workspace.read(name), as: UTF8.self)
    }

    // MARK: - Running and stopping

    @Test func `after SIGTERM everything that others have written is restored`() throws {
        let program = try run(
            """
            start
            for x in a b c; do securestorage query a.db "INSERT INTO t VALUES ('$x')" $key; done
            kill -TERM $mirror; wait $mirror; echo $?
            securestorage restore b.db --from store --name a.db $key
            """)
        let errors = try text("err")
        check(program.lines.contains("0"), "\(errors)")
        try check(rows("b.db"), equals: ["first", "a", "b", "c"])
        let lines = try text("out").split(separator: "\n")
        try require(lines.count == 3, "\(lines)")
        check(lines[0], equals: "mirroring a.db to store as \"a.db\"")
        check(lines[1].hasPrefix("everything committed until 2"))
        check(lines[2].hasPrefix("stored everything that was committed until 2"))
        try check(text("err").isEmpty)
        let restored = try require(program.lines.last)
        check(restored.hasPrefix("restored b.db from the mirror \"a.db\", state of 2"))
        check(restored.hasSuffix(" bytes") && restored.contains(" pages, "))
    }

    @Test func `SIGINT is a stop as well`() throws {
        // Job control: what runs in the background of a script ignores SIGINT otherwise.
        let program = try run("set -m; start; kill -INT $mirror; wait $mirror")
        let errors = try text("err")
        check(program.status, equals: 0, "\(errors)")
        try check(text("out").contains("stored everything"))
    }

    @Test func `a mirror that starts again continues where the last one was`() throws {
        let program = try run(
            """
            start
            securestorage query a.db "INSERT INTO t VALUES ('second')" $key > /dev/null
            kill -TERM $mirror; wait $mirror
            start; kill -TERM $mirror; wait $mirror
            securestorage mirror-log --from store --name a.db --json
            """)
        let log = try JSONSerialization.jsonObject(with: program.output) as? [String: Any]
        check((log?["generations"] as? [Any])?.count, equals: 1, "\(program.text)")
    }

    @Test func `at the end the file alone has everything, and the next mirror continues`()
        throws
    {
        let program = try run(
            """
            start
            securestorage query a.db "INSERT INTO t VALUES ('second')" $key > /dev/null
            kill -TERM $mirror; wait $mirror
            cp a.db stopped.db
            securestorage mirror a.db --to store --once $key > /dev/null
            test -s a.db-wal || echo "no log"
            cp a.db once.db
            securestorage mirror-log --from store --name a.db --json
            """)
        let log = try JSONSerialization.jsonObject(with: program.output) as? [String: Any]
        check((log?["generations"] as? [Any])?.count, equals: 1, "\(program.text)")
        for name in ["stopped.db", "once.db"] {
            try check(rows(name), equals: ["first", "second"])
        }
    }

    @Test func `while a program has the file open, one --once after the other continues`() throws {
        let program = try run(
            """
            mkfifo lines
            securestorage shell a.db $key < lines > /dev/null & shell=$!
            exec 3> lines
            for n in 2 3 4; do
                echo "INSERT INTO t VALUES ('$n');" >&3
                until [ "$(securestorage query a.db 'SELECT max(rowid) FROM t' --csv $key | tail -1 |
                    tr -d '\\r')" = $n ]
                do kill -0 $shell || break; sleep 0.05; done
                securestorage mirror a.db --to store --once $key > /dev/null
            done
            exec 3>&-; wait $shell
            securestorage mirror-log --from store --name a.db --json
            """)
        let log = try JSONSerialization.jsonObject(with: program.output) as? [String: Any]
        check((log?["generations"] as? [Any])?.count, equals: 1, "\(program.text)")
    }

    @Test func `with --once it stores everything and ends`() throws {
        let program = try run("securestorage mirror a.db --to store --once $key")
        check(program.status, equals: 0, "\(program.errors)")
        check(program.lines.last?.hasPrefix("stored everything"), equals: true)
        let restored = try workspace.run("restore", "b.db", "--from", "store", "--name", "a.db")
        check(restored.status, equals: 0, "\(restored.errors)")
        try check(rows("b.db"), equals: ["first"])
    }

    @Test func `each change of the status is a JSON object in a line`() throws {
        let program = try run(
            """
            start --json --name notes/2026
            securestorage query a.db "INSERT INTO t VALUES ('a')" $key
            kill -TERM $mirror; wait $mirror
            """)
        check(program.status, equals: 0)
        let states = try text("out").split(separator: "\n").map { line in
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            check(object?["name"] as? String, equals: "notes/2026")
            return object?["state"] as? String
        }
        check(states.first == "starting" && states.last == "stored", "\(states)")
        check(states.contains("complete"))
    }

    @Test func `a second mirror of the name ends the first one, with an error`() throws {
        let program = try run(
            """
            start
            cp a.db b.db; cp a.db-wal b.db-wal
            securestorage mirror b.db --to store --name a.db --once $key > /dev/null
            securestorage query a.db "INSERT INTO t VALUES ('a')" $key > /dev/null
            wait $mirror; echo $?
            """)
        check(program.lines.last, equals: "4")
        let lines = try text("err").split(separator: "\n")
        check(lines.first?.contains("another mirror writes under the name \"a.db\""), equals: true)
        check(lines.last?.hasPrefix("hint: give each database a --name"), equals: true, "\(lines)")
    }

    // MARK: - A store that cannot be reached

    #if os(Linux)
        /// The variable that replaces the call by which a directory takes an object.
        private func replacing(linkBy body: String) throws -> [String: String] {
            try workspace.write(
                "#include <errno.h>\n#include <unistd.h>\n\(Self.link) { \(body) }\n", to: "link.c")
            let library = workspace.file("link.so")
            // The toolchain's own where the system has none.
            let compiler = try ChildProcess(
                ChildProcess.find("cc") == nil ? "clang" : "cc",
                ["-shared", "-fPIC", "-o", library, workspace.file("link.c")])
            try require(compiler.status == 0, "\(compiler.errors)")
            return ["LD_PRELOAD": library]
        }

        private static let link =
            "int linkat(int a, const char *from, int b, const char *to, int flags)"

        @Test(.disabled(if: Sanitizer.isPresent))
        func `a store that cannot be reached is shown, tried again, and left at SIGTERM`() throws {
            let program = try run(
                """
                begin --to store
                await err 'trying again'
                kill -TERM $mirror; wait $mirror
                """, environment: replacing(linkBy: "errno = EIO; return -1;"))
            check(program.status, equals: 15)
            let lines = try text("err").split(separator: "\n")
            check(lines.first?.hasPrefix("securestorage: the store failed for now: "), equals: true)
            check(lines.last?.hasPrefix("hint: "), equals: true, "\(lines)")
            for text in [try text("out"), try text("err"), program.text, program.errors] {
                check(!text.contains(Workspace.rawKey))
            }
        }

        @Test(.disabled(if: Sanitizer.isPresent))
        func `a second signal ends it at once`() throws {
            let start = ContinuousClock.now
            let program = try run(
                """
                begin --to store
                await out mirroring
                sleep 0.5; kill -TERM $mirror; sleep 0.5; kill -TERM $mirror; wait $mirror
                """, environment: replacing(linkBy: "for (;;) pause();"))
            check(program.status == 143 && ContinuousClock.now - start < .seconds(15))
        }
    #endif

    @Test(.enabled(if: PseudoTerminal.isAvailable))
    func `a terminal shows one line that is replaced, until Ctrl-C`() throws {
        let terminal = try PseudoTerminal(
            workspace, "securestorage mirror a.db --to store \(Self.key)")
        try terminal.expect("mirroring a.db to store")
        try terminal.expect("\u{1b}[Kup to date, last change stored at ")
        terminal.send(PseudoTerminal.controlC)
        try terminal.expect("stored everything that was committed")
        try terminal.expect("[status 0]")
    }

    // MARK: - Mistakes

    @Test func `a file that is not in WAL mode is refused, and stays as it is`() throws {
        try require(workspace.run("query", "a.db", "PRAGMA journal_mode = delete").status == 0)
        let before = try workspace.read("a.db")
        let program = try workspace.run("mirror", "a.db", "--to", "store")
        check(program.status == 13 && program.text.isEmpty)
        check(
            program.errors,
            equals: """
                securestorage: "a.db" is in journal mode delete, and a mirror needs WAL
                hint: securestorage query a.db "PRAGMA journal_mode = WAL" changes it

                """)
        try check(workspace.read("a.db") == before && !workspace.exists("store"))
        try check(workspace.run("query", "a.db", "PRAGMA journal_mode = WAL").status, equals: 0)
        try check(workspace.run("mirror", "a.db", "--to", "store", "--once").status, equals: 0)
    }

    @Test func `a file whose name cannot be a mirror's needs another name`() throws {
        try workspace.fill("My Notes.db", "CREATE TABLE t (x)")
        let program = try workspace.run("mirror", "My Notes.db", "--to", "store", "--once")
        check(program.status == 2 && program.errors.contains("with --name\nhint: a name has"))
        let named = try workspace.run(
            "mirror", "My Notes.db", "--to", "store", "--once", "--name", "my-notes")
        check(named.status, equals: 0, "\(named.errors)")
        for name in ["My", "a//b", ".a", "a b", ""] {
            let program = try workspace.run("mirror", "a.db", "--to", "store", "--name", name)
            check(program.status, equals: 2, "\(name)")
            check(program.errors.contains("cannot be the name of a mirror"))
        }
    }

    @Test func `a wrong key and a missing file store nothing`() throws {
        try workspace.write(String(repeating: "00", count: 32), to: "other", mode: 0o600)
        let program = try workspace.shell(
            "securestorage mirror a.db --to store --key-file other --raw-key --once")
        check(program.status == 5 && program.errors.contains("wrong key"))
        let missing = try workspace.run("mirror", "none.db", "--to", "store", "--once")
        check(missing.status == 10 && missing.errors.contains("no such file"))
        check(!workspace.exists("store") && !workspace.exists("none.db"))
    }

    @Test(arguments: [
        "s3://me:hunter2@bucket/x", "ftp://me:hunter2@host/x", "postgresql://me:hunter2@host/db",
        "postgresql:g --postgresql postgresql://me:hunter2@host/db",
        "postgresql:g --postgresql 'host=h password=hunter2'",
        "postgresql:g --postgresql 'postgresql://host/db?pass%77ord=hunter2'",
        "s3://bucket --s3-endpoint http://me:hunter2@host", "store --s3-region hunter2",
        "s3://bucket --postgresql-file hunter2",
    ])
    func `an address with a password, or of another kind, is refused and not repeated`(
        _ store: String
    ) throws {
        let program = try workspace.shell("securestorage mirror a.db \(Self.key) --to \(store)")
        check(program.status, equals: 2, "\(program.errors)")
        check(!program.errors.contains("hunter2") && program.text.isEmpty, "\(program.errors)")
    }

    #if !PostgreSQL
        @Test func `a program without PostgreSQL says how to build one with it`() throws {
            let program = try workspace.run("mirror", "a.db", "--to", "postgresql:notes")
            check(program.status, equals: 2)
            check(program.errors.contains("hint: build it with: make install TRAITS=PostgreSQL"))
        }
    #endif
}
