public import Foundation

// These methods read the first column of a query's first row, and no further row. Calls without
// values, or with values as further arguments, use the variadic form; `values:` accepts an array.
//
// Unlike a result set's getters, these throw: a value that does not fit is an error here, not nil.

extension SecureDatabaseStore {
    /// Returns the first column of the first row as `Int`: an INTEGER in range, a REAL without a
    /// fraction, or TEXT that spells such a number.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: One per `?` placeholder, in order.
    /// - Returns: nil for NULL and when the query returns no row.
    /// - Throws: Same as `object(forQuery:values:)`.
    public func int(
        forQuery sql: String, _ values: (any SQLiteDatatypeBridgeable)?...
    ) throws -> Int? {
        try object(forQuery: sql, values: values)
    }

    /// Returns the first column of the first row as `Int`: an INTEGER in range, a REAL without a
    /// fraction, or TEXT that spells such a number.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: One per `?` placeholder, in order.
    /// - Returns: nil for NULL and when the query returns no row.
    /// - Throws: Same as `object(forQuery:values:)`.
    public func int(
        forQuery sql: String, values: [(any SQLiteDatatypeBridgeable)?]
    ) throws -> Int? {
        try object(forQuery: sql, values: values)
    }

    /// Returns the first column of the first row as `Int64`: an INTEGER, a REAL without a fraction,
    /// or TEXT that spells such a number.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: One per `?` placeholder, in order.
    /// - Returns: nil for NULL and when the query returns no row.
    /// - Throws: Same as `object(forQuery:values:)`.
    public func int64(
        forQuery sql: String, _ values: (any SQLiteDatatypeBridgeable)?...
    ) throws -> Int64? {
        try object(forQuery: sql, values: values)
    }

    /// Returns the first column of the first row as `Int64`: an INTEGER, a REAL without a fraction,
    /// or TEXT that spells such a number.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: One per `?` placeholder, in order.
    /// - Returns: nil for NULL and when the query returns no row.
    /// - Throws: Same as `object(forQuery:values:)`.
    public func int64(
        forQuery sql: String, values: [(any SQLiteDatatypeBridgeable)?]
    ) throws -> Int64? {
        try object(forQuery: sql, values: values)
    }

    /// Returns the first column of the first row as `UInt64`: a non-negative INTEGER, or a REAL or
    /// TEXT as for `Int64`.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: One per `?` placeholder, in order.
    /// - Returns: nil for NULL and when the query returns no row.
    /// - Throws: Same as `object(forQuery:values:)`.
    public func uint64(
        forQuery sql: String, _ values: (any SQLiteDatatypeBridgeable)?...
    ) throws -> UInt64? {
        try object(forQuery: sql, values: values)
    }

    /// Returns the first column of the first row as `UInt64`: a non-negative INTEGER, or a REAL or
    /// TEXT as for `Int64`.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: One per `?` placeholder, in order.
    /// - Returns: nil for NULL and when the query returns no row.
    /// - Throws: Same as `object(forQuery:values:)`.
    public func uint64(
        forQuery sql: String, values: [(any SQLiteDatatypeBridgeable)?]
    ) throws -> UInt64? {
        try object(forQuery: sql, values: values)
    }

    /// Returns the first column of the first row as `Bool`: true for a number other than zero.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: One per `?` placeholder, in order.
    /// - Returns: nil for NULL and when the query returns no row.
    /// - Throws: Same as `object(forQuery:values:)`.
    public func bool(
        forQuery sql: String, _ values: (any SQLiteDatatypeBridgeable)?...
    ) throws -> Bool? {
        try object(forQuery: sql, values: values)
    }

    /// Returns the first column of the first row as `Bool`: true for a number other than zero.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: One per `?` placeholder, in order.
    /// - Returns: nil for NULL and when the query returns no row.
    /// - Throws: Same as `object(forQuery:values:)`.
    public func bool(
        forQuery sql: String, values: [(any SQLiteDatatypeBridgeable)?]
    ) throws -> Bool? {
        try object(forQuery: sql, values: values)
    }

    /// Returns the first column of the first row as `Double`: a REAL, an INTEGER that it holds
    /// exactly, or TEXT that spells a number.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: One per `?` placeholder, in order.
    /// - Returns: nil for NULL and when the query returns no row.
    /// - Throws: Same as `object(forQuery:values:)`.
    public func double(
        forQuery sql: String, _ values: (any SQLiteDatatypeBridgeable)?...
    ) throws -> Double? {
        try object(forQuery: sql, values: values)
    }

    /// Returns the first column of the first row as `Double`: a REAL, an INTEGER that it holds
    /// exactly, or TEXT that spells a number.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: One per `?` placeholder, in order.
    /// - Returns: nil for NULL and when the query returns no row.
    /// - Throws: Same as `object(forQuery:values:)`.
    public func double(
        forQuery sql: String, values: [(any SQLiteDatatypeBridgeable)?]
    ) throws -> Double? {
        try object(forQuery: sql, values: values)
    }

