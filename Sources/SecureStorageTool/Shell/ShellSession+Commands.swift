internal import Foundation
internal import SecureStorage

extension ShellSession {
    /// Runs a command.
    func run(command line: String, depth: Int) throws -> Outcome {
        let name = String(line.prefix { !$0.isWhitespace })
        let rest = line.dropFirst(name.count).trimmingCharacters(in: .whitespaces)
        guard let command = try ShellCommand.named(name) else {
            throw Failure.usage("\"\(line)\" is not a shell command", hint: ".help lists them")
        }
        // Files may have blanks in their names without quotes.
        let isWhole = [".read", ".print", ".nullvalue", ".backup", ".separator", ".parameter"]
            .contains(command.name)
        let whole = [Self.unquoted(rest)].filter { !$0.isEmpty }
        let words = isWhole ? whole : try ShellWords.split(rest)
        guard words.count <= Self.most(of: command) else { throw Self.wrong(command) }
        switch command.name {
        case ".quit": return .quit
        case ".exit":
            guard let status = words.first else { return .quit }
            guard let status = UInt8(status) else { throw Self.wrong(command) }
            try endRedirection()
            throw EndingWithStatus(status: Int32(status))
        case ".read":
            guard let path = words.first else { throw Self.wrong(command) }
            return try read(Self.expanded(path), depth: depth)
        case ".bail", ".changes", ".eqp", ".explain", ".headers", ".pager", ".timer":
            try set(command, words.first)
        case ".mode" where words.isEmpty:
            try runner.messages.write(line: runner.format.rawValue)
        case ".mode", ".nullvalue", ".separator", ".width": try setForm(command, words)
        case ".parameter": try setParameter(command, rest)
        case ".timeout":
            guard let time = words.first.flatMap({ Int32($0) }), time >= 0 else {
                throw Self.wrong(command)
            }
            try store.executeStatements("PRAGMA busy_timeout = \(time)")
        case ".once", ".output": try redirect(command, words)
        case ".import":
            try ShellImport(words).run(in: store, on: runner.messages)
        case ".backup":
            guard let path = words.first else { throw Self.wrong(command) }
            try backup(to: Self.expanded(path))
        default: try show(command, words)
        }
        try runner.output.flush()
        return .more
    }

    private static func most(of command: ShellCommand) -> Int {
        switch command.name {
        case ".width", ".import": .max
        case ".once", ".output": 2
        default: command.arguments.count
        }
    }

    static func wrong(_ command: ShellCommand) -> Failure {
        Failure.usage("usage: \(command.name) \(command.usage)")
    }

    static func unquoted(_ text: String) -> String {
        guard text.count > 1, let quote = text.first, quote == "\"" || quote == "'",
            text.last == quote
        else { return text }
        return String(text.dropFirst().dropLast())
    }

    /// Returns the path with the user's directory in place of `~`.
    static func expanded(_ path: String) -> String {
        guard path.hasPrefix("~/"), let home = ProcessInfo.processInfo.environment["HOME"] else {
            return path
        }
        return home + path.dropFirst()
    }

    // MARK: - Settings

    private func set(_ command: ShellCommand, _ word: String?) throws {
        guard let word, ["on", "off"].contains(word) else { throw Self.wrong(command) }
        let isOn = word == "on"
        switch command.name {
        case ".bail": endsAtError = isOn
        case ".changes": runner.acknowledges = isOn
        case ".eqp": runner.showsPlans = isOn
        case ".explain": runner.options.drawsPlans = isOn
        case ".headers": runner.options.showsHeaders = isOn
        case ".timer": runner.showsTimes = isOn
        default:
            isPagerOn = isOn
            if redirection == nil { runner.pager = isOn ? pager : nil }
        }
    }

    private func setForm(_ command: ShellCommand, _ words: [String]) throws {
        switch command.name {
        case ".nullvalue": runner.options.nullText = words.first
        case ".separator":
            guard let text = words.first else { throw Self.wrong(command) }
            runner.options.separator =
                text.replacingOccurrences(of: "\\t", with: "\t")
                .replacingOccurrences(of: "\\n", with: "\n")
        case ".width":
            runner.options.widths = try words.map {
                guard let width = Int($0), abs(width) <= 10_000 else { throw Self.wrong(command) }
                return width
            }
        default:
            // The name of the form in other shells.
            let name = words.first == "column" ? "table" : words.first ?? ""
            guard let format = OutputFormat(rawValue: name) else {
                let forms = OutputFormat.allCases.map(\.rawValue).joined(separator: ", ")
                throw Failure.usage("unknown format \"\(name)\"", hint: "the formats are \(forms)")
            }
            runner.format = format
            if words.count > 1 { runner.options.insertTable = words[1] }
        }
    }

    private func redirect(_ command: ShellCommand, _ words: [String]) throws {
        let replaces = words.first == "--force"
        let names = replaces ? Array(words.dropFirst()) : words
        guard names.count <= 1 else { throw Self.wrong(command) }
        let isOnce = command.name == ".once"
        guard let path = names.first, isOnce || path != "stdout" else {
            guard !isOnce, !replaces else { throw Self.wrong(command) }
            return try endRedirection()
        }
        // In other shells these are a program and an option, and no names of files.
        guard !path.hasPrefix("|") else {
            throw Failure.usage(
                "\(command.name) writes into a file, and starts no program",
                hint:
                    "results that are longer than the screen are paged, and \"securestorage query\" can "
                    + "be piped")
        }
        guard !path.hasPrefix("-") else {
            throw Failure.usage(
                "\(command.name) has no option \(path)",
                hint: "a file of that name is \"./\(path)\"")
        }
        try redirect(to: Self.expanded(path), replacing: replaces, once: isOnce)
    }

