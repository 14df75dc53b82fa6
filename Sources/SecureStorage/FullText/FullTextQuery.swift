/// A query of a full-text table (FTS5), made of any text that a user has typed.
///
/// ```swift
/// let rs = try db.executeQuery(
///     "SELECT rowid FROM note_text WHERE note_text MATCH ? ORDER BY rank",
///     values: [FullTextQuery(typed)])
/// ```
///
/// It finds the rows that have all words, each anywhere, the last of them also as the beginning of
/// a word. Words in double quotes are a phrase, found one after the other. Everything else, such as
/// `AND`, `-`, `*` and parentheses, has no meaning: no text is a syntax error. A text without
/// letters and digits finds nothing.
///
/// A word that the table's tokenizer cuts into several tokens, such as `don't`, is a phrase too,
/// which a table with `detail = none` or `column` refuses.
public struct FullTextQuery: SQLiteDatatypeBridgeable, Sendable, Hashable {
    /// The expression for MATCH, in the syntax of
    /// [FTS5](https://sqlite.org/fts5.html#full_text_query_syntax).
    public let expression: String

    /// Makes a query.
    ///
    /// - Parameters:
    ///   - text: Any text.
    ///   - columns: The columns to search; none for all. A name that the table does not have is an
    ///     error of the statement, with code `.error`.
    ///   - isLastWordPrefix: Whether the last word also finds words that begin with it, unless it
    ///     is in closed quotes.
    public init(_ text: String, in columns: [String] = [], isLastWordPrefix: Bool = true) {
        let (strings, isClosed) = Self.strings(of: text)
        // An empty string in quotes finds nothing; nothing at all would be a syntax error.
        var expression =
            strings.isEmpty ? "\"\"" : strings.map(Self.quoted).joined(separator: " ")
        if isLastWordPrefix, !isClosed, !strings.isEmpty { expression += "*" }
        if !columns.isEmpty {
            let names = columns.map(Self.quoted).joined(separator: " ")
            expression = "{\(names)} : (\(expression))"
        }
        self.expression = expression
    }

    /// The expression, as TEXT.
    public var sqliteValue: SQLiteValue { .text(expression) }

    /// Takes a text as the expression, as it is.
    public init?(sqliteValue: SQLiteValue) {
        guard case .text(let text) = sqliteValue else { return nil }
        expression = text
    }

    /// Returns the words and the phrases of a text, and whether the last of them is a phrase whose
    /// quotes are closed.
    ///
    /// By scalars, as the engine reads: to Swift, a quotation mark with a combining mark is another
    /// character.
    private static func strings(of text: String) -> ([String], isClosed: Bool) {
        var strings: [String] = []
        var isClosed = false
        let parts = text.unicodeScalars.split(separator: "\"", omittingEmptySubsequences: false)
        for (number, part) in parts.enumerated() {
            let words = part.split { $0.properties.isWhitespace || $0 == "\0" }.map(String.init)
            guard !words.isEmpty else { continue }
            let isPhrase = number % 2 == 1
            strings += isPhrase ? [words.joined(separator: " ")] : words
            isClosed = isPhrase && number < parts.count - 1
        }
        return (strings, isClosed)
    }

    /// Returns a string of FTS5, in which nothing but the quotation mark has a meaning.
    private static func quoted(_ text: String) -> String {
        // The engine reads an expression up to a NUL.
        let scalars = text.unicodeScalars.map { $0 == "\0" ? " " : $0 }
        return SQLText.quoted(String(String.UnicodeScalarView(scalars)), in: "\"")
    }
}
