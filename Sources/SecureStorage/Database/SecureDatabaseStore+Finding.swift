// Rows found, counted and deleted by the values of their key, without SQL.

extension SecureDatabaseStore {
    /// Columns with their values, as a literal: `["id": id, "text": "milk"]`; nil is NULL.
    ///
    /// A `Date` is REAL, seconds since 1970, whatever format records have; an array of numbers is
    /// bytes.
    public typealias Columns = KeyValuePairs<String, (any SQLiteDatatypeBridgeable)?>

    /// Returns the row that has a key.
    ///
    /// ```swift
    /// let note = try db.find(Note.self, in: "note", key: ["id": id])
    /// ```
    ///
    /// - Parameters:
    ///   - type: See ``SecureDatabaseResultSet/decode(_:dates:)``.
    ///   - table: The table's name.
    ///   - key: The columns that identify the row, with their values.
    ///   - dates: The format in which dates are stored.
    /// - Returns: The row, the first if several have this key; nil if none has.
    /// - Throws: As `fetchOne(_:_:values:dates:)`; `.backingStoreError` code `.misuse` without a
    ///   column.
    public func find<T: Decodable>(
        _ type: T.Type = T.self, in table: String, key: Columns,
        dates: SecureDatabaseResultSet.DateDecodingStrategy = .secondsSince1970
    ) throws -> T? {
        try find(type, in: table, Condition(requiring: key), dates)
    }

    func find<T: Decodable>(
        _ type: T.Type, in table: String, _ condition: Condition,
        _ dates: SecureDatabaseResultSet.DateDecodingStrategy
    ) throws -> T? {
        try fetchOne(
            type,
            SQL(
                raw: "SELECT * FROM \(SQLText.identifier(table))\(condition.sql) LIMIT 1",
                stored: condition.values), dates: dates)
    }

    /// Returns whether a row has a key.
    ///
    /// - Parameters:
    ///   - table: The table's name.
    ///   - key: The columns that identify the row, with their values.
    /// - Returns: Whether there is one.
    /// - Throws: As `executeQuery(_:values:)`; code `.misuse` without a column.
    public func exists(in table: String, key: Columns) throws -> Bool {
        try exists(in: table, Condition(requiring: key))
    }

    func exists(in table: String, _ condition: Condition) throws -> Bool {
        try object(
            forQuery: "SELECT EXISTS (SELECT 1 FROM \(SQLText.identifier(table))\(condition.sql))",
            values: condition.values) ?? false
    }

    /// Returns how many rows a table has, or how many of them have a key.
    ///
    /// - Parameters:
    ///   - table: The table's name.
    ///   - key: Columns with their values; none counts all rows.
    /// - Returns: The number of rows.
    /// - Throws: As `executeQuery(_:values:)`.
    public func count(in table: String, key: Columns = [:]) throws -> Int {
        try count(in: table, Condition(key))
    }

    func count(in table: String, _ condition: Condition) throws -> Int {
        try object(
            forQuery: "SELECT count(*) FROM \(SQLText.identifier(table))\(condition.sql)",
            values: condition.values) ?? 0
    }

    /// Deletes the rows that have a key.
    ///
    /// ```swift
    /// try db.delete(from: "note", key: ["id": id])
    /// ```
    ///
    /// - Parameters:
    ///   - table: The table's name.
    ///   - key: The columns that identify the rows, with their values.
    /// - Returns: The number of rows that were deleted, without those that a foreign key deletes.
    /// - Throws: As `executeUpdate(_:values:)`; code `.misuse` without a column: to empty a table,
    ///   execute `DELETE FROM`.
    @discardableResult
    public func delete(from table: String, key: Columns) throws -> Int {
        try delete(from: table, Condition(requiring: key))
    }

    /// Deletes the row of a value.
    ///
    /// - Parameters:
    ///   - value: As for ``insert(_:into:dates:)``.
    ///   - table: The table's name.
    ///   - key: The columns that identify the row, properties of the value.
    ///   - dates: The format in which dates are stored.
    /// - Returns: The number of rows that were deleted.
    /// - Throws: As ``delete(from:key:)`` and ``insert(_:into:dates:)``; code `.misuse` for a key
    ///   that is not a property.
    @discardableResult
    public func delete(
        _ value: some Encodable, from table: String, key: String...,
        dates: DateEncodingStrategy = .secondsSince1970
    ) throws -> Int {
        let row = try RowEncoder.columns(of: value, dates: dates)
        try Self.require(key, in: row)
        return try delete(from: table, Condition(row.filter { key.contains($0.name) }))
    }

    private func delete(from table: String, _ condition: Condition) throws -> Int {
        try executeUpdate(
            "DELETE FROM \(SQLText.identifier(table))\(condition.sql)", values: condition.values)
        return try changedRowCount()
    }

    /// A WHERE clause that compares columns with values.
    struct Condition: Sendable {
        /// Begins with a space; empty without columns.
        let sql: String
        let values: [SQLiteValue]

        init(_ columns: Row) {
            // IS, since a column may be NULL.
            let terms = columns.map { "\(SQLText.identifier($0.name)) IS ?" }
            sql = terms.isEmpty ? "" : " WHERE " + terms.joined(separator: " AND ")
            values = columns.map(\.value)
        }

        init(_ key: Columns) throws { self.init(try SecureDatabaseStore.row(key)) }

        /// - Throws: Code `.misuse` for a key without columns.
        init(requiring key: Columns) throws {
            guard !key.isEmpty else { throw SecureStorageError.keyWithoutColumns }
            try self.init(key)
        }
    }
}

extension SecureStorageError {
    static let keyWithoutColumns = SecureStorageError.statementFailed(
        .misuse, "the key has no column; name those that identify the row")
}
