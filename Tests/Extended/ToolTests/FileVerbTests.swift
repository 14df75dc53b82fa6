import Foundation
import TestSupport
import Testing

/// Tests of the verbs that work on whole files.
struct FileVerbTests {
    let workspace: Workspace
    private static let key = "--key-file key --kdf-iterations 1"

    init() throws {
        workspace = try Workspace()
        try workspace.write("sesame", to: "key", mode: 0o600)
        try workspace.write("other", to: "other", mode: 0o600)
    }

    /// Makes a file of about 30 pages.
    private func make(_ name: String = "a.db") throws {
        let sql =
            "CREATE TABLE t AS WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) "
            + "SELECT i, 'row ' || i AS name, zeroblob(300) AS x FROM n"
        try workspace.fill(name, sql, passphrase: "sesame")
    }

    private func damage(_ name: String, page: Int) throws {
        var bytes = try workspace.read(name)
        bytes[(page - 1) * 4096 + 500] ^= 8
        try bytes.write(to: URL(fileURLWithPath: workspace.file(name)))
    }

    private func run(_ command: String) throws -> Program {
        try workspace.shell("securestorage \(command)")
    }

    // MARK: - Diagnose and verify

    @Test func `a sound file is reported as sound, with status 0`() throws {
        try make()
        let diagnosis = try run("diagnose a.db \(Self.key)")
        check(diagnosis.status == 0 && diagnosis.lines.first == "the file is sound")
        let report = try run("verify a.db \(Self.key)")
        check(report.status == 0 && report.text.hasSuffix("pages, all sound\n"))
        let json = try run("verify a.db --json \(Self.key)")
        let answer = try JSONSerialization.jsonObject(with: json.output) as? [String: Any]
        check(answer?["sound"] as? Bool, equals: true)
    }

    @Test func `reading a file or changing its rows leaves its journal mode unchanged`() throws {
        try make()
        let toDelete = try run("query a.db \"PRAGMA journal_mode = delete\" \(Self.key)")
        try require(toDelete.status == 0)
        for command in [
            "query a.db \"SELECT 1\"", "query a.db --read-only \"SELECT 1\"", "info a.db",
            "verify a.db",
            "kv put a.db k v", "kv get a.db k", "query a.db \"DELETE FROM t WHERE i = 1\"",
            "shell a.db < /dev/null",
        ] {
            let (verb, rest) =
                command.contains(" <")
                ? (command.replacingOccurrences(of: " < /dev/null", with: ""), " < /dev/null")
                : (command, "")
            try check(run("\(verb) \(Self.key)\(rest)").status, equals: 0, "\(command)")
            let info = try run("info a.db --no-counts \(Self.key)")
            check(info.lines.contains("journal mode      delete"), "\(command)")
            check(!workspace.exists("a.db-wal"))
        }
    }

    @Test func `damage is found and located, with its own status`() throws {
        try make()
        try damage("a.db", page: 9)
        let diagnosis = try run("diagnose a.db --json \(Self.key)")
        check(diagnosis.status, equals: 7)
        let answer = try JSONSerialization.jsonObject(with: diagnosis.output) as? [String: Any]
        check(answer?["finding"] as? String, equals: "corrupt")
        check(answer?["pages"] as? [Int], equals: [9])
        let report = try run("verify a.db \(Self.key)")
        check(report.status, equals: 7)
        check(report.lines.first, equals: "page 9 is not as it was written")
    }

    @Test func `a file is diagnosed without a key, and so is a missing file`() throws {
        try make()
        try check(run("diagnose --no-key a.db").status, equals: 0)
        try check(run("diagnose a.db --key-file other").lines.first, equals: "wrong key")
        let missing = try run("diagnose no.db")
        check(missing.status == 10 && missing.lines.first == "no such file")
    }

    // MARK: - Copies and conversions

    @Test func `a copy has its own key and replaces a file only on request`() throws {
        try make()
        let copied = try run(
            "backup a.db b.db \(Self.key) --new-key-file other")
        check(copied.status == 0 && copied.text == "backed up a.db to b.db\n")
        try check(run("verify b.db --key-file other --kdf-iterations 1").status, equals: 0)
        try check(run("verify b.db \(Self.key)").status, equals: 5)
        let refused = try run("backup a.db b.db \(Self.key)")
        check(refused.status == 12 && refused.errors.contains("already"))
        try check(run("backup a.db b.db \(Self.key) --force").status, equals: 0)
        try check(run("verify b.db \(Self.key)").status, equals: 0)
    }

    @Test func `plain and encrypted files are converted into each other`() throws {
        try make()
        let plain = try run("decrypt a.db plain.db \(Self.key)")
        check(plain.status == 0 && plain.text.contains("rows in"))
        try check(
            run("diagnose --no-key plain.db").lines.first?.contains("plain SQLite"), equals: true)
        let error = try run("query plain.db 'SELECT 1' \(Self.key)")
        check(error.status == 6 && error.errors.contains("hint: \"securestorage encrypt\""))
        let encrypted = try run("encrypt plain.db again.db \(Self.key)")
        check(encrypted.status, equals: 0, "\(encrypted.errors)")
        let count = try run("query again.db 'SELECT count(*) AS c FROM t' --csv \(Self.key)")
        check(count.text, equals: "c\r\n300\r\n")
        try check(run("encrypt a.db x.db \(Self.key)").status, equals: 5)
    }

