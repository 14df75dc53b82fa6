import Foundation
import TestSupport
import Testing

/// Replays the transcripts in `Docs/Tool.md`.
struct TranscriptTests {
    /// A command and the output documented for it.
    private struct Step {
        let command: String
        var output: [String] = []

        var isTyped: Bool { output.contains { $0.hasPrefix(Self.prompt) } }

        static let prompt = "securestorage> "
        static let prompts = [prompt, "          ...> ", "key of", "key, once more"]
    }

    private static func steps() throws -> [Step] {
        var steps: [Step] = []
        var isInside = false
        for line in try Checkout.text("Docs/Tool.md").components(separatedBy: "\n") {
            if line.hasPrefix("```") {
                isInside = line == "```console"
            } else if isInside, line.hasPrefix("$ ") {
                steps.append(Step(command: String(line.dropFirst(2))))
            } else if isInside, !steps.isEmpty {
                steps[steps.count - 1].output.append(line)
            }
        }
        return steps
    }

    /// Returns whether a line is as documented, where `…` matches anything.
    private static func matches(_ line: String, _ expected: String) -> Bool {
        let parts = expected.components(separatedBy: "…")
        guard parts.count > 1 else { return line == expected }
        guard line.hasPrefix(parts[0]), line.hasSuffix(parts[parts.count - 1]) else { return false }
        var rest = line[...]
        for part in parts where !part.isEmpty {
            guard let range = rest.range(of: part) else { return false }
            rest = rest[range.upperBound...]
        }
        return true
    }

    private static func compare(_ step: Step, _ lines: [String]) {
        let isSame =
            lines.count == step.output.count
            && zip(lines, step.output).allSatisfy { matches($0, $1) }
        check(
            isSame,
            "\(step.command)\nshows:\n\(lines.joined(separator: "\n"))\ninstead of:\n\(step.output.joined(separator: "\n"))"
        )
    }

    @Test func `every command of the tour shows the documented output`() throws {
        let workspace = try Workspace()
        let steps = try Self.steps().filter { !$0.isTyped }
        let separator = "--- next command ---"
        let script = steps.map { "\($0.command)\necho '\(separator)'\n" }.joined()
        let program = try workspace.shell("export LC_ALL=C.UTF-8; exec 2>&1\n" + script)
        var shown = [[String]]()
        var current: [String] = []
        for line in program.lines {
            if line == separator {
                shown.append(current)
                current = []
            } else {
                current.append(line)
            }
        }
        try require(shown.count == steps.count)
        for (step, lines) in zip(steps, shown) { Self.compare(step, lines) }
        check(steps.count >= 15)
    }

    @Test(.enabled(if: PseudoTerminal.isAvailable))
    func `the session of the shell shows the documented output`() throws {
        let workspace = try Workspace()
        let step = try require(Self.steps().first { $0.isTyped })
        // A dumb terminal receives only the characters, which can be compared.
        let terminal = try PseudoTerminal(
            workspace, "export TERM=dumb; \(step.command)", columns: 120)
        var shown = ""
        for line in step.output {
            if line == "^C" {
                usleep(500_000)
                terminal.send(PseudoTerminal.controlC)
                shown += try terminal.expect("^C") + "^C"
                continue
            }
            guard let prompt = Step.prompts.first(where: { line.hasPrefix($0) }) else { continue }
            let isKey = prompt.hasPrefix("key")
            let text = isKey ? line : prompt
            shown += try terminal.expect(text) + text
            let typed = isKey ? "sesame" : String(line.dropFirst(prompt.count))
            terminal.type(typed)
        }
        shown += try terminal.expect("[status 0]")
        let lines = shown.replacingOccurrences(of: "\r", with: "").components(separatedBy: "\n")
        Self.compare(step, lines.dropLast())
    }
}
