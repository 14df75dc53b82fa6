import Foundation
import Testing

/// What a terminal shows: prompts, what is typed after them, and the answers.
///
/// A line that begins with a prompt is typed; `⟨…⟩` is typed and not shown; a line that begins with
/// `^C` or `^Z` is that key. The last line tells whether the program continues: if a later
/// transcript of the terminal begins in the same way, it does.
struct Transcript {
    let lines: [String]

    private static let prompts = ["$ ", "> "]
    private static let keys = ["^C": "\u{3}", "^Z": "\u{1a}"]

    init(_ text: String) {
        var lines = text.components(separatedBy: "\n")
        if lines.last == "" { lines.removeLast() }
        self.lines = lines
    }

    init(contentsOf file: URL) throws {
        self.init(try String(contentsOf: file, encoding: .utf8))
    }

    /// Whether it ends at the program's prompt, with nothing typed.
    private var endsAtPrompt: Bool { lines.last == "> " }

    /// The lines without a prompt at the end, which a message of the program may replace.
    private var settled: [String] { endsAtPrompt ? lines.dropLast() : lines }

    /// Returns whether this transcript continues where another one of the same terminal ended.
    func continues(_ earlier: Transcript) -> Bool {
        lines.count > earlier.settled.count && lines.starts(with: earlier.settled)
    }

    /// Types what is typed, and compares everything that is shown.
    ///
    /// - Parameters:
    ///   - terminal: A shell at its prompt, or the one in which `earlier` has run.
    ///   - earlier: The part that has run already.
    ///   - isLeftRunning: Whether the program continues after the last line.
    /// - Throws: `CancellationError` if the terminal shows something else, which is an issue.
    func run(
        in terminal: Terminal, after earlier: Transcript? = nil, isLeftRunning: Bool = false
    ) throws {
        let done = earlier?.settled.count ?? 0
        if earlier == nil { terminal.begin() }
        var shown = lines[..<done].map { Self.withoutSecrets($0) + "\n" }.joined()
        for line in lines[done...] {
            if let prompt = Self.prompts.first(where: { line.hasPrefix($0) }) {
                try expect(shown + prompt, in: terminal)
                if line != prompt { terminal.send(line.dropFirst(prompt.count) + "\r") }
            } else if let key = Self.keys[String(line.prefix(2))] {
                try expect(shown, in: terminal)
                terminal.send(key)
            } else if let secret = line.firstMatch(of: /⟨(.*)⟩/) {
                try expect(shown + line[..<secret.range.lowerBound], in: terminal)
                terminal.send(secret.1 + "\r")
            }
            shown += Self.withoutSecrets(line) + "\n"
        }
        if endsAtPrompt {
            shown.removeLast()
        } else if !isLeftRunning {
            shown += Terminal.prompt
        }
        try expect(shown, in: terminal)
    }

    private static func withoutSecrets(_ line: String) -> String {
        line.replacing(/⟨.*⟩/, with: "")
    }

    private func expect(_ text: String, in terminal: Terminal) throws {
        guard try !terminal.shows(text) else { return }
        Issue.record("the terminal shows:\n\(terminal.screen)\ninstead of:\n\(text)")
        throw CancellationError()
    }
}