    @Test func `undamaged rows are salvaged, and a loss ends with that of damage`() throws {
        try make()
        let whole = try run("salvage a.db whole.db \(Self.key)")
        check(whole.status, equals: 0, "\(whole.text)")
        try damage("a.db", page: 9)
        let saved = try run("salvage a.db saved.db \(Self.key)")
        check(saved.status == 7 && saved.text.contains("1 page lost"))
        let count = try run("query saved.db 'SELECT count(*) > 250 AS c FROM t' --csv \(Self.key)")
        check(count.text, equals: "c\r\n1\r\n")
    }

    @Test func `a file with other settings is migrated, and the old file is kept`() throws {
        try make()
        let migrated = try run("migrate a.db \(Self.key)")
        check(migrated.status, equals: 0, "\(migrated.errors)")
        check(migrated.text, equals: "migrated a.db; the old file is a.db.old\n")
        try check(run("verify a.db --key-file key").status, equals: 0)
        try check(
            run("migrate a.db --key-file key").text, equals: "a.db already has the current format\n"
        )
    }

    // MARK: - Kills, full disks, other users

    @Test func `a value acknowledged before a kill is stored`() throws {
        try make()
        try require(run("kv put a.db first v \(Self.key) --store new").status == 0)
        let rounds =
            ProcessInfo.processInfo.environment["SECURESTORAGE_KILLS"].flatMap { Int($0) } ?? 4
        for round in 0..<rounds {
            let delay = Double.random(in: 0.05...0.6)
            let killed = try workspace.shell(
                """
                setsid bash -c 'for i in $(seq 1000); do
                    securestorage kv put a.db \(round)/$i v$i \(Self.key) --store new || exit
                done' > acknowledged 2>/dev/null &
                sleep \(delay); kill -9 -- -$!; wait 2>/dev/null
                securestorage kv list a.db \(Self.key) --store new > there || echo "lost: no list"
                sed -n 's/^put //p' acknowledged | while read key; do
                    grep -q "^$key " there || echo "lost $key"
                done
                securestorage verify a.db \(Self.key)
                """)
            check(!killed.text.contains("lost"), "\(killed.text) \(killed.errors)")
            check(killed.text.contains("all sound"), "\(killed.text) \(killed.errors)")
        }
    }

    @Test func `a killed re-key leaves exactly one key`() throws {
        let rounds =
            ProcessInfo.processInfo.environment["SECURESTORAGE_KILLS"].flatMap { Int($0) } ?? 4
        try make()
        var (now, next) = ("key", "other")
        for _ in 0..<rounds {
            let delay = Double.random(in: 0...0.12)
            let killed = try workspace.shell(
                """
                securestorage rekey a.db --key-file \(now) --new-key-file \(next) --kdf-iterations 1 > said 2>&1 &
                sleep \(delay); kill -9 $! 2>/dev/null; wait 2>/dev/null
                for key in \(now) \(next); do
                    securestorage query a.db 'SELECT count(*) AS c FROM t' --csv --key-file $key \
                        --kdf-iterations 1 2>/dev/null | grep -q 300 && echo $key
                done
                """)
            check(killed.lines.count, equals: 1, "\(killed.text)")
            if killed.lines == [next] { (now, next) = (next, now) }
        }
    }

    #if os(Linux)
        @Test(.enabled(if: getuid() == 0))
        func `a full disk leaves nothing of a copy`() throws {
            try make()
            let mount = try workspace.shell(
                "mkdir small && mount -t tmpfs -o size=64k tmpfs small")
            guard mount.status == 0 else { return }
            defer { _ = try? workspace.shell("umount small") }
            for command in ["backup", "decrypt", "salvage"] {
                let full = try run("\(command) a.db small/b.db \(Self.key)")
                check(full.status, equals: 14)
                check(full.errors.hasPrefix("securestorage: "), "\(full.errors)")
                try check(workspace.shell("ls -A small").text, equals: "")
            }
        }

        @Test(.enabled(if: getuid() == 0))
        func `a user with read-only access gets an answer and leaves nothing behind`() throws {
            try make()
            let read = try workspace.shell(
                """
                chmod 755 . && chmod 644 a.db && cp key /tmp/key.$$ && chown 65534 /tmp/key.$$
                as="setpriv --reuid=65534 --regid=65534 --clear-groups"
                program=$(command -v securestorage)
                if ! $as test -x "$program" || ! $as test -r a.db; then echo unreachable; exit; fi
                $as securestorage verify a.db --key-file /tmp/key.$$ --kdf-iterations 1
                $as securestorage diagnose a.db --key-file /tmp/key.$$ --kdf-iterations 1
                $as securestorage kv put a.db k v --key-file /tmp/key.$$ --kdf-iterations 1
                echo $?; rm /tmp/key.$$; ls
                """)
            guard !read.text.contains("unreachable") else { return }
            check(read.text.contains("all sound") && read.text.contains("the file is sound"))
            check(read.lines.contains("14"))
            check(!read.text.contains("a.db-"))
        }
    #endif
}
