import Foundation
import ExampleSupport
import Testing

/// The programs with which the guides begin, run as a new user runs them.
struct FirstStepsTests {
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
        check(first.status, equals: 0)
        check(first.output, equals: "Password:\n\(created)\n")
        let second = try run(program, typing: "correct horse")
        check(second.status, equals: 0)
        check(second.output.hasSuffix("\n\(opened)\n"))
        let wrong = try run(program, typing: "wrong horse")
        check(wrong.status, equals: 1)
        check(wrong.output.contains("wrong password") || wrong.output.contains("is wrong"))
        check(!wrong.output.contains(opened))
    }

    @Test func `the first program of keys opens with this machine's key`() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try check(run("FirstKeys", typing: "correct horse").status, equals: 0)
        try check(run("FirstKeys", typing: "").output.hasSuffix("The note is: buy milk\n"))
    }
}
