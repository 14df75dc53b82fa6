import Foundation
import TestSupport
import Testing

/// Tests of the verbs that read a mirror: `restore`, `mirror-log`, `mirror-verify`.
struct RestoreTests {
    let workspace: Workspace
    private static let from = ["--from", "store", "--name", "a.db"]

    init() throws {
        workspace = try Workspace()
        try workspace.fill("a.db", "CREATE TABLE t (x); INSERT INTO t VALUES ('first')")
        try mirror()
    }

    private func mirror() throws {
        let program = try workspace.run("mirror", "a.db", "--to", "store", "--once")
        try require(program.status == 0, "\(program.errors)")
    }

    private func add(_ row: String) throws {
        let program = try workspace.run("query", "a.db", "INSERT INTO t VALUES (?)", row)
        try require(program.status == 0, "\(program.errors)")
    }

    private func run(_ verb: String, _ arguments: String...) throws -> Program {
        try Program(
            [verb] + Self.from + arguments, directory: workspace.path)
    }

    private func restore(_ arguments: String...) throws -> Program {
        try Program(
            ["restore", "--key-file", "key", "--raw-key"] + Self.from + arguments,
            directory: workspace.path)
    }

    private func verify(_ arguments: String..., key: String = "key") throws -> Program {
        try Program(
            ["mirror-verify", "--key-file", key, "--raw-key"] + Self.from + arguments,
            directory: workspace.path)
    }

    private func object(_ program: Program) throws -> [String: Any] {
        let object = try JSONSerialization.jsonObject(with: program.output)
        return try require(object as? [String: Any])
    }

    private func rows(_ name: String) throws -> [String] {
        let program = try workspace.run("query", name, "SELECT x FROM t ORDER BY rowid", "--csv")
        return program.text.split(whereSeparator: \.isNewline).dropFirst().map { String($0) }
    }

    /// The first and last points in time of each generation.
    private func times() throws -> [(first: String, last: String)] {
        let log = try object(run("mirror-log", "--json"))
        return try require(log["generations"] as? [[String: Any]]).map {
            (try require($0["first"] as? String), try require($0["last"] as? String))
        }
    }

    // MARK: - Restore

    @Test func `the state of any point in time is restored`() throws {
        var dates = [try require(times().last?.last)]
        for row in ["second", "third"] {
            // The dates of states are milliseconds.
            usleep(20_000)
            try add(row)
            try mirror()
            dates.append(try require(times().last?.last))
        }
        let all = ["first", "second", "third"]
        for (index, date) in dates.enumerated() {
            let program = try restore("b.db", "--at", date, "--force", "--json")
            check(program.status, equals: 0, "\(program.errors)")
            try check(object(program)["date"] as? String, equals: date)
            try check(rows("b.db"), equals: Array(all.prefix(index + 1)), "\(date)")
        }
        for date in ["-0s", "2999-01-01"] {
            try check(restore("b.db", "--at", date, "--force").status, equals: 0)
            try check(rows("b.db"), equals: all)
        }
        let early = try restore("c.db", "--at", "-1d")
        check(early.status == 11 && early.errors.contains("none of that time"), "\(early.errors)")
        try check(restore("c.db", "--at", "yesterday").status, equals: 2)
        check(!workspace.exists("c.db"))
    }

    @Test func `the name is the file's unless another is given`() throws {
        let program = try workspace.run("restore", "a.db", "--from", "store", "--force")
        check(program.status, equals: 0, "\(program.errors)")
        check(program.text.hasPrefix("restored a.db from the mirror \"a.db\", state of 2"))
        let other = try workspace.run("restore", "b.db", "--from", "store")
        check(other.status == 11 && other.errors.contains("no complete mirror \"b.db\""))
    }

    @Test func `an existing file is replaced only with --force`() throws {
        try workspace.write("mine", to: "b.db")
        let program = try restore("b.db")
        check(
            program.status == 12 && program.errors.contains("already exists\nhint: use --force"))
        try check(workspace.read("b.db"), equals: Data("mine".utf8))
        try check(restore("b.db", "--force").status, equals: 0)
        try check(rows("b.db"), equals: ["first"])
    }

