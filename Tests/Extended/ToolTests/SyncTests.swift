import Foundation
import TestSupport
import Testing

/// The verbs of sync, with two files and a directory between them.
struct SyncTests {
    let workspace: Workspace
    private static let schema =
        "CREATE TABLE note (id TEXT PRIMARY KEY NOT NULL, text, done DEFAULT 0);"

    init() throws {
        workspace = try Workspace()
        try workspace.fill("a.db", Self.schema + "INSERT INTO note VALUES ('a', 'milk', 0)")
        try workspace.fill("b.db", Self.schema + "INSERT INTO note VALUES ('b', 'bread', 0)")
    }

    /// Runs a script with the options of each device in `$a` and `$b`.
    private func run(_ script: String) throws -> Program {
        try workspace.shell(
            """
            key="--key-file key --raw-key"
            a="a.db --store store --device-keys keys-a $key"
            b="b.db --store store --device-keys keys-b $key"
            rows() { securestorage query $1 "SELECT id, text, done FROM note ORDER BY id" --csv $key | tail -n +2; }
            form() {
                securestorage sync create $a --table note --name phone &&
                (umask 077; securestorage sync invite $a > code) &&
                securestorage sync join $b --table note --name laptop --code-file code &&
                securestorage sync run $a --once && securestorage sync run $b --once
            }
            \(script)
            """)
    }

    @Test func `two files that one creates and the other joins have the same rows`() throws {
        let program = try run("form && rows a.db && echo and && rows b.db")
        let parts = program.text.components(separatedBy: "and\n")
        try require(parts.count == 2, "\(program.text) \(program.errors)")
        check(parts[1], equals: "a,milk,0\r\nb,bread,0\r\n")
        check(parts[0].hasSuffix(parts[1]))
        check(program.status, equals: 0)
    }

    @Test func `a key-value store is synced under its name, and its conflicts are listed`() throws {
        let program = try run(
            """
            put() { securestorage kv put "$@" --store "My settings" $key > /dev/null; }
            put a.db theme dark
            put b.db size 12
            {
                securestorage sync create $a --key-value-store "My settings" --name phone &&
                (umask 077; securestorage sync invite $a > code) &&
                securestorage sync join $b --key-value-store "My settings" --name laptop --code-file code &&
                securestorage sync run $a --once
            } > /dev/null
            for file in a.db b.db; do
                securestorage kv get $file theme --store "My settings" $key
                securestorage kv get $file size --store "My settings" $key
            done
            securestorage sync status b.db $key | grep settings
            put a.db theme light
            sleep 0.01
            put b.db theme blue
            for device in "$a" "$b" "$a"; do securestorage sync run $device --once > /dev/null; done
            securestorage kv get a.db theme --store "My settings" $key
            securestorage sync conflicts a.db --key-value-store "My settings" $key | tail -n +3
            securestorage sync conflicts a.db --key-value-store other $key --json
            """)
        let lines = program.text.split(separator: "\n").map(String.init)
        try require(lines.count == 7, "\(program.text) \(program.errors)")
        check(lines[0...3], equals: ["dark", "12", "dark", "12"])
        check(lines[4], equals: "key-value store   My settings")
        check(lines[5], equals: "blue")
        check(lines[6].hasPrefix("key-value store \"My settings\"  theme"))
        check(lines[6].contains("light"))
    }

    @Test func `device keys that are missing, or open to others, have a status and advice`() throws
    {
        let program = try run(
            """
            form > /dev/null
            securestorage sync run a.db --once --store store --device-keys others $key; echo "status $?"
            securestorage sync members a.db --store store --device-keys others --json $key; echo "status $?"
            mkdir open; chmod 777 open
            securestorage sync run a.db --once --store store --device-keys open $key; echo "status $?"
            """)
        let statuses = program.text.split(separator: "\n").filter { $0.hasPrefix("status ") }
        check(statuses, equals: ["status 17", "status 17", "status 17"])
        check(program.errors.contains("hint: check --device-keys"), "\(program.errors)")
        check(program.errors.contains("\"code\":\"no-key\""), "\(program.errors)")
        check(program.errors.contains("is open to others"), "\(program.errors)")
    }

