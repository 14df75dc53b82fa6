internal import Foundation

// Strict counterparts of the optional getters, which distinguish NULL, a missing column and a value
// that does not fit.

extension SecureDatabaseResultSet {
    /// Returns the value as any type that a column can be read as, or throws if it does not fit.
    ///
    /// - Parameters:
    ///   - columnName: A case-insensitive name.
    ///   - type: Can be omitted where it is inferred.
    /// - Returns: The value; nil for NULL only.
    /// - Throws: `.typeConversionFailed` when the type cannot represent the value without loss;
    ///   `.backingStoreError` with code `.range` for a missing column (the message lists the
    ///   existing ones), code `.misuse` when no row is current; `.closed`.
    public func value<T: SQLiteDatatypeBridgeable>(
        forColumnName columnName: String, as type: T.Type = T.self
    ) throws -> T? {
        try object(forColumnIndex: requiredColumn(columnName))
    }

    /// Returns the value as any type that a column can be read as, or throws if it does not fit.
    ///
    /// - Parameters:
    ///   - columnIndex: Zero-based.
    ///   - type: Can be omitted where it is inferred.
    /// - Returns: The value; nil for NULL only.
    /// - Throws: Same as `value(forColumnName:as:)`.
    public func value<T: SQLiteDatatypeBridgeable>(
        forColumnIndex columnIndex: Int, as type: T.Type = T.self
    ) throws -> T? {
        try object(forColumnIndex: requiredColumn(columnIndex))
    }

    /// Returns whether the value is NULL.
    ///
    /// - Parameter columnName: A case-insensitive name.
    /// - Returns: false for an empty text or blob.
    /// - Throws: Same as `value(forColumnName:as:)`; a missing column is an error, not NULL.
    public func isNull(forColumnName columnName: String) throws -> Bool {
        try statement.storageClass(at: requiredColumn(columnName)) == .null
    }

    /// Returns whether the value is NULL.
    ///
    /// - Parameter columnIndex: Zero-based.
    /// - Returns: false for an empty text or blob.
    /// - Throws: Same as `value(forColumnName:as:)`; a missing column is an error, not NULL.
    public func isNull(forColumnIndex columnIndex: Int) throws -> Bool {
        try statement.storageClass(at: requiredColumn(columnIndex)) == .null
    }

    /// Returns how the value is stored, before any conversion.
    ///
    /// - Parameter columnName: A case-insensitive name.
    /// - Returns: The storage class of this row's value.
    /// - Throws: Same as `value(forColumnName:as:)`.
    ///
    /// The corresponding C function is
    /// [`sqlite3_column_type`](https://sqlite.org/c3ref/column_blob.html).
    public func type(forColumnName columnName: String) throws -> SQLiteStorageClass {
        try type(at: requiredColumn(columnName))
    }

    /// Returns how the value is stored, before any conversion.
    ///
    /// - Parameter columnIndex: Zero-based.
    /// - Returns: The storage class of this row's value.
    /// - Throws: Same as `value(forColumnName:as:)`.
    ///
    /// The corresponding C function is
    /// [`sqlite3_column_type`](https://sqlite.org/c3ref/column_blob.html).
    public func type(forColumnIndex columnIndex: Int) throws -> SQLiteStorageClass {
        try type(at: requiredColumn(columnIndex))
    }

    private func type(at index: Int) -> SQLiteStorageClass {
        switch statement.storageClass(at: index) {
        case .integer: .integer
        case .real: .real
        case .text: .text
        case .blob: .blob
        default: .null
        }
    }

    // MARK: - Columns that have to be there

    /// Returns the value as SQLite stores it.
    ///
    /// - Parameter columnIndex: Zero-based.
    /// - Returns: The value.
    /// - Throws: Same as `value(forColumnName:as:)`.
    package func sqliteValue(at columnIndex: Int) throws -> SQLiteValue {
        guard let value = statement.value(at: try requiredColumn(columnIndex)) else {
            throw SecureStorageError.typeConversionFailed
        }
        return value
    }

    func requiredColumn(_ name: String) throws -> Int {
        if let index = column(name) { return index }
        try requireRow()
        throw missingColumn("\"\(name)\"", in: statement.columnNames)
    }

    func requiredColumn(_ index: Int) throws -> Int {
        if let index = column(index) { return index }
        try requireRow()
        throw missingColumn("\(index)", in: statement.columnNames)
    }

    func requireRow() throws {
        if isOnRow { return }
        if isClosed { throw SecureStorageError.closed }
        throw SecureStorageError.statementFailed(
            .misuse, "no row is current; read values after next() has returned true", in: query)
    }

    func missingColumn(_ column: String, in names: [String]) -> SecureStorageError {
        let known = names.prefix(50).joined(separator: ", ") + (names.count > 50 ? ", …" : "")
        return .statementFailed(
            .range, "the query has no column \(column); its columns are: \(known)", in: query)
    }
}
