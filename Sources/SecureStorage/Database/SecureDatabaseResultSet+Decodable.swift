internal import Foundation

extension SecureDatabaseResultSet {
    /// The current row as a `Decodable` type, each property from the column of its name.
    ///
    /// Names match in any case; `AS` in the query, or `CodingKeys` in the type, make them meet. A
    /// property is read as a column is: whole and floating-point numbers, `String`, `Bool`, `Data`
    /// (BLOB), `Date` (see `dates`), `URL`, `UUID` and `Decimal` (TEXT), enums by their raw value,
    /// and every type that adopts ``SQLiteDatatypeBridgeable``. Any other `Decodable` type is read
    /// from JSON in a TEXT or BLOB, nested at most 64 deep. An optional property is nil for NULL
    /// and for a missing column. A type of a single value, and an array, is read from the first
    /// column.
    ///
    /// - Parameters:
    ///   - type: Can be left out where the context says it.
    ///   - dates: How dates are stored.
    /// - Returns: The row.
    /// - Throws: `.typeConversionFailed` when a value does not fit its property, NULL one that is
    ///   not optional among them; `.backingStoreError` with code 25 for a missing column (the
    ///   message names those that there are), code 21 when no row is current; `.closed`; what an
    ///   `init(from:)` of the app throws by itself.
    public func decode<T: Decodable>(
        _ type: T.Type = T.self,
        dates: SecureDatabaseResultSet.DateDecodingStrategy = .secondsSince1970
    ) throws -> T {
        try requireRow()
        let row = RowContext(self, dates)
        do {
            guard !isColumn(T.self) else { return try row.firstColumn.decode(T.self) }
            do {
                return try T(from: RowDecoder(row: row, codingPath: []))
            } catch is NeedsJSON {
                return try row.firstColumn.decode(T.self)
            }
        } catch is DecodingError {
            // Its description may quote what is stored.
            throw SecureStorageError.typeConversionFailed
        } catch is NeedsJSON {
            throw SecureStorageError.typeConversionFailed
        }
    }

    /// Whether a type stands for one column and not for a row.
    ///
    /// Remembered for the type that was last asked for: looking at a type costs more than reading a
    /// column.
    private func isColumn<T: Decodable>(_ type: T.Type) -> Bool {
        let identifier = ObjectIdentifier(type)
        if lastDecodedType?.identifier == identifier { return lastDecodedType?.isColumn == true }
        let isColumn = RowColumn.holds(type)
        lastDecodedType = (identifier, isColumn)
        return isColumn
    }
}

extension RowContext {
    fileprivate var firstColumn: RowColumn { RowColumn(row: self, index: 0, codingPath: []) }
}

extension SecureDatabaseStore {
    /// All rows of a query as a `Decodable` type.
    ///
    /// - Parameters:
    ///   - type: See ``SecureDatabaseResultSet/decode(_:dates:)``.
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: One for each `?` placeholder, in their order.
    ///   - dates: How dates are stored.
    /// - Returns: The rows, in the order of the query; all of them are in memory then.
    /// - Throws: as `executeQuery(_:values:)`, ``SecureDatabaseResultSet/next()`` and
    ///   ``SecureDatabaseResultSet/decode(_:dates:)``.
    public func fetchAll<T: Decodable>(
        _ type: T.Type = T.self, _ sql: String, values: [(any SQLiteDatatypeBridgeable)?] = [],
        dates: SecureDatabaseResultSet.DateDecodingStrategy = .secondsSince1970
    ) throws -> [T] {
        let rs = try executeQuery(sql, values: values)
        defer { rs.close() }
        var rows: [T] = []
        while try rs.next() { rows.append(try rs.decode(type, dates: dates)) }
        return rows
    }

    /// The first row of a query as a `Decodable` type.
    ///
    /// - Parameters:
    ///   - type: See ``SecureDatabaseResultSet/decode(_:dates:)``.
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: One for each `?` placeholder, in their order.
    ///   - dates: How dates are stored.
    /// - Returns: nil when there is no row; no further row is read.
    /// - Throws: as `fetchAll(_:_:values:dates:)`.
    public func fetchOne<T: Decodable>(
        _ type: T.Type = T.self, _ sql: String, values: [(any SQLiteDatatypeBridgeable)?] = [],
        dates: SecureDatabaseResultSet.DateDecodingStrategy = .secondsSince1970
    ) throws -> T? {
        let rs = try executeQuery(sql, values: values)
        defer { rs.close() }
        return try rs.next() ? rs.decode(type, dates: dates) : nil
    }
}