    @Test func `a damaged object of a group is reported with the verbs of sync`() throws {
        let program = try run(
            """
            form > /dev/null
            object=$(find store -type f -path '*/d/*' | sort | tail -1)
            printf x >> "$object"
            securestorage sync verify a.db --store store --device-keys keys-a $key; echo "status $?"
            """)
        check(program.text.contains("status 7"), "\(program.text) \(program.errors)")
        check(!program.errors.contains("mirror-verify"), "\(program.errors)")
    }

    @Test func `what both have changed is listed, and forgotten when asked`() throws {
        let program = try run(
            """
            form > /dev/null
            securestorage query a.db "UPDATE note SET text = 'oat milk' WHERE id = 'a'" $key
            sleep 0.01
            securestorage query b.db "UPDATE note SET text = 'soy milk' WHERE id = 'a'" $key
            for device in "$a" "$b" "$a"; do securestorage sync run $device --once > /dev/null; done
            rows a.db; rows b.db
            securestorage sync conflicts a.db --json $key
            securestorage sync conflicts b.db --json $key
            securestorage sync conflicts a.db --forget --table note $key > /dev/null
            securestorage sync conflicts b.db --forget --table note $key > /dev/null
            securestorage sync status a.db --json $key
            """)
        let lines = program.text.components(separatedBy: .newlines)
        check(lines.filter { $0 == "a,soy milk,0" }.count, equals: 2, "\(program.text)")
        let conflicts = lines.filter { $0.contains("\"reason\"") }
        let conflict = try require(conflicts.first)
        check(conflict.contains("\"reason\":\"overwritten\""))
        check(conflict.contains("\"values\":{\"text\":\"oat milk\"}"))
        for line in conflicts {
            check((try? JSONSerialization.jsonObject(with: Data(line.utf8))) != nil)
        }
        let status = try require(
            program.text.range(of: "{\n").map { program.text[$0.lowerBound...] }
                ?? lines.last.map { $0[...] })
        let answer = try require(
            JSONSerialization.jsonObject(with: Data(status.utf8)) as? [String: Any])
        check(answer["conflicts"] as? Int, equals: 0)
        check((answer["tables"] as? [[String: String]])?.first?["name"], equals: "note")
    }

    @Test func `a removed member fails, and a member's name removes it`() throws {
        let program = try run(
            """
            form > /dev/null
            securestorage sync members $a --json
            securestorage sync remove $a nobody; echo "status $?"
            securestorage sync remove $a phone; echo "status $?"
            securestorage sync remove $a laptop; echo "status $?"
            securestorage sync run $b --once; echo "status $?"
            """)
        let statuses = program.lines.filter { $0.hasPrefix("status") }
        check(
            statuses, equals: ["status 11", "status 2", "status 0", "status 11"], "\(program.text)")
        check(program.text.contains("\"laptop\""))
        check(program.errors.contains("not a member of a group"))
    }

    @Test func `a byte that was changed in the store is found, and repaired by a reset`() throws {
        let program = try run(
            """
            form > /dev/null
            securestorage query a.db "INSERT INTO note VALUES ('c', 'tea', 0)" $key
            securestorage sync run $a --once
            securestorage sync verify $a; echo "status $?"
            batch=$(find store -path '*/d/*' -type f | xargs ls -t | head -1)
            chmod u+w "$batch"; printf X | dd of="$batch" bs=1 seek=200 conv=notrunc 2> /dev/null
            securestorage sync verify $a; echo "status $?"
            securestorage sync verify $a --json; echo "status $?"
            securestorage query a.db "INSERT INTO note VALUES ('d', 'milk', 0)" $key
            securestorage sync run $a --once > /dev/null
            securestorage sync run $b --once; echo "status $?"
            securestorage sync reset $a
            securestorage sync run $b --once; echo "status $?"
            securestorage sync verify $b
            rows b.db
            """)
        let statuses = program.lines.filter { $0.hasPrefix("status") }
        check(
            statuses, equals: ["status 0", "status 7", "status 7", "status 7", "status 0"],
            "\(program.text) \(program.errors)")
        check(program.text.contains(", all sound"))
        check(program.text.contains("1 problem"))
        check(program.text.hasSuffix("c,tea,0\r\nd,milk,0\r\n"), "\(program.text)")
    }

