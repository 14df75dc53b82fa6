public import Foundation

// The first column of a query's first row; no further row is read. Without values, or with values
// as further arguments, a call takes the variadic form; `values:` takes an array.
//
// Unlike the getters of a result set these throw, so that a value that does not fit is an error
// here and not nil.

extension SecureDatabaseStore {
    /// The first column of the first row as `Int`: an INTEGER in range, a REAL without a fraction,
    /// or TEXT that spells one.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: One for each `?` placeholder, in their order.
    /// - Returns: nil for NULL and when there is no row.
    /// - Throws: as `object(forQuery:values:)`.
    public func int(
        forQuery sql: String, _ values: (any SQLiteDatatypeBridgeable)?...
    ) throws -> Int? {
        try object(forQuery: sql, values: values)
    }

    /// The first column of the first row as `Int`: an INTEGER in range, a REAL without a fraction,
    /// or TEXT that spells one.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: One for each `?` placeholder, in their order.
    /// - Returns: nil for NULL and when there is no row.
    /// - Throws: as `object(forQuery:values:)`.
    public func int(
        forQuery sql: String, values: [(any SQLiteDatatypeBridgeable)?]
    ) throws -> Int? {
        try object(forQuery: sql, values: values)
    }

    /// The first column of the first row as `Int64`: an INTEGER, a REAL without a fraction, or TEXT
    /// that spells one.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: One for each `?` placeholder, in their order.
    /// - Returns: nil for NULL and when there is no row.
    /// - Throws: as `object(forQuery:values:)`.
    public func int64(
        forQuery sql: String, _ values: (any SQLiteDatatypeBridgeable)?...
    ) throws -> Int64? {
        try object(forQuery: sql, values: values)
    }

    /// The first column of the first row as `Int64`: an INTEGER, a REAL without a fraction, or TEXT
    /// that spells one.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: One for each `?` placeholder, in their order.
    /// - Returns: nil for NULL and when there is no row.
    /// - Throws: as `object(forQuery:values:)`.
    public func int64(
        forQuery sql: String, values: [(any SQLiteDatatypeBridgeable)?]
    ) throws -> Int64? {
        try object(forQuery: sql, values: values)
    }

    /// The first column of the first row as `UInt64`: an INTEGER that is not negative, and as for
    /// `Int64`.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: One for each `?` placeholder, in their order.
    /// - Returns: nil for NULL and when there is no row.
    /// - Throws: as `object(forQuery:values:)`.
    public func uint64(
        forQuery sql: String, _ values: (any SQLiteDatatypeBridgeable)?...
    ) throws -> UInt64? {
        try object(forQuery: sql, values: values)
    }

    /// The first column of the first row as `UInt64`: an INTEGER that is not negative, and as for
    /// `Int64`.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: One for each `?` placeholder, in their order.
    /// - Returns: nil for NULL and when there is no row.
    /// - Throws: as `object(forQuery:values:)`.
    public func uint64(
        forQuery sql: String, values: [(any SQLiteDatatypeBridgeable)?]
    ) throws -> UInt64? {
        try object(forQuery: sql, values: values)
    }

    /// The first column of the first row as `Bool`: true for a number other than zero.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: One for each `?` placeholder, in their order.
    /// - Returns: nil for NULL and when there is no row.
    /// - Throws: as `object(forQuery:values:)`.
    public func bool(
        forQuery sql: String, _ values: (any SQLiteDatatypeBridgeable)?...
    ) throws -> Bool? {
        try object(forQuery: sql, values: values)
    }

    /// The first column of the first row as `Bool`: true for a number other than zero.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: One for each `?` placeholder, in their order.
    /// - Returns: nil for NULL and when there is no row.
    /// - Throws: as `object(forQuery:values:)`.
    public func bool(
        forQuery sql: String, values: [(any SQLiteDatatypeBridgeable)?]
    ) throws -> Bool? {
        try object(forQuery: sql, values: values)
    }

