internal import Foundation
internal import SecureStorage

/// Processes the lines of a shell: SQL up to a semicolon, and commands that begin with a dot.
final class ShellSession {
    /// Whether to continue.
    enum Outcome {
        case more, quit
    }

    static let prompt = "securestorage> "
    /// While a transaction is open.
    static let transactionPrompt = "securestorage*> "
    static let continuation = "          ...> "

    let store: SecureDatabaseStore
    let isInteractive: Bool
    var runner: StatementRunner
    var redirection: Redirection?
    /// The pager that the user can switch on.
    let pager: String?
    var isPagerOn = true
    /// Whether the first error of a script ends it.
    var endsAtError = true
    /// The status of the first error of a script that continued.
    private var firstStatus: Int32?
    private let history: History
    private var statements = Statements()
    /// The lines of an unfinished statement.
    private var typed: [String] = []
    /// The line feeds of the statement that runs, which ends in the line that was read last.
    private var feedCount = 0
    private static let deepest = 10

    /// Makes a session whose `pager`, a command, shows results longer than the screen.
    init(
        _ store: SecureDatabaseStore, isInteractive: Bool, history: History, pager: String? = nil
    ) {
        self.store = store
        self.history = history
        self.isInteractive = isInteractive
        self.pager = pager
        runner = StatementRunner(store: store, output: .standard, format: .table)
        runner.pager = pager
        runner.parameters = [:]
    }

    /// Reads to the end of the input.
    ///
    /// - Throws: the first failure of a script, which ends it.
    func run(_ lines: any LineSource) throws {
        if isInteractive { for entry in history.entries { lines.remember(entry) } }
        while true {
            switch try lines.next(prompt: prompt) {
            case .end: return try end()
            case .interrupted:
                forget()
                if !isInteractive { try checkSignals(lines) }
            case .line(let text):
                do {
                    if !isInteractive { try checkSignals(lines) }
                    // Before it runs, because a failed statement is the one that the user wants to
                    // correct.
                    remember(text, lines)
                    if try take(text) == .quit { return try end() }
                } catch {
                    guard let failure = Failure(error) else { throw error }
                    forget()
                    guard isInteractive else {
                        try checkSignals(lines)
                        let located = failure.at("line \(lineNumber(of: failure, lines))")
                        guard !endsAtError else { throw located }
                        try Output.standard.flush()
                        located.report()
                        firstStatus = firstStatus ?? located.status
                        continue
                    }
                    // The terminal has shown ^C, and the cursor is after it.
                    if Interrupts.hasCome { try Output.standard.write("\n") }
                    // Earlier output belongs before the message.
                    try Output.standard.flush()
                    failure.report()
                }
            }
        }
    }

    private var prompt: String {
        guard !statements.isInStatement else { return Self.continuation }
        return (try? store.isInTransaction()) == true ? Self.transactionPrompt : Self.prompt
    }

    /// Handles the rest at the end of the input; a script's last statement needs no semicolon.
    private func end() throws {
        if !isInteractive, let last = try statements.finish() { try run(last.sql) }
        try endRedirection()
        if try store.isInTransaction() {
            let failure = Failure("a transaction was left open and has been rolled back")
            guard isInteractive else { throw failure }
            failure.report()
        }
        if let firstStatus { throw EndingWithStatus(status: firstStatus) }
    }

    /// - Throws: the failure of a script that a signal has ended.
    private func checkSignals(_ lines: any LineSource) throws {
        try StopSignals.check("line \(lines.number): interrupted")
    }

    private func forget() {
        statements.reset()
        typed = []
        // The result that it was for does not come.
        if redirection?.isOnce == true { dropRedirection() }
    }

    /// Takes one line, or the lines of a text that was edited as a whole.
    private func take(_ text: [UInt8]) throws -> Outcome {
        for line in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            let outcome = try take(Array(line), depth: 0)
            guard outcome == .more else { return outcome }
        }
        return .more
    }

    private func take(_ line: [UInt8], depth: Int) throws -> Outcome {
        let text = String(decoding: line, as: UTF8.self)
        if !statements.isInStatement, let command = ShellText.command(text) {
            return try run(command: command, depth: depth)
        }
        for statement in try statements.take(line + [UInt8(ascii: "\n")]) {
            try run(statement.sql)
        }
        return .more
    }

    private func run(_ sql: String) throws {
        feedCount = sql.utf8.count { $0 == UInt8(ascii: "\n") }
        try redirecting { try runner.run(sql) }
        feedCount = 0
    }

    /// The line in which a statement has its error, or else in which it begins.
    private func lineNumber(of failure: Failure, _ lines: any LineSource) -> Int {
        defer { feedCount = 0 }
        return failure.line(ofStatementAt: lines.number - feedCount)
    }

    /// Makes the statement that these lines end available as one entry.
    private func remember(_ line: [UInt8], _ lines: any LineSource) {
        guard isInteractive else { return }
        typed.append(String(decoding: line, as: UTF8.self))
        var entry = typed.joined(separator: "\n")
        guard ShellText.isComplete(entry) else { return }
        typed = []
        while entry.last?.isWhitespace == true { entry.removeLast() }
        while let first = entry.first, first == "\n" || first == "\t" { entry.removeFirst() }
        if !entry.isEmpty, history.add(entry) { lines.remember(entry) }
    }

    // MARK: - Files with statements

    func read(_ path: String, depth: Int) throws -> Outcome {
        guard depth < Self.deepest else {
            throw Failure("files are nested more than \(Self.deepest) levels deep")
        }
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw Failure.system("\"\(path)\" cannot be read") }
        defer { close(file) }
        let script = PlainLines(file, showsPrompt: false)
        while true {
            switch try script.next(prompt: "") {
            case .line(let line):
                do {
                    if try take(line, depth: depth + 1) == .quit { return .quit }
                } catch {
                    guard let failure = Failure(error) else { throw error }
                    throw failure.at("\(path), line \(lineNumber(of: failure, script))")
                }
            case .interrupted: throw Failure("interrupted")
            case .end:
                // As at the end of a script.
                if let last = try statements.finish() { try run(last.sql) }
                return .more
            }
        }
    }
}
