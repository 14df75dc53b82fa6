/// A full-text table (FTS5) and its columns, for the SQL of `highlight` and `snippet`.
///
/// ```swift
/// let notes = try db.fullTextTable("note_text")
/// let hits = try db.fetchAll(
///     """
///     SELECT \(try notes.highlight("title", from: "[", to: "]")),
///            \(try notes.snippet(of: "text", from: "[", to: "]"))
///     FROM \(notes.sqlName) WHERE \(notes.sqlName) MATCH \(FullTextQuery(typed)) ORDER BY rank
///     """
/// ) { (title: String, text: String) in Hit(title: title, text: text) }
/// ```
///
/// Any names and any marks are safe: they are quoted. The rest of the text is as it was stored:
/// escape it before it becomes HTML, and choose marks that survive that.
public struct FullTextTable: Sendable, Hashable {
    /// The name of the table.
    public let name: String
    /// The names of its columns, in their order.
    public let columns: [String]

    init(name: String, columns: [String]) {
        self.name = name
        self.columns = columns
    }

    /// The name as an identifier of SQL, quoted.
    public var sqlName: SQL { SQL(raw: SQLText.identifier(name)) }

    /// Returns an expression for the whole text of a column, with marks around each place that the
    /// query has found.
    ///
    /// For a SELECT of this table, without an alias, with a MATCH. Places that overlap are marked
    /// as one.
    ///
    /// - Parameters:
    ///   - column: Its name, in which the case of ASCII letters does not matter.
    ///   - opening: The mark before a place, without NUL.
    ///   - closing: The mark after it.
    /// - Returns: SQL.
    /// - Throws: `.backingStoreError` code `.misuse` for a column that the table does not have, and
    ///   a mark with a NUL.
    ///
    /// The corresponding function is
    /// [`highlight`](https://sqlite.org/fts5.html#the_highlight_function).
    public func highlight(
        _ column: String, from opening: String, to closing: String
    ) throws -> SQL {
        let marks = try [opening, closing].map(Self.literal).joined(separator: ", ")
        return "highlight(\(sqlName), \(raw: "\(try number(of: column)), \(marks)"))"
    }

    /// Returns an expression for the part of a text that fits the query best, with marks around
    /// what it found.
    ///
    /// Otherwise as ``highlight(_:from:to:)``.
    ///
    /// - Parameters:
    ///   - column: Its name; nil for the column that fits best.
    ///   - opening: The mark before a place, without NUL.
    ///   - closing: The mark after it.
    ///   - ellipsis: What stands for the text that is left out.
    ///   - tokenCount: The length of the part, in tokens: 1 to 64.
    /// - Returns: SQL.
    /// - Throws: As ``highlight(_:from:to:)``; code `.misuse` also for another number of tokens.
    ///
    /// The corresponding function is [`snippet`](https://sqlite.org/fts5.html#the_snippet_function).
    public func snippet(
        of column: String? = nil, from opening: String, to closing: String,
        ellipsis: String = "…", tokenCount: Int = 16
    ) throws -> SQL {
        guard (1...64).contains(tokenCount) else {
            throw SecureStorageError.statementFailed(
                .misuse, "a snippet has 1 to 64 tokens, not \(tokenCount)")
        }
        let marks = try [opening, closing, ellipsis].map(Self.literal).joined(separator: ", ")
        let number = try column.map { try self.number(of: $0) } ?? -1
        return "snippet(\(sqlName), \(raw: "\(number), \(marks), \(tokenCount)"))"
    }

    private func number(of column: String) throws -> Int {
        let wanted = try SQLName(column, of: "column")
        guard
            let number = try columns.firstIndex(where: { try SQLName($0, of: "column") == wanted })
        else {
            throw SecureStorageError.statementFailed(
                .misuse, "the full-text table \(name) has no column \(column)")
        }
        return number
    }

    private static func literal(_ text: String) throws -> String {
        guard !text.utf8.contains(0) else {
            throw SecureStorageError.statementFailed(
                .misuse, "a mark of highlight and snippet cannot contain a NUL")
        }
        return SQLText.quoted(text, in: "'")
    }
}

extension SecureDatabaseStore {
    /// Reads the columns of a full-text table.
    ///
    /// - Parameter name: Matched ignoring the case of ASCII letters.
    /// - Returns: The table.
    /// - Throws: `.closed`; `.backingStoreError` code `.error` if there is no such table, it is not
    ///   of FTS5, or the engine was built without FTS5.
    public func fullTextTable(_ name: String) throws -> FullTextTable {
        guard try Self.engine.hasOption("ENABLE_FTS5") else {
            throw SecureStorageError.statementFailed(
                .error, "the engine was built without FTS5; build it with SQLITE_ENABLE_FTS5")
        }
        var (columns, hidden): ([String], [String]) = ([], [])
        // A bound name ends at a NUL there.
        if !name.utf8.contains(0) {
            let rs = try executeQuery(
                "SELECT name, hidden = 1 FROM pragma_table_xinfo(?) ORDER BY cid", name)
            defer { rs.close() }
            while try rs.next() {
                let column = rs.string(forColumnIndex: 0) ?? ""
                if rs.bool(forColumnIndex: 1) == true {
                    hidden.append(column.lowercased())
                } else {
                    columns.append(column)
                }
            }
        }
        // Only this module has such columns: one with the name of the table, and the rank.
        guard hidden.count == 2, hidden.last == "rank" else {
            throw SecureStorageError.statementFailed(
                .error, "there is no full-text table (FTS5) with the name \(name)")
        }
        return FullTextTable(name: name, columns: columns)
    }
}