    // MARK: - Results

    private func show(_ command: ShellCommand, _ words: [String]) throws {
        try redirecting {
            let output = runner.output
            try output.paged(by: runner.pager) {
                switch command.name {
                case ".databases": try showDatabases(output)
                case ".dump": try dump(words.first, output)
                case ".help": try help(words.first, output)
                case ".indexes": try showIndexes(words.first, output)
                case ".print": try output.write(line: words.first ?? "")
                case ".schema": try showSchema(words.first ?? "", output)
                case ".fullschema":
                    try showSchema("", output, withEngines: false)
                    try showStatistics(output)
                case ".show": try output.write(line: settings)
                default: try showTables(words.first ?? "%", output)
                }
            }
        }
    }

    private func help(_ name: String?, _ output: Output) throws {
        guard let name else { return try output.write(line: ShellCommand.list) }
        guard let command = try ShellCommand.named(name.hasPrefix(".") ? name : "." + name) else {
            throw Failure.usage("\"\(name)\" is not a shell command", hint: ".help lists them")
        }
        try output.write(line: "\(command.name) \(command.usage)  \(command.help)")
        if command.name == ".import" {
            try output.write(line: "the options are \(ShellImport.options)")
        }
    }

    private var settings: String {
        let options = runner.options
        func word(_ isOn: Bool) -> String { isOn ? "on" : "off" }
        return """
            bail       \(word(endsAtError))
            changes    \(word(runner.acknowledges))
            eqp        \(word(runner.showsPlans))
            explain    \(word(options.drawsPlans))
            headers    \(word(options.showsHeaders))
            mode       \(runner.format.rawValue)
            nullvalue  \(options.nullText ?? ValueText.null)
            pager      \(isPagerOn ? pager ?? "none" : "off")
            separator  \(Visible.text(options.separator))
            timer      \(word(runner.showsTimes))
            width      \(options.widths.map { String($0) }.joined(separator: " "))
            """
    }

    private static let schema =
        "SELECT * FROM sqlite_schema UNION ALL SELECT * FROM sqlite_temp_schema"

    private func showTables(_ pattern: String, _ output: Output) throws {
        let names = try store.names(
            """
            SELECT name FROM (\(Self.schema))
            WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
            AND name LIKE ? ORDER BY name
            """, pattern)
        for name in names { try output.write(line: Visible.text(name)) }
    }

    private func showIndexes(_ table: String?, _ output: Output) throws {
        let only = table == nil ? "?1 = ''" : "tbl_name = ?1 COLLATE NOCASE"
        let names = try store.names(
            "SELECT name FROM (\(Self.schema)) WHERE type = 'index' AND \(only) ORDER BY name",
            table ?? "")
        for name in names { try output.write(line: Visible.text(name)) }
    }

    /// Shows the SQL of all tables or of one; `withEngines` says whether SQLite's own are shown,
    /// which SQL cannot create.
    private func showSchema(
        _ table: String, _ output: Output, withEngines: Bool = true
    ) throws {
        var only = table.isEmpty ? "?1 = ''" : "tbl_name = ?1 COLLATE NOCASE"
        if !withEngines { only += " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'" }
        for sql in try store.names(
            "SELECT sql FROM (\(Self.schema)) WHERE sql IS NOT NULL AND \(only)", table)
        {
            try output.write(line: sql + ";")
        }
    }

    /// Shows what ANALYZE has stored, as SQL.
    private func showStatistics(_ output: Output) throws {
        let tables = try store.names(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'sqlite\\_stat_' "
                + "ESCAPE '\\' ORDER BY name")
        if !tables.isEmpty { try output.write(line: "ANALYZE sqlite_schema;") }
        for table in tables {
            var writer = try InsertWriter(to: output, table: table, in: store)
            try writer.write(all: store.executeQuery("SELECT * FROM \(SQLName.quoted(table))"))
        }
    }

    private func showDatabases(_ output: Output) throws {
        let rows = try store.executeQuery("SELECT name, file FROM pragma_database_list")
        var table = TableWriter(to: output)
        try table.write(all: rows)
    }

    private func dump(_ table: String?, _ output: Output) throws {
        if let table {
            let found = try store.names(
                "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ? COLLATE NOCASE",
                table)
            guard !found.isEmpty else { throw Failure("no such table: \"\(table)\"", .notFound) }
        }
        let progress = ProgressBar("dumping", total: nil)
        defer { progress.finish() }
        var dump = SQLDump(of: store, to: output, progress)
        _ = try dump.write(table: table)
    }

    private func backup(to path: String) throws {
        guard !OutputFile.exists(path) else { throw Failure("\"\(path)\" already exists", .exists) }
        let progress = ProgressBar("backing up", total: nil)
        defer { progress.finish() }
        try store.backup(to: URL(fileURLWithPath: path)) {
            guard !Interrupts.hasCome else {
                throw Failure("interrupted; nothing was changed")
            }
            try StopSignals.check()
            progress.advance(to: $0)
        }
        progress.finish()
        try acknowledge("backed up to \(path)", on: runner.messages)
    }
}
