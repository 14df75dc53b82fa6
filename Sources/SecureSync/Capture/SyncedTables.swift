/// Which tables of a file are synced, and how their rows merge.
public struct SyncedTables: Sendable {
    /// In the order of their declaration; the later of two with one name counts.
    package private(set) var declarations: [Table] = []

    /// Creates a list of no table.
    public init() {}

    /// Syncs a table; the last writer wins, column by column.
    ///
    /// - Parameters:
    ///   - table: Its name in the main database.
    ///   - together: Columns that win or lose as one, each set without the key's.
    ///   - ids: What an `INTEGER PRIMARY KEY` has.
    ///   - formerly: The names that columns have in earlier versions of the app, with those that
    ///     they have now; not of columns in `together`. Without it, a column that was renamed is
    ///     another one.
    public mutating func add(
        _ table: String, together: [[String]] = [], ids: Identifiers = .declared,
        formerly: [String: String] = [:]
    ) {
        add(
            Table(
                table: table, merging: .columns, together: together, ids: ids, formerly: formerly))
    }

    /// Syncs a table whose rows merge as `merging` says.
    ///
    /// - Parameters:
    ///   - table: Its name in the main database.
    ///   - merging: What wins or loses as one.
    ///   - ids: What an `INTEGER PRIMARY KEY` has.
    public mutating func add(
        _ table: String, merging: Merging, ids: Identifiers = .declared
    ) {
        add(Table(table: table, merging: merging, together: [], ids: ids))
    }

    /// Syncs a key-value store under its name, key by key: of what devices put or remove under one
    /// key, the latest wins, also over an earlier removal.
    ///
    /// A value that has expired is absent on each device by the device's own clock, and leaves its
    /// file later, without a word to the others.
    ///
    /// - Parameter name: Of the `SecureKeyValueStore`; it is made in the file if it is missing.
    public mutating func add(keyValueStore name: String) {
        add(
            Table(
                table: KeyValueStoreName.table(ofStore: name), merging: .row, together: [],
                ids: .declared))
    }

    /// Whether there is none.
    package var isEmpty: Bool { declarations.isEmpty }

    /// Whether a table is among them.
    package func declares(_ table: String) -> Bool {
        declarations.contains { $0.table.isSameName(as: table) }
    }

    /// Whether a key-value store is among them.
    package func declares(keyValueStore name: String) -> Bool {
        declares(KeyValueStoreName.table(ofStore: name))
    }

    mutating func add(_ declaration: Table) {
        declarations.removeAll { $0.table.isSameName(as: declaration.table) }
        declarations.append(declaration)
    }

    /// What wins or loses as one.
    public enum Merging: String, Sendable {
        /// Each column.
        case columns
        /// The row.
        case row
    }

    /// Where the values of the key come from.
    public enum Identifiers: String, Sendable {
        /// The key means something, or is an UUID: an `INTEGER PRIMARY KEY` is refused, since
        /// members count it up from the same number.
        case declared
        /// The app gives each row a ``SyncedTables/randomID()``; one without a key, for which SQLite
        /// would count, is refused.
        case random
    }

    package struct Table: Equatable, Sendable {
        /// The table's name, on every member.
        package var table: String
        package var merging: Merging
        package var together: [[String]]
        package var ids: Identifiers
        /// The columns' names now, by those that they had.
        package var formerly: [String: String] = [:]

        /// The store's name, if it is one.
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
    /// Whether both are one name to SQLite, which ignores the case of ASCII letters only.
    package func isSameName(as other: String) -> Bool { sqlNameKey == other.sqlNameKey }

    /// The same text for all spellings of a name.
    package var sqlNameKey: String {
        String(decoding: utf8.map { (65...90).contains($0) ? $0 + 32 : $0 }, as: UTF8.self)
    }

    /// The text as an identifier in SQL.
    package var sqlName: String { quoted(in: "\"") }

    /// The text as a literal in SQL.
    package var sqlLiteral: String { quoted(in: "'") }

    /// By scalars, as the engine reads: to Swift, a mark with an accent after it is another
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
