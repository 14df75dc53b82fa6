/// A command of the shell: what `.help` shows, and what Tab completes.
struct ShellCommand {
    /// What an argument is.
    enum Argument {
        case none, text, onOff, format, table, file
    }

    /// With the dot.
    let name: String
    let usage: String
    let help: String
    let arguments: [Argument]

    private init(_ name: String, _ usage: String, _ help: String, _ arguments: Argument...) {
        (self.name, self.usage, self.help) = (name, usage, help)
        self.arguments = arguments
    }

    static let all = [
        ShellCommand(".backup", "FILE", "copy the database, under the same key", .file),
        ShellCommand(".bail", "on|off", "whether the first error ends a script", .onOff),
        ShellCommand(".changes", "on|off", "whether changes are reported", .onOff),
        ShellCommand(".databases", "", "the files that are open"),
        ShellCommand(".dump", "[TABLE]", "the rows as SQL", .table),
        ShellCommand(".eqp", "on|off", "the query plan of each statement before it runs", .onOff),
        ShellCommand(".explain", "on|off", "EXPLAIN as a tree, and with loops indented", .onOff),
        ShellCommand(".exit", "[STATUS]", "exit, with a status", .text),
        ShellCommand(".fullschema", "", "as .schema, with the statistics of ANALYZE"),
        ShellCommand(".headers", "on|off", "column names above tables and CSV", .onOff),
        ShellCommand(".help", "[COMMAND]", "this list; also without the dot", .text),
        ShellCommand(
            ".import", "[OPTIONS] FILE [TABLE]",
            "read CSV or JSON; .help import lists the options", .file, .table),
        ShellCommand(".indexes", "[TABLE]", "the names of indexes", .table),
        ShellCommand(
            ".mode", "[FORM [TABLE]]", "the form of rows; the table is for INSERT", .format, .table),
        ShellCommand(".nullvalue", "[TEXT]", "the text for NULL in tables, lines and lists", .text),
        ShellCommand(
            ".once", "[--force] FILE", "write the next result into a file", .file),
        ShellCommand(
            ".output", "[--force] [FILE]", "write into a file; without one, show again", .file),
        ShellCommand(".pager", "on|off", "a pager for results longer than the screen", .onOff),
        ShellCommand(
            ".parameter", "set NAME VALUE|unset NAME|clear|list", "values for placeholders", .text),
        ShellCommand(".print", "[TEXT]", "write a text", .text),
        ShellCommand(".quit", "", "exit, like Ctrl-D; also without the dot"),
        ShellCommand(".read", "FILE", "run the statements and commands in a file", .file),
        ShellCommand(".schema", "[TABLE]", "the SQL that created the tables", .table),
        ShellCommand(".separator", "TEXT", "what is between the fields of .mode list", .text),
        ShellCommand(".show", "", "the current settings"),
        ShellCommand(".tables", "[PATTERN]", "the names of tables and views, as with LIKE", .table),
        ShellCommand(".timeout", "MS", "how many milliseconds to wait for other programs", .text),
        ShellCommand(".timer", "on|off", "how long each statement takes", .onOff),
        ShellCommand(".width", "[N …]", "the widths of columns, negative to the right", .text),
    ]

    /// Returns the command of a name, or of the beginning of a name; nil if there is none.
    ///
    /// - Throws: `Failure` for the beginning of several names.
    static func named(_ name: String) throws -> ShellCommand? {
        if let command = all.first(where: { $0.name == name }) { return command }
        let candidates = all.filter { name.count > 1 && $0.name.hasPrefix(name) }
        guard candidates.count <= 1 else {
            let names = candidates.map(\.name).joined(separator: " or ")
            throw Failure.usage("\"\(name)\" may be \(names)")
        }
        return candidates.first
    }

    static var list: String {
        let width = all.map { $0.name.count + 1 + $0.usage.count }.max() ?? 0
        let lines = all.map { command in
            let start = "\(command.name) \(command.usage)"
            return start + String(repeating: " ", count: width + 2 - start.count) + command.help
        }
        let forms = OutputFormat.allCases.map(\.rawValue).joined(separator: ", ")
        return lines.joined(separator: "\n") + """


            The forms are \(forms). The beginning of a command is sufficient.
            End SQL with a semicolon. Tab completes names and keywords; Ctrl-R searches what was typed.
            Ctrl-C interrupts a running statement and discards typed input.
            """
    }
}

/// The words of a command, of which those with blanks are in quotes.
enum ShellWords {
    /// - Throws: `Failure` for a quote without its end.
    static func split(_ line: String) throws -> [String] {
        var words: [String] = []
        var word: String?
        var quote: Character?
        for character in line {
            if let end = quote {
                if character == end { quote = nil } else { word?.append(character) }
            } else if character == "\"" || character == "'" {
                quote = character
                word = word ?? ""
            } else if character.isWhitespace {
                if let word { words.append(word) }
                word = nil
            } else {
                word = (word ?? "") + String(character)
            }
        }
        guard quote == nil else { throw Failure.usage("a quote has no end") }
        if let word { words.append(word) }
        return words
    }
}
