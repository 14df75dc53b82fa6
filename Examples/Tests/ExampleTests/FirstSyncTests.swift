import Foundation
import ExampleSupport
import Testing

/// The program with which the guide of sync begins, as a new user runs it.
struct FirstSyncTests {
    private let home = FileManager.default.temporaryDirectory
        .appendingPathComponent("FirstSyncTests-\(UUID().uuidString)")

    private func run(_ device: String, _ words: String..., typing line: String = "") throws
        -> String
    {
        let arguments = [home.appendingPathComponent(device).path, home.path + "/store"] + words
        let program = try ChildProcess(
            BuiltProgram.path("FirstSync"), arguments, input: Data(line.utf8))
        check(program.status, equals: 0, "\(program.output)")
        return program.output
    }

    @Test func `three devices have the same notes and settings, and list what was lost`() throws {
        defer { try? FileManager.default.removeItem(at: home) }
        _ = try run("phone", "add", "buy milk")
        _ = try run("phone", "create")
        for device in ["laptop", "tablet"] {
            let code = try run("phone", "invite")
            try check(run(device, "join", typing: code).hasPrefix("Code:"))
        }
        _ = try run("laptop", "add", "call Bob")
        _ = try run("tablet", "set", "theme", "dark")
        var shown: [String] = []
        for device in ["phone", "laptop", "tablet"] { shown.append(try run(device, "show")) }
        for text in shown {
            let lines = text.split(separator: "\n")
            check(
                lines[0..<3], equals: ["note: buy milk", "note: call Bob", "setting: theme = dark"])
            check(lines.count, equals: 6)
        }
        check(shown[1].contains("member: laptop, this device\n"))
    }
}
