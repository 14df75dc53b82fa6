import Foundation
import TestSupport
import Testing

/// The programs with which the guides begin, run as a new user runs them.
@Suite(.timeLimit(.minutes(10))) struct FirstStepsTests {
    private let directory = FileManager.default.temporaryDirectory
        .appendingPathComponent("FirstStepsTests-\(UUID().uuidString)").path

    private func run(_ program: String, typing line: String) throws -> ChildProcess {
        try ChildProcess(
            BuiltProgram.path(program), [directory], input: Data((line + "\n").utf8))
    }

    @Test(arguments: [
        ("FirstDataVault", "The vault was created.", "The token is abc-123."),
        ("FirstSecureVault", "The password was set.", "The first note is: buy milk."),
        ("FirstKeys", "The note was sealed.", "The note is: buy milk"),
    ])
    func `a first program creates, opens, and refuses a wrong password`(
        _ program: String, _ created: String, _ opened: String
    ) throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let first = try run(program, typing: "correct horse")
        #expect(first.status == 0)
        #expect(first.output == "Password:\n\(created)\n")
        let second = try run(program, typing: "correct horse")
        #expect(second.status == 0)
        #expect(second.output.hasSuffix("\n\(opened)\n"))
        let wrong = try run(program, typing: "wrong horse")
        #expect(wrong.status == 1)
        #expect(wrong.output.contains("wrong password") || wrong.output.contains("is wrong"))
        #expect(!wrong.output.contains(opened))
    }

    @Test func `the first program of keys opens with this machine's key`() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        #expect(try run("FirstKeys", typing: "correct horse").status == 0)
        #expect(try run("FirstKeys", typing: "").output.hasSuffix("The note is: buy milk\n"))
    }
}
