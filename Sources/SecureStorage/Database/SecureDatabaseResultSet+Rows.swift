internal import Foundation

// MARK: - Columns

extension SecureDatabaseResultSet {
    /// The number of columns, known before the first ``next()``; 0 after the end and when closed.
    ///
    /// The corresponding C function is
    /// [`sqlite3_column_count`](https://sqlite.org/c3ref/column_count.html).
    public var columnCount: Int { currentColumnNames.count }

    /// Returns the name of a column, known before the first ``next()``.
    ///
    /// - Parameter columnIndex: Zero-based.
    /// - Returns: The name as the query spells it; nil for a missing column, after the end and when
    ///   closed. Without an `AS`, SQLite guarantees no particular name.
    ///
    /// The corresponding C function is
    /// [`sqlite3_column_name`](https://sqlite.org/c3ref/column_name.html).
    public func columnName(forIndex columnIndex: Int) -> String? {
        let names = currentColumnNames
        return names.indices.contains(columnIndex) ? names[columnIndex] : nil
    }

    /// Returns the index of the column with a given name, known before the first ``next()``.
    ///
    /// - Parameter columnName: Matched case-insensitively; a column with exactly this case takes
    ///   precedence.
    /// - Returns: The zero-based index of the first matching column; nil for a missing column,
    ///   after the end and when closed.
    public func columnIndex(forName columnName: String) -> Int? {
        currentColumnNames.isEmpty ? nil : statement.columnIndex(named: columnName)
    }

    /// The column names in lower case, each with its index; if several share a name, the first
    /// one's.
    public var columnNameToIndexMap: [String: Int] {
        Dictionary(
            currentColumnNames.enumerated().map { ($1.lowercased(), $0) },
            uniquingKeysWith: { first, _ in first })
    }

    /// The column names; empty when the statement no longer belongs to this result set.
    private var currentColumnNames: [String] {
        guard isOpen else { return [] }
        statement.refreshColumns()
        return statement.columnNames
    }
}

// MARK: - The current row

extension SecureDatabaseResultSet {
    /// Whether a row is current: the last ``next()`` found one.
    ///
    /// Like FMDB's property, it does not look ahead: it is still true on the last row.
    public var hasAnotherRow: Bool { isOnRow }

    /// The current row by column name; nil when no row is current.
    ///
    /// NULL is ``SQLiteValue/null``. If several columns share a name, the first one is used. TEXT
    /// that is not valid UTF-8 appears as a blob.
    public var resultDictionary: [String: SQLiteValue]? {
        guard isOnRow else { return nil }
        return Dictionary(
            statement.columnNames.enumerated().map { ($1, storedValue(at: $0)) },
            uniquingKeysWith: { first, _ in first })
    }

    /// The value as stored; nil for a missing column and when no row is current.
    ///
    /// NULL is ``SQLiteValue/null``. TEXT that is not valid UTF-8 appears as a blob.
    public subscript(columnName: String) -> SQLiteValue? {
        column(columnName).map { storedValue(at: $0) }
    }

    /// The value as stored; nil for a missing column and when no row is current.
    ///
    /// NULL is ``SQLiteValue/null``. TEXT that is not valid UTF-8 appears as a blob.
    public subscript(columnIndex: Int) -> SQLiteValue? {
        column(columnIndex).map { storedValue(at: $0) }
    }

    func storedValue(at index: Int) -> SQLiteValue {
        statement.value(at: index) ?? .blob(statement.bytes(at: index))
    }
}
