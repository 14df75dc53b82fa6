import Foundation
import SecureStorage
import TestSupport
import Testing

@testable import SecureStorageTool

/// Tests of how a script tells failures apart: exit statuses, and errors as JSON.
struct ExitStatusTests {
    let workspace: Workspace

    init() throws {
        workspace = try Workspace()
        try workspace.write("sesame-canary", to: "sesame", mode: 0o600)
        try workspace.fill("a.db", "CREATE TABLE t (x UNIQUE); INSERT INTO t VALUES ('row')")
        try workspace.fill("kv.db", "CREATE TABLE t (x)")
        try workspace.write(
            "SQLite format 3\0" + String(repeating: "x", count: 4080), to: "plain.db")
        var bytes = try workspace.read("a.db")
        bytes[5000] ^= 1
        try workspace.write(bytes, to: "damaged.db")
        try workspace.write("a,b\n1\n", to: "bad.csv")
        try workspace.write("", to: "empty.db")
        try workspace.write(Data([0x30]), to: "open", mode: 0o644)
    }

    private static let key = "--key-file key --raw-key"

    /// A command, and the code of the error that it ends with.
    private static let failures: [(String, FailureKind)] = [
        ("query a.db 'SELECT 1' --key-file sesame", .wrongKey),
        ("query a.db 'SELECT no' \(key)", .sql),
        ("query a.db \"INSERT INTO t VALUES ('row')\" \(key)", .sql),
        ("query a.db 'SELECT 1; SELECT no' \(key)", .sql),
        ("query none.db 'SELECT 1' \(key)", .noFile),
        ("query a.db 'SELECT 1' --key-file none", .noKey),
        ("query a.db 'SELECT 1' --key-file open", .noKey),
        ("query a.db 'SELECT 1' --nonsense", .usage),
        ("info plain.db \(key)", .notEncrypted),
        ("info . \(key)", .access),
        ("info empty.db \(key)", .notEncrypted),
        ("diagnose empty.db \(key)", .notEncrypted),
        ("kv get empty.db k \(key)", .notEncrypted),
        ("mirror empty.db --to store --once \(key)", .notEncrypted),
        ("verify damaged.db \(key)", .damaged),
        ("diagnose damaged.db \(key)", .damaged),
        ("diagnose a.db --key-file sesame", .wrongKey),
        ("diagnose plain.db --no-key", .otherFormat),
        ("diagnose none.db", .noFile),
        ("query damaged.db 'SELECT * FROM t' \(key)", .damaged),
        ("salvage damaged.db saved.db \(key)", .damaged),
        ("backup a.db a.db \(key)", .exists),
        ("decrypt a.db kv.db \(key)", .exists),
        ("encrypt plain.db a.db \(key)", .exists),
        ("encrypt none.db b.db \(key)", .noFile),
        ("rekey a.db --key-file sesame --new-key-file sesame", .wrongKey),
        ("migrate none.db \(key)", .noFile),
        ("import a.db bad.csv \(key)", .data),
        ("import a.db none.csv \(key)", .noFile),
        ("export a.db --table none \(key)", .notFound),
        ("export a.db --table t --output kv.db \(key)", .exists),
        ("kv get kv.db k \(key)", .notFound),
        ("kv put kv.db k x --type integer \(key)", .data),
        ("kv remove kv.db k --store other \(key)", .notFound),
        ("kv list none.db \(key)", .noFile),
        ("mirror none.db --to store \(key)", .noFile),
        ("mirror a.db --to key --once \(key)", .store),
        ("restore b.db --from none \(key)", .noFile),
        ("restore a.db --from . \(key)", .exists),
        ("mirror-log --from . --name x", .notFound),
        ("mirror-verify --from . --name x \(key)", .notFound),
    ]

