extension StatementReport {
    /// What the statement does and to which tables, such as `SELECT note` or
    /// `INSERT archive SELECT note`.
    ///
    /// It has the words that begin an operation, and the names of tables, views and indexes as they
    /// are written in the statement; no columns, no values, no names of savepoints. Many statements
    /// have the same: it serves as a label of metrics and as a name of spans. At most 255 bytes;
    /// what does not fit whole is left out. It follows
    /// [`db.query.summary`](https://opentelemetry.io/docs/specs/semconv/db/database-spans/#generating-a-summary-of-the-query)
    /// of OpenTelemetry.
    public var summary: String { QuerySummary.summary(of: sql) }
}

/// Reads a text without literals word by word, and notes operations and their targets.
struct QuerySummary {
    private static let limit = 255

    private var words: [String] = []
    private var length = 0
    private var isFull = false

    /// Returns the summary of a text that has neither literals nor comments.
    static func summary(of sql: String) -> String {
        var tokens = Tokens(sql)
        var summary = QuerySummary()
        summary.read(&tokens)
        return summary.words.joined(separator: " ")
    }

    private mutating func read(_ tokens: inout Tokens) {
        var previous = ""
        while let token = tokens.next() {
            let word = token.uppercased()
            defer { previous = word }
            switch word {
            case "SELECT", "VALUES": add(word)
            case "DELETE", "INSERT": add(word)
            // A function of that name, otherwise.
            case "REPLACE" where previous != "OR" && tokens.peek != "(": add(word)
            case "UPDATE" where !["SET", "", "OF"].contains(tokens.peek?.uppercased() ?? ""):
                add(word)
                if tokens.peek?.uppercased() == "OR" {
                    _ = tokens.next()
                    _ = tokens.next()
                }
                addTarget(&tokens)
            case "FROM" where previous != "DISTINCT":
                addTarget(&tokens)
                while tokens.skipToComma() { addTarget(&tokens) }
            case "JOIN", "INTO": addTarget(&tokens)
            case "CREATE", "DROP", "ALTER", "REINDEX", "ANALYZE":
                readDefinition(word, &tokens)
                return
            case "PRAGMA":
                add(word)
                addTarget(&tokens)
                return
            case "BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE", "ATTACH", "DETACH",
                "VACUUM":
                // The words of a transaction are whole statements; elsewhere END is of CASE.
                guard previous.isEmpty else { continue }
                add(word)
                return
            case "EXPLAIN": add(word)
            default: break
            }
        }
    }

    /// The rest of a definition has names of columns, and the statements of a trigger.
    private mutating func readDefinition(_ word: String, _ tokens: inout Tokens) {
        var operation = word
        while let kind = tokens.peek?.uppercased(),
            ["TEMP", "TEMPORARY", "UNIQUE", "VIRTUAL", "TABLE", "INDEX", "VIEW", "TRIGGER"]
                .contains(kind)
        {
            _ = tokens.next()
            if ["TABLE", "INDEX", "VIEW", "TRIGGER"].contains(kind) {
                operation += " " + kind
                break
            }
        }
        add(operation)
        while ["IF", "NOT", "EXISTS"].contains(tokens.peek?.uppercased() ?? "") {
            _ = tokens.next()
        }
        addTarget(&tokens)
    }

    private mutating func addTarget(_ tokens: inout Tokens) {
        guard var name = tokens.nextName() else { return }
        // A table of an attached database.
        if tokens.peek == "." {
            _ = tokens.next()
            if let table = tokens.nextName() { name += "." + table }
        }
        add(name)
    }

    private mutating func add(_ word: String) {
        guard !isFull, length + word.utf8.count <= Self.limit else {
            isFull = true
            return
        }
        length += word.utf8.count + 1
        words.append(word)
    }

    private struct Tokens {
        private var words: ArraySlice<SQLWord>
        var peek: String? { words.first?.text }

        init(_ sql: String) { words = SQLWord.all(in: sql)[...] }

        mutating func next() -> String? { words.popFirst()?.text }

        /// Returns the next token if it is a name; otherwise it stays.
        mutating func nextName() -> String? {
            guard let word = words.first, [.word, .quotedName].contains(word.kind),
                word.keyword != "SELECT"
            else { return nil }
            return next()
        }

        /// Skips the alias of a table; returns whether another table follows.
        mutating func skipToComma() -> Bool {
            var ahead = self
            if ahead.peek?.uppercased() == "AS" { _ = ahead.next() }
            if ahead.peek != "," { _ = ahead.nextName() }
            guard ahead.peek == "," else { return false }
            _ = ahead.next()
            self = ahead
            return true
        }
    }
}
