internal import Foundation

extension SecureDatabaseResultSet {
    /// Decodes the current row as a `Decodable` type, each property from the column of the same
    /// name.
    ///
    /// Names match case-insensitively; to map differing names, use `AS` in the query or
    /// `CodingKeys` in the type. A property is read as a column is: integers and floating-point
    /// numbers, `String`, `Bool`, `Data` (BLOB), `Date` (see `dates`), `URL`, `UUID` and `Decimal`
    /// (TEXT), enums by their raw value, and every type that conforms to
    /// ``SQLiteDatatypeBridgeable``. Any other `Decodable` type is read from columns named
    /// `property.name`, as `\(columnsOf:)` of ``SQL`` selects them, or from JSON in a TEXT or BLOB,
    /// nested at most 64 levels deep. An optional property is nil for NULL; one that is read from
    /// several columns, if all of them are NULL. A single-value type or an array is read from the
    /// first column.
    ///
    /// - Parameters:
    ///   - type: Can be omitted where it is inferred.
    ///   - dates: The format in which dates are stored.
    /// - Returns: The decoded row.
    /// - Throws: `.typeConversionFailed` when a value does not fit its property, including NULL for
    ///   a non-optional one; `.backingStoreError` with code `.range` for a missing column, also of
    ///   an optional property (the message lists the existing ones; select `NULL AS name` where the
    ///   property is to be nil), code `.misuse` when no row is current, or when several
    ///   columns have the name of a property; `.closed`; any other error that an `init(from:)` of
    ///   the app throws.
    public func decode<T: Decodable>(
        _ type: T.Type = T.self,
        dates: SecureDatabaseResultSet.DateDecodingStrategy = .secondsSince1970
    ) throws -> T {
        try requireRow()
        let row = RowDecoder(self, dates)
        do {
            guard !isColumn(T.self) else { return try row.firstColumn.decode(T.self) }
            do {
                return try T(from: row)
            } catch is NeedsJSON {
                return try row.firstColumn.decode(T.self)
            }
        } catch is DecodingError {
            // The error's description might quote stored data.
            throw SecureStorageError.typeConversionFailed
        } catch is NeedsJSON {
            throw SecureStorageError.typeConversionFailed
        }
    }

    /// Returns whether a type is read from one column rather than from a row.
    ///
    /// The answer for the last type is cached: inspecting a type costs more than reading a column.
    private func isColumn<T: Decodable>(_ type: T.Type) -> Bool {
        let identifier = ObjectIdentifier(type)
        if lastDecodedType?.identifier == identifier { return lastDecodedType?.isColumn == true }
        let isColumn = type is any SQLiteDatatypeBridgeable.Type
        lastDecodedType = (identifier, isColumn)
        return isColumn
    }
}

extension SecureDatabaseStore {
    /// Returns all rows of a query as a `Decodable` type.
    ///
    /// ```swift
    /// let notes = try db.fetchAll(Note.self, "SELECT * FROM note WHERE folder = \(folder)")
    /// ```
    ///
    /// - Parameters:
    ///   - type: See ``SecureDatabaseResultSet/decode(_:dates:)``.
    ///   - sql: Exactly one statement that returns columns; see ``SQL``.
    ///   - values: One per `?` placeholder, in order, if the text has them instead of values.
    ///   - dates: The format in which dates are stored.
    /// - Returns: The rows, in the order of the query, all in memory.
    /// - Throws: Same as `executeQuery(_:values:)`, ``SecureDatabaseResultSet/next()`` and
    ///   ``SecureDatabaseResultSet/decode(_:dates:)``.
    public func fetchAll<T: Decodable>(
        _ type: T.Type = T.self, _ sql: SQL, values: [(any SQLiteDatatypeBridgeable)?] = [],
        dates: SecureDatabaseResultSet.DateDecodingStrategy = .secondsSince1970
    ) throws -> [T] {
        let rs = try query(sql, values)
        defer { rs.close() }
        var rows: [T] = []
        while try rs.next() { rows.append(try rs.decode(type, dates: dates)) }
        return rows
    }

    /// Returns the first row of a query as a `Decodable` type.
    ///
    /// - Parameters:
    ///   - type: See ``SecureDatabaseResultSet/decode(_:dates:)``.
    ///   - sql: Exactly one statement that returns columns; see ``SQL``.
    ///   - values: One per `?` placeholder, in order, if the text has them instead of values.
    ///   - dates: The format in which dates are stored.
    /// - Returns: The first row, or nil when the query returns none; no further row is read.
    /// - Throws: Same as `fetchAll(_:_:values:dates:)`.
    public func fetchOne<T: Decodable>(
        _ type: T.Type = T.self, _ sql: SQL, values: [(any SQLiteDatatypeBridgeable)?] = [],
        dates: SecureDatabaseResultSet.DateDecodingStrategy = .secondsSince1970
    ) throws -> T? {
        let rs = try query(sql, values)
        defer { rs.close() }
        return try rs.next() ? rs.decode(type, dates: dates) : nil
    }
}