    @Test func `what a program writes while sync runs is at the other one after the stop`() throws {
        let program = try run(
            """
            form > /dev/null
            securestorage sync run $a --json > out 2> err & sync=$!
            until grep -qs complete out; do kill -0 $sync || break; sleep 0.05; done
            securestorage query a.db "INSERT INTO note VALUES ('c', 'tea', 0)" $key
            kill -TERM $sync; wait $sync; echo "status $?"
            securestorage sync run $b --once
            rows b.db; cat err
            """)
        check(program.text.contains("status 0"), "\(program.text) \(program.errors)")
        check(program.text.hasSuffix("c,tea,0\r\n"), "\(program.text)")
    }

    @Test func `a file in no group says so, and what is missing is named`() throws {
        let program = try run(
            """
            securestorage sync status a.db $key; echo "status $?"
            securestorage sync run $a --once; echo "status $?"
            securestorage sync create $a --table nothing --name x; echo "status $?"
            securestorage sync join $b --table note --name x --code-file none; echo "status $?"
            (umask 077; echo AAAA > code)
            securestorage sync join $b --table note --name x --code-file code; echo "status $?"
            """)
        let statuses = program.lines.filter { $0.hasPrefix("status") }
        check(
            statuses, equals: ["status 0", "status 2", "status 1", "status 17", "status 11"],
            "\(program.text) \(program.errors)")
        check(program.lines.first?.hasPrefix("group"), equals: true)
        check(program.errors.contains("--table"))
        check(program.errors.contains("not a code of an invitation"))
    }

    @Test func `the store has no key, no code, no name and no value, and no output has a secret`()
        throws
    {
        let program = try run(
            """
            exec > output 2>&1
            securestorage query a.db "UPDATE note SET text = 'canary-value'" $key
            form
            for json in '' --json; do
                securestorage sync status a.db $key $json
                securestorage sync members $a $json
                securestorage sync conflicts b.db $key $json
                securestorage sync verify $b $json
                securestorage sync run $b --once $json
            done
            securestorage sync join $b --code-file code --name again
            printf 'no code' > code-2; chmod 600 code-2
            securestorage sync join $b --code-file code-2 --name again
            securestorage sync leave $b
            """)
        check(program.status, equals: 0)
        let output = try workspace.read("output")
        check(output.range(of: Data("laptop".utf8)) != nil, "it has been at work")
        func text(_ name: String) throws -> String {
            String(decoding: try workspace.read(name), as: UTF8.self)
                .trimmingCharacters(in: .whitespacesAndNewlines)
        }
        var secrets = [Data(try text("key").utf8), Data(try text("code").utf8)]
        secrets.append(Data(try text("code").replacing("-", with: "").utf8))
        let files = try FileManager.default.subpathsOfDirectory(atPath: workspace.path)
        for file in files where file.hasPrefix("keys-") {
            guard let bytes = try? workspace.read(file), bytes.count >= 32 else { continue }
            secrets.append(Data(bytes.suffix(32)))
        }
        check(secrets.count >= 5)
        let plain = ["canary-value", "note", "phone", "laptop", "milk"].map { Data($0.utf8) }
        var objects = 0
        for file in files where file.hasPrefix("store/") {
            guard let bytes = try? workspace.read(file) else { continue }
            objects += 1
            for secret in secrets + plain { check(bytes.range(of: secret) == nil, "\(file)") }
        }
        check(objects > 8)
        for secret in secrets { check(output.range(of: secret) == nil) }
    }
}
