/// Which tables of a file are synced, and how their rows merge.
public struct SyncedTables: Sendable {
    /// In the order of declaration; the later of two with one name counts.
    package private(set) var declarations: [Table] = []

    /// Creates an empty list.
    public init() {}

    /// Syncs a table; the last writer wins, column by column.
    ///
    /// - Parameters:
    ///   - table: Its name in the main database.
    ///   - together: Column groups: columns that win or lose together; without key columns.
    ///   - ids: Where the values of an `INTEGER PRIMARY KEY` come from.
    ///   - formerly: Column names from earlier versions of the app, with their present names; not
    ///     for columns in `together`. Without it, a renamed column counts as a different one.
    public mutating func add(
        _ table: String, together: [[String]] = [], ids: Identifiers = .declared,
        formerly: [String: String] = [:]
    ) {
        add(
            Table(
                table: table, merging: .columns, together: together, ids: ids, formerly: formerly))
    }

    /// Syncs a table whose rows merge according to `merging`.
    ///
    /// - Parameters:
    ///   - table: Its name in the main database.
    ///   - merging: Whether columns or whole rows win or lose.
    ///   - ids: Where the values of an `INTEGER PRIMARY KEY` come from.
    public mutating func add(
        _ table: String, merging: Merging, ids: Identifiers = .declared
    ) {
        add(Table(table: table, merging: merging, together: [], ids: ids))
    }

    /// Syncs a key-value store under its name, key by key: for each key, the latest write or
    /// removal wins.
    ///
    /// Each device expires values by its own clock. The row is purged later; the purge is not
    /// synced.
    ///
    /// - Parameter name: The `SecureKeyValueStore`'s name; it is created in the file if missing.
    public mutating func add(keyValueStore name: String) {
        add(
            Table(
                table: KeyValueStoreName.table(ofStore: name), merging: .row, together: [],
                ids: .declared))
    }

    /// Whether no table is declared.
    package var isEmpty: Bool { declarations.isEmpty }

    /// Whether a table is declared.
    package func declares(_ table: String) -> Bool {
        declarations.contains { $0.table.isSameName(as: table) }
    }

    /// Whether a key-value store is declared.
    package func declares(keyValueStore name: String) -> Bool {
        declares(KeyValueStoreName.table(ofStore: name))
    }

    mutating func add(_ declaration: Table) {
        declarations.removeAll { $0.table.isSameName(as: declaration.table) }
        declarations.append(declaration)
    }

    /// The unit that wins or loses as a whole.
    public enum Merging: String, Sendable {
        /// Each column.
        case columns
        /// The row.
        case row
    }

    /// Where the values of the key come from.
    public enum Identifiers: String, Sendable {
        /// The key has a meaning, or is a UUID: an `INTEGER PRIMARY KEY` is refused, since all
        /// members would count it up from the same number.
        case declared
        /// The app gives each row a ``SyncedTables/randomID()``; a row without a key, for which
        /// SQLite would choose the next number, is refused.
        case random
    }

    package struct Table: Equatable, Sendable {
        /// The table's name, on every member.
        package var table: String
        package var merging: Merging
        package var together: [[String]]
        package var ids: Identifiers
        /// The columns' present names, by their former names.
        package var formerly: [String: String] = [:]

        /// The key-value store's name, if it is one.
        package var keyValueStore: String? { KeyValueStoreName.store(ofTable: table) }
        /// For people.
        package var title: String { KeyValueStoreName.title(ofTable: table) }
    }

    /// Returns a number for the key of a new row, of 62 random bits: a million rows collide with a
    /// probability of 1 in 9 million.
    ///
    /// - Returns: A positive number.
    public static func randomID() -> Int64 { .random(in: 1..<1 << 62) }
}

extension String {
    /// Whether SQLite treats both as one name; it ignores the case of ASCII letters only.
    package func isSameName(as other: String) -> Bool { sqlNameKey == other.sqlNameKey }

    /// The same text for all spellings of a name.
    package var sqlNameKey: String {
        String(decoding: utf8.map { (65...90).contains($0) ? $0 + 32 : $0 }, as: UTF8.self)
    }

    /// The text as an identifier in SQL.
    package var sqlName: String { quoted(in: "\"") }

    /// The text as a literal in SQL.
    package var sqlLiteral: String { quoted(in: "'") }

    /// By scalars, as SQLite reads: to Swift, a quotation mark followed by an accent is another
    /// character.
    private func quoted(in mark: Unicode.Scalar) -> String {
        var quoted = UnicodeScalarView([mark])
        for scalar in unicodeScalars {
            quoted.append(scalar)
            if scalar == mark { quoted.append(mark) }
        }
        quoted.append(mark)
        return String(quoted)
    }
}
