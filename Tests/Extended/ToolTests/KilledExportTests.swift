import Foundation
import SecureStorage
import TestSupport
import Testing

/// Tests that a killed export leaves none of its plaintext, or only what the next export removes.
struct KilledExportTests {
    let workspace: Workspace

    init() throws { workspace = try Workspace() }

    /// Makes a table larger than an export writes before it is killed.
    private func fillLarge() throws {
        try workspace.fill(
            "a.db",
            """
            CREATE TABLE t (x);
            WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 40000)
            INSERT INTO t SELECT 'plaintext ' || hex(randomblob(300)) FROM n;
            """)
    }

    /// Runs an export and kills it after `seconds`.
    private func killExport(_ seconds: Double, _ arguments: String...) throws -> Program {
        try workspace.shell(
            """
            securestorage export a.db --format sql --key-file key --raw-key --output out.sql \
                \(arguments.joined(separator: " ")) > /dev/null &
            sleep \(seconds); kill -9 $!; wait $! 2> /dev/null; echo $?
            """)
    }

    @Test func `a killed export leaves nothing of what it wrote`() throws {
        try fillLarge()
        let before = try workspace.names
        var kills = 0
        for round in 1...6 {
            let isReplacing = round % 2 == 0
            if isReplacing { try workspace.write("older", to: "out.sql") }
            let program = try killExport(0.04 * Double(round), isReplacing ? "--force" : "")
            kills += program.lines.last == "137" ? 1 : 0
            if program.lines.last == "137" {
                // The database's own log and index remain after any kill.
                let names = try workspace.names.filter { !$0.hasPrefix("a.db-") }
                check(names, equals: (before + (isReplacing ? ["out.sql"] : [])).sorted())
                if isReplacing { try check(workspace.read("out.sql"), equals: Data("older".utf8)) }
            }
            _ = try? FileManager.default.removeItem(atPath: workspace.file("out.sql"))
        }
        check(kills > 0)
    }

    /// The temporary name on a system without unnamed files, or after a kill between the two steps
    /// of a replacement.
    private var hiddenName: String {
        let hash = "out.sql".utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01b3
        }
        return ".securestorage-\(String(hash, radix: 16)).export"
    }

    @Test(arguments: [false, true])
    func `a temporary file left by a killed export is removed by the next export`(
        _ isReplacing: Bool
    ) throws {
        try workspace.fill("a.db", "CREATE TABLE t (x); INSERT INTO t VALUES ('row');")
        try workspace.write("plaintext of a killed export", to: hiddenName, mode: 0o600)
        if isReplacing { try workspace.write("older", to: "out.sql") }
        let arguments = ["a.db", "--output", "out.sql"] + (isReplacing ? ["--force"] : [])
        let program = try Program(
            ["export", "--key-file", "key", "--raw-key"] + arguments, directory: workspace.path)
        check(program.status, equals: 0, "\(program.errors)")
        check(!workspace.exists(hiddenName))
        check(String(decoding: try workspace.read("out.sql"), as: UTF8.self).contains("'row'"))
        try check(workspace.names.filter { $0.hasPrefix(".") }.isEmpty)
    }

    @Test func `a second name of the published file is removed, and the file stays`() throws {
        try workspace.fill("a.db", "CREATE TABLE t (x); INSERT INTO t VALUES ('row');")
        try workspace.write("published", to: "out.sql", mode: 0o600)
        try require(link(workspace.file("out.sql"), workspace.file(hiddenName)) == 0)
        let program = try workspace.run("export", "a.db", "--output", "out.sql", "--force")
        check(program.status, equals: 0, "\(program.errors)")
        check(!workspace.exists(hiddenName))
        check(String(decoding: try workspace.read("out.sql"), as: UTF8.self).contains("'row'"))
    }

    @Test func `a file that is being written is left alone, and its writer is waited for`() throws {
        try workspace.fill("a.db", "CREATE TABLE t (x); INSERT INTO t VALUES ('row');")
        try workspace.write("older", to: "out.sql")
        try workspace.write("another export's", to: hiddenName, mode: 0o600)
        let writer = open(workspace.file(hiddenName), O_RDONLY | O_CLOEXEC)
        try require(writer >= 0 && flock(writer, LOCK_EX) == 0)
        let hidden = workspace.file(hiddenName)
        let finished = DispatchQueue.global()
        finished.asyncAfter(deadline: .now() + 0.3) {
            unlink(hidden)
            close(writer)
        }
        let program = try workspace.run("export", "a.db", "--output", "out.sql", "--force")
        check(program.status, equals: 0, "\(program.errors)")
        check(String(decoding: try workspace.read("out.sql"), as: UTF8.self).contains("'row'"))
    }
}