    /// The first column of the first row as `Double`: a REAL, an INTEGER that it holds exactly, or
    /// TEXT that spells a number.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: One for each `?` placeholder, in their order.
    /// - Returns: nil for NULL and when there is no row.
    /// - Throws: as `object(forQuery:values:)`.
    public func double(
        forQuery sql: String, _ values: (any SQLiteDatatypeBridgeable)?...
    ) throws -> Double? {
        try object(forQuery: sql, values: values)
    }

    /// The first column of the first row as `Double`: a REAL, an INTEGER that it holds exactly, or
    /// TEXT that spells a number.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: One for each `?` placeholder, in their order.
    /// - Returns: nil for NULL and when there is no row.
    /// - Throws: as `object(forQuery:values:)`.
    public func double(
        forQuery sql: String, values: [(any SQLiteDatatypeBridgeable)?]
    ) throws -> Double? {
        try object(forQuery: sql, values: values)
    }

    /// The first column of the first row as `String`: TEXT, the decimal text of a number, or a BLOB
    /// that is UTF-8.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: One for each `?` placeholder, in their order.
    /// - Returns: nil for NULL and when there is no row.
    /// - Throws: as `object(forQuery:values:)`.
    public func string(
        forQuery sql: String, _ values: (any SQLiteDatatypeBridgeable)?...
    ) throws -> String? {
        try object(forQuery: sql, values: values)
    }

    /// The first column of the first row as `String`: TEXT, the decimal text of a number, or a BLOB
    /// that is UTF-8.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: One for each `?` placeholder, in their order.
    /// - Returns: nil for NULL and when there is no row.
    /// - Throws: as `object(forQuery:values:)`.
    public func string(
        forQuery sql: String, values: [(any SQLiteDatatypeBridgeable)?]
    ) throws -> String? {
        try object(forQuery: sql, values: values)
    }

    /// The first column of the first row as `Data`: the bytes of a BLOB, or the UTF-8 bytes of
    /// TEXT.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: One for each `?` placeholder, in their order.
    /// - Returns: nil for NULL and when there is no row.
    /// - Throws: as `object(forQuery:values:)`.
    public func data(
        forQuery sql: String, _ values: (any SQLiteDatatypeBridgeable)?...
    ) throws -> Data? {
        try object(forQuery: sql, values: values)
    }

    /// The first column of the first row as `Data`: the bytes of a BLOB, or the UTF-8 bytes of
    /// TEXT.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: One for each `?` placeholder, in their order.
    /// - Returns: nil for NULL and when there is no row.
    /// - Throws: as `object(forQuery:values:)`.
    public func data(
        forQuery sql: String, values: [(any SQLiteDatatypeBridgeable)?]
    ) throws -> Data? {
        try object(forQuery: sql, values: values)
    }

    /// The first column of the first row as `Date`: a number of seconds since 1970-01-01 00:00:00
    /// UTC.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: One for each `?` placeholder, in their order.
    /// - Returns: nil for NULL and when there is no row.
    /// - Throws: as `object(forQuery:values:)`.
    public func date(
        forQuery sql: String, _ values: (any SQLiteDatatypeBridgeable)?...
    ) throws -> Date? {
        try object(forQuery: sql, values: values)
    }

    /// The first column of the first row as `Date`: a number of seconds since 1970-01-01 00:00:00
    /// UTC.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: One for each `?` placeholder, in their order.
    /// - Returns: nil for NULL and when there is no row.
    /// - Throws: as `object(forQuery:values:)`.
    public func date(
        forQuery sql: String, values: [(any SQLiteDatatypeBridgeable)?]
    ) throws -> Date? {
        try object(forQuery: sql, values: values)
    }

    /// The first column of the first row as any type that a column can be read as.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: One for each `?` placeholder, in their order.
    /// - Returns: nil for NULL and when there is no row.
    /// - Throws: as `executeQuery(_:values:)`, also when SQLite fails at the first row;
    ///   `.typeConversionFailed` when the type cannot represent the value without loss.
    public func object<T: SQLiteDatatypeBridgeable>(
        forQuery sql: String, values: [(any SQLiteDatatypeBridgeable)?] = []
    ) throws -> T? {
        let rs = try executeQuery(sql, values: values)
        defer { rs.close() }
        return try rs.next() ? rs.object(forColumnIndex: 0) : nil
    }
}
