internal import Foundation

// MARK: - Columns

extension SecureDatabaseResultSet {
    /// The number of columns, known before the first ``next()``; 0 after the end and when closed.
    ///
    /// The corresponding C function is
    /// [`sqlite3_column_count`](https://sqlite.org/c3ref/column_count.html).
    public var columnCount: Int { currentColumnNames.count }

    /// The name of a column, known before the first ``next()``.
    ///
    /// - Parameter columnIndex: From 0.
    /// - Returns: As the query spells it; nil for a missing column, after the end and when closed.
    ///   Without an `AS` SQLite promises no name in particular.
    ///
    /// The corresponding C function is
    /// [`sqlite3_column_name`](https://sqlite.org/c3ref/column_name.html).
    public func columnName(forIndex columnIndex: Int) -> String? {
        let names = currentColumnNames
        return names.indices.contains(columnIndex) ? names[columnIndex] : nil
    }

    /// The index of the column of that name, known before the first ``next()``.
    ///
    /// - Parameter columnName: In any case; a column in exactly this case goes before others.
    /// - Returns: From 0, the first of several; nil for a missing column, after the end and when
    ///   closed.
    public func columnIndex(forName columnName: String) -> Int? {
        currentColumnNames.isEmpty ? nil : statement.columnIndex(named: columnName)
    }

    /// The columns' names in lower case, each with its index; of several the first.
    public var columnNameToIndexMap: [String: Int] {
        Dictionary(
            currentColumnNames.enumerated().map { ($1.lowercased(), $0) },
            uniquingKeysWith: { first, _ in first })
    }

    /// None when the statement is somebody else's already.
    private var currentColumnNames: [String] {
        guard isOpen else { return [] }
        statement.refreshColumns()
        return statement.columnNames
    }
}

// MARK: - The current row

extension SecureDatabaseResultSet {
    /// Whether a row is current: the last ``next()`` has found one.
    ///
    /// As FMDB's, it does not look ahead: on the last row it is still true.
    public var hasAnotherRow: Bool { isOnRow }

    /// The current row by column name; nil when no row is current.
    ///
    /// NULL is ``SQLiteValue/null``. Of several columns of one name the first is meant. TEXT that
    /// is not UTF-8 appears as a blob.
    public var resultDictionary: [String: SQLiteValue]? {
        guard isOnRow else { return nil }
        return Dictionary(
            statement.columnNames.enumerated().map { ($1, storedValue(at: $0)) },
            uniquingKeysWith: { first, _ in first })
    }

    /// The value as it is stored; nil for a missing column and when no row is current.
    ///
    /// NULL is ``SQLiteValue/null``. TEXT that is not UTF-8 appears as a blob.
    public subscript(columnName: String) -> SQLiteValue? {
        column(columnName).map { storedValue(at: $0) }
    }

    /// The value as it is stored; nil for a missing column and when no row is current.
    ///
    /// NULL is ``SQLiteValue/null``. TEXT that is not UTF-8 appears as a blob.
    public subscript(columnIndex: Int) -> SQLiteValue? {
        column(columnIndex).map { storedValue(at: $0) }
    }

    func storedValue(at index: Int) -> SQLiteValue {
        statement.value(at: index) ?? .blob(statement.bytes(at: index))
    }
}
