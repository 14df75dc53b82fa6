import Foundation
import TestSupport
import Testing

/// The program with which the guide of sync begins, as a new user runs it.
@Suite(.timeLimit(.minutes(10))) struct FirstSyncTests {
    private let home = FileManager.default.temporaryDirectory
        .appendingPathComponent("FirstSyncTests-\(UUID().uuidString)")

    private func run(_ device: String, _ words: String..., typing line: String = "") throws
        -> String
    {
        let arguments = [home.appendingPathComponent(device).path, home.path + "/store"] + words
        let program = try ChildProcess(
            BuiltProgram.path("FirstSync"), arguments, input: Data(line.utf8))
        #expect(program.status == 0, "\(program.output)")
        return program.output
    }

    @Test func `three devices have the same notes and settings, and list what was lost`() throws {
        defer { try? FileManager.default.removeItem(at: home) }
        _ = try run("phone", "add", "buy milk")
        _ = try run("phone", "create")
        for device in ["laptop", "tablet"] {
            let code = try run("phone", "invite")
            #expect(try run(device, "join", typing: code).hasPrefix("Code:"))
        }
        _ = try run("laptop", "add", "call Bob")
        _ = try run("tablet", "set", "theme", "dark")
        var shown: [String] = []
        for device in ["phone", "laptop", "tablet"] { shown.append(try run(device, "show")) }
        for text in shown {
            let lines = text.split(separator: "\n")
            #expect(lines[0..<3] == ["note: buy milk", "note: call Bob", "setting: theme = dark"])
            #expect(lines.count == 6)
        }
        #expect(shown[1].contains("member: laptop, this device\n"))
    }
}
