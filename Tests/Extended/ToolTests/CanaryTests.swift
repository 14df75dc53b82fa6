import Foundation
import TestSupport
import Testing

/// Tests that a key is nowhere but in its own file, whatever a verb does with it.
struct CanaryTests {
    let workspace: Workspace
    private static let canary = "canary-7f3a passphrase"
    private static let newCanary = "canary-c51e passphrase"

    init() throws {
        workspace = try Workspace()
        try workspace.write(Self.canary, to: "key", mode: 0o600)
        try workspace.write(Self.newCanary, to: "new", mode: 0o600)
        try workspace.fill("a.db", "CREATE TABLE t (x)", passphrase: Self.canary)
        try workspace.write("x\n1\n", to: "t.csv")
    }

    @Test func `no output, no file and no argument contains a key`() throws {
        let program = try workspace.shell(
            """
            export KEY=$(cat key) NEW=$(cat new)
            run() {
                for key in '--key-file key' '--key-env KEY' '--key-fd 3' '--key-file new'; do
                    json=$([ "$json" ] || echo --json)  # every other one
                    securestorage "$@" $json $key --kdf-iterations 1 3< key
                    echo "$1: $?"
                done
                json=$([ "$json" ] || echo --json)
            }
            exec > output 2>&1
            run query a.db 'SELECT nonsense'
            run query a.db "PRAGMA key = 'x'"
            run info a.db
            run verify a.db
            run diagnose a.db
            run backup a.db b.db
            run export a.db --table t --output t.out.csv
            run import a.db t.csv
            run import a.db t.csv --nonsense
            run salvage a.db c.db --new-key-env NEW
            run rekey a.db --new-key-env NEW --new-raw-key
            run kv put a.db k v
            run kv get a.db none
            run mirror a.db --to store --once
            run restore d.db --from store --name a.db
            run mirror-verify --from store --name a.db
            printf 'SELECT 1;\\nSELECT no;\\n' > script
            securestorage shell a.db --key-env KEY --kdf-iterations 1 --json < script
            securestorage shell a.db --key-env KEY --kdf-iterations 1 < script
            """)
        check(program.status, equals: 8)
        let output = String(decoding: try workspace.read("output"), as: UTF8.self)
        // It has been at work.
        for line in ["query: 8", "info: 0", "verify: 0", "rekey: 17", "import: 2", "mirror: 0"] {
            check(output.contains("\(line)\n"), "\(line) \(output)")
        }
        let secrets = [Self.canary, Self.newCanary].flatMap {
            [
                $0, $0.utf8.map { String(format: "%02x", $0) }.joined(),
                Data($0.utf8).base64EncodedString(),
            ]
        }
        let files = try FileManager.default.subpathsOfDirectory(atPath: workspace.path)
        check(files.contains("b.db") && files.contains { $0.hasPrefix("store/") })
        for file in files where !["key", "new"].contains(file) {
            guard let bytes = try? workspace.read(file) else { continue }
            for secret in secrets {
                check(bytes.range(of: Data(secret.utf8)) == nil, "\(file)")
            }
        }
    }

    #if os(Linux)
        @Test func `a process at work has the key in no argument and no variable`() throws {
            let program = try workspace.shell(
                """
                mkfifo gate
                KEY=$(cat key) securestorage import a.db gate --format csv --table t --key-env KEY \
                    --kdf-iterations 1 > out &
                program=$!
                exec 9> gate
                printf 'x\\n1\\n' >&9
                until ls -l /proc/$program/fd | grep -q a.db; do sleep 0.02; done
                tr '\\0' '\\n' < /proc/$program/cmdline; tr '\\0' '\\n' < /proc/$program/environ
                exec 9>&-
                wait $program; echo $?
                """)
            check(program.lines.last == "0" && program.text.contains("--key-env"))
            check(!program.text.contains(Self.canary), "\(program.text)")
        }
    #endif
}