    @Test func `a wrong key restores nothing, and fails the check`() throws {
        try workspace.write(String(repeating: "00", count: 32), to: "other", mode: 0o600)
        let program = try Program(
            ["restore", "b.db", "--key-file", "other", "--raw-key"] + Self.from,
            directory: workspace.path)
        check(program.status == 5 && program.errors.contains("wrong key"), "\(program.errors)")
        check(!workspace.exists("b.db"))
        let verified = try verify(key: "other")
        check(verified.status == 5 && verified.errors.contains("wrong key"), "\(verified.errors)")
    }

    @Test func `a missing store and a missing mirror are errors`() throws {
        for (from, name, status, reason) in [
            ("none", "a.db", 10, "no such directory"),
            ("store", "b.db", 11, "no complete mirror"),
            ("file://$PWD/none", "a.db", 10, "no such directory"),
        ] {
            for verb in ["restore c.db", "mirror-log", "mirror-verify"] {
                let key = verb == "mirror-log" ? "" : "--key-file key --raw-key"
                let program = try workspace.shell(
                    "securestorage \(verb) --from \(from) --name \(name) \(key)")
                check(program.status == status, "\(verb) \(from)")
                check(program.errors.contains(reason), "\(verb) \(from)")
            }
        }
    }

    // MARK: - Log and check

    @Test func `the log is a table of generations, and needs no key`() throws {
        let program = try run("mirror-log")
        check(program.status, equals: 0, "\(program.errors)")
        try require(program.lines.count == 3)
        check(
            program.lines[0].split(separator: " "),
            equals: ["generation", "first", "last", "states", "pages", "objects", "bytes"])
        let cells = program.lines[2].split(separator: " ")
        check(cells.first == "1" && cells.count == 7 && cells[3] == "1")
        // Dates as they are can be given to `--at`.
        try check(restore("b.db", "--at", String(cells[2])).status, equals: 0)
        let url = URL(fileURLWithPath: workspace.file("store")).absoluteString
        let same = try workspace.shell("securestorage mirror-log --from \(url) --name a.db")
        check(same.output, equals: program.output)
    }

    @Test func `a sound mirror is reported as sound`() throws {
        let program = try verify()
        check(program.status == 0 && program.text.hasSuffix(" pages, all sound\n"))
        let answer = try object(verify("--json"))
        check(answer["sound"] as? Bool == true && answer["name"] as? String == "a.db")
        check((answer["problems"] as? [Any])?.isEmpty, equals: true)
    }

    @Test func `a flipped byte in any object is found, with the status of damage`() throws {
        let store = URL(fileURLWithPath: workspace.file("store/a.db"))
        let objects = try FileManager.default.subpathsOfDirectory(atPath: store.path).filter {
            var isDirectory: ObjCBool = false
            let path = store.appendingPathComponent($0).path
            return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
                && !isDirectory.boolValue && $0.contains("/")
        }
        try require(objects.count >= 3)
        for name in objects {
            let url = store.appendingPathComponent(name)
            let bytes = try Data(contentsOf: url)
            var changed = bytes
            changed[bytes.count - 40] ^= 1
            try changed.write(to: url)
            let program = try verify()
            check(program.status == 7 && program.errors.isEmpty, "\(name)")
            check(program.text.hasPrefix("a.db/"), "\(program.text)")
            let json = try object(verify("--json"))
            check(json["sound"] as? Bool, equals: false)
            let problems = try require(json["problems"] as? [[String: Any]])
            check((problems.first?["object"] as? String)?.hasPrefix("a.db/"), equals: true)
            try check(restore("b.db").status == 7 && !workspace.exists("b.db"), "\(name)")
            try bytes.write(to: url)
        }
        try check(verify().status, equals: 0)
    }
}
