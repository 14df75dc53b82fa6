import Foundation
import SecureStorage
import TestSupport
import Testing

/// Tests of signals to a program that is at work: it ends with 128 plus the signal's number, and
/// leaves nothing unfinished behind.
struct SignalTests {
    let workspace: Workspace

    init() throws { workspace = try Workspace() }

    /// Files that every verb needs some tenths of a second for; made once.
    private static let large = Result { try largeFile() }
    private static let largeWithPassphrase = Result { try largeFile(passphrase: "sesame") }

    private static func largeFile(passphrase: String? = nil) throws -> Data {
        let workspace = try Workspace()
        try workspace.fill(
            "a.db",
            """
            CREATE TABLE t (x);
            WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 40000)
            INSERT INTO t SELECT hex(randomblob(500)) FROM n;
            """, passphrase: passphrase)
        return try workspace.read("a.db")
    }

    private func fillLarge() throws { try workspace.write(Self.large.get(), to: "a.db") }

    private static let key = "--key-file key --raw-key"

    /// Sends a signal to `command` when it has installed its handlers, and before it ends: the
    /// shell looks every few milliseconds, for which it starts no program.
    private func interrupt(_ command: String, with signal: String) throws -> Program {
        try workspace.shell(
            """
            set -m  # else the shell lets its background jobs ignore SIGINT
            securestorage \(command) > out 2> err &
            program=$! caught=0
            mkfifo silence; exec 9<> silence; rm silence
            until [ $((0x$caught & 0x4001)) = $((0x4001)) ] || ! [ -d /proc/$program ]; do
                read -rt 0.003 -u 9
                while read -r name value; do
                    [ $name != SigCgt: ] || caught=$value
                done < /proc/$program/status
            done 2> /dev/null
            kill -\(signal) $program || echo "ended before"
            wait $program; echo $?
            """)
    }

    private static let signals = [("INT", 130), ("TERM", 143), ("HUP", 129)] as [(String, Int32)]

    #if os(Linux)
        @Test(arguments: [
            "verify a.db", "diagnose a.db", "backup a.db b.db", "decrypt a.db b.db",
            "salvage a.db b.db", "rekey a.db --new-key-file new", "import b.db large.csv",
            "import a.db large.csv",
            "migrate a.db", "encrypt plain.db b.db",
        ])
        func `a verb at work ends with 128 plus the number, and leaves no file`(
            _ command: String
        ) throws {
            try workspace.write("new", to: "new", mode: 0o600)
            try workspace.write("sesame", to: "sesame", mode: 0o600)
            let key =
                command.hasPrefix("migrate")
                ? "--key-file sesame --kdf-iterations 1" : Self.key
            if command.hasPrefix("import") {
                try workspace.write(
                    "x\n" + String(repeating: "some text in quotes or not\n", count: 400_000),
                    to: "large.csv")
            }
            if command.hasPrefix("migrate") {
                try workspace.write(Self.largeWithPassphrase.get(), to: "a.db")
            } else {
                try fillLarge()
            }
            if command.hasPrefix("encrypt") {
                try require(
                    workspace.shell("securestorage decrypt a.db plain.db \(Self.key)").status == 0)
            }
            let before = try names()
            for (signal, status) in Self.signals.prefix(command == "backup a.db b.db" ? 3 : 1) {
                let program = try interrupt("\(command) \(key)", with: signal)
                let errors = String(decoding: try workspace.read("err"), as: UTF8.self)
                check(program.lines, equals: ["\(status)"], "\(signal): \(program.text)\(errors)")
                try check(workspace.read("out").isEmpty, "\(signal)")
                try check(names(), equals: before, "\(signal)")
                for file in ["out", "err"] {
                    try FileManager.default.removeItem(atPath: workspace.file(file))
                }
            }
            // The key and the rows are as they were.
            let counted = try workspace.shell(
                "securestorage query a.db 'SELECT count(*) AS c FROM t' --csv \(key)")
            check(counted.text, equals: "c\r\n40000\r\n", "\(counted.errors)")
        }

        @Test(arguments: ["restore b.db", "mirror-verify"])
        func `work on a mirror ends in the same way`(_ verb: String) throws {
            try fillLarge()
            let mirror = try workspace.run("mirror", "a.db", "--to", "store", "--once")
            try require(mirror.status == 0, "\(mirror.errors)")
            let before = try names()
            for (signal, status) in Self.signals.suffix(1) {
                let program = try interrupt(
                    "\(verb) --from store --name a.db \(Self.key)", with: signal)
                check(program.lines, equals: ["\(status)"], "\(signal): \(program.text)")
                for file in ["out", "err"] {
                    try FileManager.default.removeItem(atPath: workspace.file(file))
                }
                try check(names(), equals: before, "\(signal)")
            }
        }