    /// Returns the first column of the first row as `String`: TEXT, the decimal text of a number,
    /// or a BLOB that is UTF-8.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: One per `?` placeholder, in order.
    /// - Returns: nil for NULL and when the query returns no row.
    /// - Throws: Same as `object(forQuery:values:)`.
    public func string(
        forQuery sql: String, _ values: (any SQLiteDatatypeBridgeable)?...
    ) throws -> String? {
        try object(forQuery: sql, values: values)
    }

    /// Returns the first column of the first row as `String`: TEXT, the decimal text of a number,
    /// or a BLOB that is UTF-8.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: One per `?` placeholder, in order.
    /// - Returns: nil for NULL and when the query returns no row.
    /// - Throws: Same as `object(forQuery:values:)`.
    public func string(
        forQuery sql: String, values: [(any SQLiteDatatypeBridgeable)?]
    ) throws -> String? {
        try object(forQuery: sql, values: values)
    }

    /// Returns the first column of the first row as `Data`: the bytes of a BLOB, or the UTF-8 bytes
    /// of TEXT.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: One per `?` placeholder, in order.
    /// - Returns: nil for NULL and when the query returns no row.
    /// - Throws: Same as `object(forQuery:values:)`.
    public func data(
        forQuery sql: String, _ values: (any SQLiteDatatypeBridgeable)?...
    ) throws -> Data? {
        try object(forQuery: sql, values: values)
    }

    /// Returns the first column of the first row as `Data`: the bytes of a BLOB, or the UTF-8 bytes
    /// of TEXT.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: One per `?` placeholder, in order.
    /// - Returns: nil for NULL and when the query returns no row.
    /// - Throws: Same as `object(forQuery:values:)`.
    public func data(
        forQuery sql: String, values: [(any SQLiteDatatypeBridgeable)?]
    ) throws -> Data? {
        try object(forQuery: sql, values: values)
    }

    /// Returns the first column of the first row as `Date`: a number of seconds since 1970-01-01
    /// 00:00:00 UTC.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: One per `?` placeholder, in order.
    /// - Returns: nil for NULL and when the query returns no row.
    /// - Throws: Same as `object(forQuery:values:)`.
    public func date(
        forQuery sql: String, _ values: (any SQLiteDatatypeBridgeable)?...
    ) throws -> Date? {
        try object(forQuery: sql, values: values)
    }

    /// Returns the first column of the first row as `Date`: a number of seconds since 1970-01-01
    /// 00:00:00 UTC.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: One per `?` placeholder, in order.
    /// - Returns: nil for NULL and when the query returns no row.
    /// - Throws: Same as `object(forQuery:values:)`.
    public func date(
        forQuery sql: String, values: [(any SQLiteDatatypeBridgeable)?]
    ) throws -> Date? {
        try object(forQuery: sql, values: values)
    }

    /// Returns the first column of the first row as any type that a column can be read as.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: One per `?` placeholder, in order.
    /// - Returns: nil for NULL and when the query returns no row.
    /// - Throws: Same as `executeQuery(_:values:)`, also when SQLite fails at the first row;
    ///   `.typeConversionFailed` when the type cannot represent the value without loss.
    public func object<T: SQLiteDatatypeBridgeable>(
        forQuery sql: String, values: [(any SQLiteDatatypeBridgeable)?] = []
    ) throws -> T? {
        let stored = try firstRow(sql, values: values) { row -> SQLiteValue in
            guard let value = row.value(at: 0) else {
                throw SecureStorageError.typeConversionFailed
            }
            return value
        }
        guard let stored, stored != .null else { return nil }
        // Outside of the row, since the conversion of an app's type may use the store.
        guard let value = T(sqliteValue: stored) else {
            throw SecureStorageError.typeConversionFailed
        }
        return value
    }

    /// Runs a query and passes its first row to a closure.
    ///
    /// Avoids creating a result set, which costs as much as reading a column.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: As for `executeUpdate(_:values:)`.
    ///   - read: Must not call code that could use the store.
    /// - Returns: The result of `read`; nil when the query returns no row.
    /// - Throws: Same as `executeQuery(_:values:)`.
    func firstRow<R>(
        _ sql: String, values: [(any SQLiteDatatypeBridgeable)?], _ read: (Statement) throws -> R
    ) throws -> R? {
        let connection = try workingConnection()
        let statement = try connection.statement(for: sql, cached: cachesStatements)
        defer { statement.giveBack() }
        try requireColumns(statement)
        try statement.bind(values)
        try requireWorking(connection)
        return try statement.step() ? read(statement) : nil
    }
}