    @Test(arguments: failures.indices)
    func `each kind of failure has a status, and a code in JSON`(_ index: Int) throws {
        let (command, kind) = Self.failures[index]
        let json = try workspace.shell("securestorage \(command) --json < /dev/null")
        check(json.status, equals: kind.status, "\(command): \(json.errors)")
        let lines = json.errors.split(separator: "\n")
        let objects = try lines.map {
            try require(
                JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
        let last = try require(objects.last, "\(command)")
        check(last["code"] as? String, equals: kind.name)
        check(last["status"] as? Int, equals: Int(kind.status))
        let message = try require(last["message"] as? String)
        check(!message.isEmpty)
        try expectNoKey(json)

        // The first of each kind says the same to people.
        guard Self.failures.firstIndex(where: { $0.1 == kind }) == index else { return }
        let plain = try workspace.shell("securestorage \(command) < /dev/null")
        check(plain.status, equals: kind.status, "\(command): \(plain.text)\(plain.errors)")
        try expectNoKey(plain)
        // A report on standard output says it otherwise.
        guard !plain.errors.isEmpty else { return }
        check(plain.errors.contains(message), "\(plain.errors)")
        check(
            plain.errors.contains("\nhint: "), equals: (last["hint"] as? String)?.isEmpty == false)
    }

    private func expectNoKey(_ program: Program) throws {
        for text in [program.errors, program.text] {
            check(!text.contains(Workspace.rawKey) && !text.contains("sesame-canary"))
        }
    }

    /// Lines of a script, and the code of the error that it ends with.
    private static let scripts: [(String, FailureKind)] = [
        ("SELECT no;", .sql),
        ("INSERT INTO t VALUES ('row');", .sql),
        ("SELECT no", .sql),
        ("BEGIN;", .failed),
        (".nonsense", .usage),
        (".mode cvs", .usage),
        (".once 'open", .usage),
        (".import --nonsense bad.csv", .usage),
        (".import bad.csv new", .data),
        (".import bad.csv t", .sql),
        (".import none.csv t", .noFile),
        (".read none", .noFile),
        (".dump none", .notFound),
        (".once kv.db", .exists),
        (".backup kv.db", .exists),
    ]

    @Test(arguments: scripts.indices)
    func `a script of the shell ends with the status of its first error`(_ index: Int) throws {
        let (script, kind) = Self.scripts[index]
        // A statement without a semicolon, or an open transaction, is a failure at the end only.
        let isEnd = ["SELECT no", "BEGIN;"].contains(script)
        try workspace.write(
            script + (isEnd ? "" : "\nINSERT INTO t VALUES ('after');\n"), to: "script")
        let program = try workspace.shell("securestorage shell a.db \(Self.key) --json < script")
        check(program.status, equals: kind.status, "\(program.errors)")
        check(program.errors.contains("\"code\":\"\(kind.name)\""), "\(program.errors)")
        let rows = try workspace.run("query", "a.db", "SELECT x FROM t", "--json-lines")
        check(rows.text, equals: "{\"x\":\"row\"}\n")
    }

    @Test func `a script that reads a damaged page, or an other encoding, says so`() throws {
        let damaged = try workspace.run("shell", "damaged.db", input: "SELECT * FROM t;")
        check(damaged.status, equals: 7, "\(damaged.errors)")
        let latin = try Program(
            ["shell", "a.db", "--key-file", "key", "--raw-key"],
            input: Data("SELECT 'caf".utf8) + [0xe9] + Data("';".utf8), directory: workspace.path)
        check(latin.status, equals: 16, "\(latin.errors)")
        check(latin.errors.contains("line 1: the statement at line 1 is not UTF-8"))
    }

    @Test func `a file that another program writes to is busy`() throws {
        let store = try workspace.store("a.db")
        defer { store.close() }
        try store.beginExclusiveTransaction()
        let program = try workspace.run(
            "query", "a.db", "--json", "PRAGMA busy_timeout = 0; INSERT INTO t VALUES (2)")
        check(program.status, equals: FailureKind.busy.status, "\(program.errors)")
        check(program.errors.contains("\"code\":\"busy\""))
    }

    @Test func `with JSON the acknowledgement on standard error is an object, too`() throws {
        let program = try workspace.run("query", "a.db", "--json", "INSERT INTO t VALUES (2)")
        check(program.status, equals: 0)
        check(program.errors, equals: "{\"code\":\"done\",\"message\":\"ok, 1 row changed\"}\n")
    }

    @Test(arguments: [
        ("backup a.db b.db", "copy"), ("decrypt a.db b.db", "tables"), ("rekey a.db", "file"),
        ("migrate a.db", "migrated"), ("salvage a.db b.db", "whole"),
        ("import a.db good.csv", "rows"), ("export a.db --table t --output t.csv", "rows"),
        ("kv put a.db k v", "key"),
    ])
    func `each verb prints its result as JSON on request`(
        _ command: String, _ member: String
    ) throws {
        try workspace.write("x\n1\n", to: "good.csv")
        let new = command.hasPrefix("rekey") ? "--new-key-file sesame" : ""
        let program = try workspace.shell(
            "securestorage \(command) \(new) --json \(Self.key)")
        check(program.status == 0 && program.errors.isEmpty, "\(program.errors)")
        let object = try JSONSerialization.jsonObject(with: program.output) as? [String: Any]
        check(object?[member] != nil, "\(program.text)")
    }

    @Test func `the guide and the help list the same statuses`() throws {
        let names = FailureKind.all.map(\.name)
        let statuses = FailureKind.all.map(\.status)
        check(Set(names).count == names.count && Set(statuses).count == statuses.count)
        let help = try workspace.shell("securestorage --help").text
        let guide = try Checkout.text("Docs/Tool.md")
        for kind in FailureKind.all {
            check(guide.contains("\n| \(kind.status) | `\(kind.name)` | "), "\(kind.name)")
            check(help.contains("\(kind.status)  "), "\(kind.name)")
            check(help.contains("  \(kind.name)  "), "\(kind.name)")
        }
        let rows = guide.matches(of: #/\n\| \d+ \| `[a-z-]+` \| /#)
        check(rows.count, equals: FailureKind.all.count)
    }
}
