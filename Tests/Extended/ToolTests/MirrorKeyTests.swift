import Foundation
import TestSupport
import Testing

/// Mirrors whose key or page size is not what was given, and what a store has.
struct MirrorKeyTests {
    let workspace: Workspace

    init() throws { workspace = try Workspace() }

    /// Runs a script in which `$old` and `$new` stand for the options of two keys.
    private func run(_ script: String) throws -> Program {
        try workspace.write(String(repeating: "5a", count: 32), to: "new", mode: 0o600)
        return try workspace.shell(
            """
            old="--key-file key --raw-key"; new="--key-file new --raw-key"
            from="--from store --name a.db"
            \(script)
            """)
    }

    private func fill() throws {
        try workspace.fill("a.db", "CREATE TABLE t (x); INSERT INTO t VALUES ('first')")
    }

    private func object(_ file: String) throws -> [String: Any] {
        let object = try JSONSerialization.jsonObject(with: workspace.read(file))
        return try require(object as? [String: Any])
    }

    private static let rekey =
        "securestorage rekey a.db $old --new-key-file new --new-raw-key > /dev/null"

    @Test func `a mirror that runs ends at a change of the key, and the next one starts over`()
        throws
    {
        try fill()
        let program = try run(
            """
            securestorage mirror a.db --to store $old > out 2> err & mirror=$!
            until grep -qs 'is in the store' out; do kill -0 $mirror || break; sleep 0.05; done
            \(Self.rekey); echo "rekey $?"
            securestorage query a.db "INSERT INTO t VALUES ('second')" $new > /dev/null
            wait $mirror; echo "mirror $?"; cat err
            securestorage mirror a.db --to store --once $new > /dev/null; echo "once $?"
            securestorage restore b.db $from $new > /dev/null; echo "restore $?"
            securestorage mirror-verify $from $new; echo "verify $?"
            securestorage restore c.db $from $old; echo "old key $?"
            securestorage mirror-verify $from $old > /dev/null; echo "old key verifies $?"
            """)
        let lines = program.lines
        for line in [
            "mirror 5", "once 0", "restore 0", "verify 0", "old key 5", "old key verifies 5",
        ] {
            check(lines.contains(line), "\(line): \(program.text) \(program.errors)")
        }
        check(program.text.contains("the key of \"a.db\" was changed, so this mirror has stopped"))
        check(program.text.contains("hint: start it again with the new key"))
        check(lines.contains("generation 1: stored with an earlier key, and not checked"))
    }

    @Test func `what an old key opens is removed on request`() throws {
        try fill()
        let program = try run(
            """
            securestorage mirror a.db --to store --once $old > /dev/null
            \(Self.rekey)
            securestorage mirror a.db --to store --once --purge-old-keys $new > /dev/null
            echo "purge $?"
            securestorage mirror-verify $from $new --json > verified
            """)
        check(program.lines == ["purge 0"], "\(program.text) \(program.errors)")
        let verified = try object("verified")
        check(verified["sound"] as? Bool, equals: true)
        check((verified["unchecked"] as? [Any])?.isEmpty, equals: true)
    }

    @Test func `another page size is an error that names the option`() throws {
        let program = try run(
            """
            echo 'CREATE TABLE t (x);' > t.sql
            securestorage import a.db t.sql $old --page-size 8192 > /dev/null
            securestorage mirror a.db --to store --once $old; echo "mirror $?"
            securestorage mirror a.db --to store --once $old --page-size 8192 > /dev/null
            securestorage restore b.db $from $old; echo "restore $?"
            securestorage mirror-verify $from $old; echo "verify $?"
            securestorage restore b.db $from $old --page-size 8192 > /dev/null; echo "right $?"
            """)
        for line in ["mirror 13", "restore 13", "verify 13", "right 0"] {
            check(program.lines.contains(line), "\(line): \(program.text) \(program.errors)")
        }
        let hints = program.errors.split(separator: "\n").filter { $0.hasPrefix("hint: ") }
        check(hints, equals: Array(repeating: "hint: pass --page-size 8192", count: 3))
    }

    @Test func `the mirrors of a store are listed with the times that they cover`() throws {
        try fill()
        let program = try run(
            """
            for name in team/notes a.db a.db/part; do
                securestorage mirror a.db --to store --name $name --once $old > /dev/null
            done
            echo other > store/other
            securestorage mirrors --from store --json > mirrors
            securestorage mirror-log $from --json > log
            mkdir empty; securestorage mirrors --from empty --json > none
            securestorage mirrors --from store
            """)
        try require(program.lines.count == 5, "\(program.text) \(program.errors)")
        check(program.lines[0].hasPrefix("mirror ") && program.lines[4].hasPrefix("team/notes "))
        let mirrors = try require(object("mirrors")["mirrors"] as? [[String: Any]])
        check(
            mirrors.compactMap { $0["name"] as? String },
            equals: ["a.db", "a.db/part", "team/notes"])
        let generations = try require(object("log")["generations"] as? [[String: Any]])
        check(mirrors[0]["first"] as? String, equals: generations.first?["first"] as? String)
        check(mirrors[0]["last"] as? String, equals: generations.last?["last"] as? String)
        try check(object("none")["mirrors"] as? [String], equals: [])
    }
}