        @Test(arguments: signals.indices)
        func `a statement of a query is ended by the signal itself`(_ index: Int) throws {
            try workspace.fill("a.db", "CREATE TABLE t (x)")
            let (signal, status) = Self.signals[index]
            let program = try workspace.shell(
                """
                set -m
                securestorage query a.db "INSERT INTO t SELECT 'begun'; WITH RECURSIVE n (i) AS \
                    (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n" \(Self.key) > out &
                program=$!
                until grep -q ok out; do sleep 0.02; done
                kill -\(signal) $program; wait $program; echo $?
                """)
            check(program.lines.last, equals: "\(status)", "\(program.text)\(program.errors)")
        }

        private static let endless =
            "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n;"

        @Test(arguments: signals.indices)
        func `a script of the shell ends in the same way, and keeps its commits`(
            _ index: Int
        ) throws {
            try workspace.fill("a.db", "CREATE TABLE t (x)")
            let (signal, status) = Self.signals[index]
            try workspace.write(
                """
                INSERT INTO t VALUES ('begun');
                .read endless
                INSERT INTO t VALUES ('after');
                """, to: "script")
            try workspace.write(Self.endless, to: "endless")
            let program = try workspace.shell(
                """
                set -m
                securestorage shell a.db \(Self.key) < script > out 2> err &
                program=$!
                until grep -q ok out; do sleep 0.02; done
                kill -\(signal) $program; wait $program; echo $?
                cat err; securestorage query a.db "SELECT x FROM t" --json-lines \(Self.key)
                """)
            check(
                program.lines,
                equals: ["\(status)", "securestorage: line 2: interrupted", "{\"x\":\"begun\"}"])
        }

        @Test(arguments: signals.indices)
        func `a script that waits for its next line ends at a signal`(_ index: Int) throws {
            try workspace.fill("a.db", "CREATE TABLE t (x)")
            let (signal, status) = Self.signals[index]
            let program = try workspace.shell(
                """
                set -m
                mkfifo gate
                securestorage shell a.db \(Self.key) < gate > out 2> err &
                program=$!
                exec 9> gate
                echo "INSERT INTO t VALUES ('begun');" >&9
                until grep -q ok out; do sleep 0.02; done
                until grep -q '^State:.*sleeping' /proc/$program/status; do sleep 0.02; done
                kill -\(signal) $program; wait $program; echo $?; cat err
                """)
            check(program.lines, equals: ["\(status)", "securestorage: line 1: interrupted"])
        }

        @Test func `a script at its end leaves no part of a result's file and of a copy`() throws {
            try fillLarge()
            let (signal, status) = Self.signals[0]
            for script in [".once rows\n\(Self.endless)\n", ".backup copy.db\n"] {
                try workspace.write(script, to: "script")
                let before = try names()
                let program = try interrupt("shell a.db \(Self.key) < script", with: signal)
                check(program.lines, equals: ["\(status)"], "\(script)")
                try check(names(), equals: before, "\(script)")
            }
        }

        @Test func `a mirror that is stopped as soon as it has said something stores all`() throws {
            try workspace.fill("a.db", "CREATE TABLE t (x)")
            let program = try workspace.shell(
                """
                mkfifo lines
                for round in $(seq 16); do
                    securestorage mirror a.db --to store \(Self.key) > lines &
                    mirror=$!
                    exec 3< lines; read line <&3
                    kill -TERM $mirror; cat <&3; exec 3<&-; wait $mirror; echo $?
                done
                """)
            let stops = program.lines.filter { $0.count < 4 }
            check(stops, equals: Array(repeating: "0", count: 16), "\(program.errors)")
        }

        @Test func `a mirror that runs once is ended by the signal, and the next one completes it`()
            throws
        {
            try fillLarge()
            let (signal, status) = Self.signals[1]
            let program = try workspace.shell(
                """
                set -m
                securestorage mirror a.db --to store --once \(Self.key) > out 2> err &
                program=$!
                until [ -d store ]; do sleep 0.01; done
                kill -\(signal) $program || echo "ended before"
                wait $program; echo $?
                securestorage mirror a.db --to store --once \(Self.key) > out && \
                    securestorage restore b.db --from store --name a.db \(Self.key) > out && \
                    securestorage query b.db "SELECT count(*) AS c FROM t" \
                        --json-lines \(Self.key)
                """)
            check(program.lines, equals: ["\(status)", "{\"c\":40000}"], "\(program.errors)")
        }
    #endif

    @Test func `an error in JSON names the signal`() throws {
        try fillLarge()
        let program = try interrupt("verify a.db --json \(Self.key)", with: "TERM")
        check(program.lines, equals: ["143"])
        let errors = String(decoding: try workspace.read("err"), as: UTF8.self)
        check(
            errors,
            equals:
                "{\"code\":\"signal\",\"message\":\"interrupted; nothing was changed\",\"status\":143}\n"
        )
    }

    /// The names in the directory, without the log and its index, which any killed program leaves.
    private func names() throws -> [String] {
        try workspace.names.filter { !$0.hasPrefix("a.db-") && !["out", "err"].contains($0) }
    }
}
