internal import Foundation
internal import SecureStorage

/// Processes the lines of a shell: SQL up to a semicolon, and commands that begin with a dot.
final class ShellSession {
    /// Whether to continue.
    enum Outcome {
        case more, quit
    }

    private let store: SecureDatabaseStore
    private let output = Output.standard
    private let history: History
    private let isInteractive: Bool
    private var runner: StatementRunner
    private var statements = Statements()
    /// The lines of an unfinished statement.
    private var typed: [String] = []
    private static let deepest = 10

    init(_ store: SecureDatabaseStore, isInteractive: Bool, history: History) {
        self.store = store
        self.history = history
        self.isInteractive = isInteractive
        runner = StatementRunner(store: store, output: .standard, format: .table)
    }

    /// Reads to the end of the input.
    ///
    /// - Returns: False when a script has failed, which ends it.
    func run(_ lines: any LineSource) throws -> Bool {
        if isInteractive { for line in history.lines { lines.remember(line) } }
        while true {
            let prompt = statements.isInStatement ? "          ...> " : "securestorage> "
            switch try lines.next(prompt: prompt) {
            case .end: return try end()
            case .interrupted:
                forget()
                if !isInteractive { return false }
            case .line(let line):
                do {
                    if try take(line, from: lines) == .quit { return try end() }
                } catch {
                    guard let failure = Failure(error) else { throw error }
                    forget()
                    guard isInteractive else {
                        Failure("line \(lines.number): \(failure.message)", hint: failure.hint)
                            .report()
                        return false
                    }
                    // The terminal has shown ^C, and the cursor is after it.
                    if Interrupts.hasCome { try output.write("\n") }
                    // Earlier output belongs before the message.
                    try output.flush()
                    failure.report()
                }
            }
        }
    }

    /// Handles the rest at the end of the input; a script's last statement needs no semicolon.
    private func end() throws -> Bool {
        var isGood = true
        if !isInteractive, let last = try statements.finish() {
            do {
                try runner.run(last.sql)
            } catch {
                guard let failure = Failure(error) else { throw error }
                failure.report()
                isGood = false
            }
        }
        guard try store.isInTransaction() else { return isGood }
        Failure("a transaction was left open and has been rolled back").report()
        return isInteractive
    }

    private func forget() {
        statements.reset()
        typed = []
    }

    private func take(
        _ line: [UInt8], from lines: any LineSource, depth: Int = 0
    ) throws -> Outcome {
        let text = String(decoding: line, as: UTF8.self)
        if !statements.isInStatement, line.first == UInt8(ascii: ".") {
            remember([text], lines, depth)
            return try command(text, lines, depth)
        }
        if depth == 0, !text.allSatisfy(\.isWhitespace) { typed.append(text) }
        let complete = try statements.take(line + [UInt8(ascii: "\n")])
        if !statements.isInStatement {
            // Before it runs, because a failed statement is the one that the user wants to correct.
            remember(typed, lines, depth)
            typed = []
        }
        for statement in complete { try runner.run(statement.sql) }
        return .more
    }

    private func remember(_ text: [String], _ lines: any LineSource, _ depth: Int) {
        guard isInteractive, depth == 0, !text.isEmpty, history.add(text) else { return }
        for line in text { lines.remember(line) }
    }

    // MARK: - Commands

    static let help = """
        .headers on|off   column names above tables and CSV
        .help             this list
        .mode FORM        table, csv, json, json-lines or line
        .quit             exit, like Ctrl-D
        .read FILE        run the commands in a file
        .schema [TABLE]   the SQL that created the tables
        .tables           the names of tables and views

        End SQL with a semicolon. Ctrl-C interrupts a running statement and discards typed input.
        """

    private func command(
        _ line: String, _ lines: any LineSource, _ depth: Int
    ) throws -> Outcome {
        let words = line.split(separator: " ", maxSplits: 1).map { String($0) }
        let argument =
            words.count > 1 ? words[1].trimmingCharacters(in: .whitespaces) : ""
        switch (words[0], argument) {
        case (".quit", ""), (".exit", ""): return .quit
        case (".help", _): try output.write(line: Self.help)
        case (".headers", "on"): runner.showsHeaders = true
        case (".headers", "off"): runner.showsHeaders = false
        case (".mode", _):
            guard let format = OutputFormat(rawValue: argument) else {
                let forms = OutputFormat.allCases.map(\.rawValue).joined(separator: ", ")
                throw Failure("unknown format \"\(argument)\"", hint: "the formats are \(forms)")
            }
            runner.format = format
        case (".tables", ""): try showTables()
        case (".schema", _): try showSchema(argument)
        case (".read", _) where !argument.isEmpty: return try read(argument, lines, depth)
        default:
            throw Failure("\"\(line)\" is not a shell command", hint: ".help lists them")
        }
        try output.flush()
        return .more
    }

    private func showTables() throws {
        let names = try store.names(
            """
            SELECT name FROM (SELECT * FROM sqlite_schema UNION ALL SELECT * FROM sqlite_temp_schema)
            WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
            ORDER BY name
            """)
        for name in names { try output.write(line: Visible.text(name)) }
    }

    private func showSchema(_ table: String) throws {
        let all = "SELECT * FROM sqlite_schema UNION ALL SELECT * FROM sqlite_temp_schema"
        let only = table.isEmpty ? "?1 = ''" : "tbl_name = ?1 COLLATE NOCASE"
        for sql in try store.names(
            "SELECT sql FROM (\(all)) WHERE sql IS NOT NULL AND \(only)", table)
        {
            try output.write(line: sql + ";")
        }
    }

    private func read(
        _ path: String, _ lines: any LineSource, _ depth: Int
    ) throws -> Outcome {
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
                    if try take(line, from: lines, depth: depth + 1) == .quit { return .quit }
                } catch {
                    guard let failure = Failure(error) else { throw error }
                    throw Failure(
                        "\(path), line \(script.number): \(failure.message)", hint: failure.hint)
                }
            case .interrupted: throw Failure("interrupted")
            case .end:
                // As at the end of a script.
                if let last = try statements.finish() { try runner.run(last.sql) }
                return .more
            }
        }
    }
}
