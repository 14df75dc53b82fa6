// Rows whose columns have the types of a closure's parameters, in the order of the query.

extension SecureDatabaseResultSet {
    /// Calls a closure with the columns of the current row, each as the type of its parameter.
    ///
    /// ```swift
    /// while try rs.next() {
    ///     try rs.row { (id: Int64, text: String, at: Date?) in print(id, text) }
    /// }
    /// ```
    ///
    /// - Parameter map: Has one parameter per column, in the order of the query; an optional one
    ///   for a column that can be NULL.
    /// - Returns: The result of `map`.
    /// - Throws: `.backingStoreError` code `.mismatch` (SQLITE_MISMATCH) that names the column,
    ///   when a value does not fit its type, including NULL for one that is not optional; code
    ///   `.range` (SQLITE_RANGE) for another number of columns; code `.misuse` when no row is
    ///   current; `.closed`; any error thrown by `map`.
    @inlinable
    public func row<each Column: SQLiteColumnReadable, Row>(
        _ map: (repeat each Column) throws -> Row
    ) throws -> Row {
        var count = 0
        for _ in repeat (each Column).self { count += 1 }
        try requireRow(ofColumns: count)
        // Swift evaluates the arguments in their order.
        var index = 0
        return try map(repeat try typedValue((each Column).self, &index))
    }

    @inlinable
    @inline(__always)
    func typedValue<Value: SQLiteColumnReadable>(
        _ type: Value.Type, _ index: inout Int
    ) throws -> Value {
        let column = try typedColumn(index)
        do throws(SQLiteColumnMismatch) {
            let value = try Value.read(from: column)
            index += 1
            return value
        } catch {
            throw mismatch(index, type)
        }
    }

    @usableFromInline
    func typedColumn(_ index: Int) throws -> SQLiteColumn {
        // A conversion by the app's code may have closed the result set.
        guard let known = column(index) else {
            return SQLiteColumn(value: statement.column(try requiredColumn(index)).value)
        }
        return SQLiteColumn(value: statement.column(known).value)
    }

    @usableFromInline
    func requireRow(ofColumns wanted: Int) throws {
        guard readableColumns != wanted else { return }
        try requireRow()
        let names = statement.columnNames.prefix(50).joined(separator: ", ")
        throw SecureStorageError.statementFailed(
            .range,
            "the query has \(readableColumns) columns, and the closure takes \(wanted); "
                + "the columns are: \(names)", in: query)
    }

    @usableFromInline
    func mismatch(_ index: Int, _ type: Any.Type) -> SecureStorageError {
        let name = statement.columnNames[index]
        let reason =
            switch statement.storageClass(at: index) {
            case .null: "is NULL, but its type \(type) is not an optional"
            case .integer: "holds an INTEGER that is not a \(type)"
            case .real: "holds a REAL that is not a \(type)"
            case .text: "holds a TEXT that is not a \(type)"
            default: "holds a BLOB that is not a \(type)"
            }
        return .statementFailed(
            .mismatch, "column \(index + 1), \"\(name)\", \(reason)", in: query)
    }
}

extension SecureDatabaseStore {
    /// Returns all rows of a query, each converted by a closure whose parameters are its columns.
    ///
    /// ```swift
    /// let notes = try db.fetchAll("SELECT id, text, at FROM note WHERE at > ?", since) {
    ///     (id: Int64, text: String, at: Date?) in Note(id: id, text: text, at: at)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns; see ``SQL``.
    ///   - values: One per `?` placeholder, in order, if the text has them instead of values.
    ///   - map: Has one parameter per column, in the order of the query; an optional one for a
    ///     column that can be NULL. It must not use the store.
    /// - Returns: The rows, in the order of the query, all in memory.
    /// - Throws: As `executeQuery(_:values:)`, ``SecureDatabaseResultSet/next()`` and
    ///   ``SecureDatabaseResultSet/row(_:)``.
    @inlinable
    public func fetchAll<each Column: SQLiteColumnReadable, Row>(
        _ sql: SQL, _ values: (any SQLiteDatatypeBridgeable)?...,
        map: (repeat each Column) throws -> Row
    ) throws -> [Row] {
        try fetchAll(sql, values: values, map: map)
    }

    /// Returns all rows of a query, each converted by a closure whose parameters are its columns.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns; see ``SQL``.
    ///   - values: One per `?` placeholder, in order, if the text has them instead of values.
    ///   - map: As for ``fetchAll(_:_:map:)``.
    /// - Returns: The rows, in the order of the query, all in memory.
    /// - Throws: As ``fetchAll(_:_:map:)``.
    @inlinable
    public func fetchAll<each Column: SQLiteColumnReadable, Row>(
        _ sql: SQL, values: [(any SQLiteDatatypeBridgeable)?],
        map: (repeat each Column) throws -> Row
    ) throws -> [Row] {
        let rs = try query(sql, values)
        defer { rs.close() }
        var rows: [Row] = []
        while try rs.next() { rows.append(try rs.row(map)) }
        return rows
    }

    /// Returns the first row of a query, converted by a closure whose parameters are its columns.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns; see ``SQL``.
    ///   - values: One per `?` placeholder, in order, if the text has them instead of values.
    ///   - map: As for ``fetchAll(_:_:map:)``.
    /// - Returns: The first row, or nil when the query returns none; no further row is read.
    /// - Throws: As ``fetchAll(_:_:map:)``.
    @inlinable
    public func fetchOne<each Column: SQLiteColumnReadable, Row>(
        _ sql: SQL, _ values: (any SQLiteDatatypeBridgeable)?...,
        map: (repeat each Column) throws -> Row
    ) throws -> Row? {
        try fetchOne(sql, values: values, map: map)
    }

    /// Returns the first row of a query, converted by a closure whose parameters are its columns.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns; see ``SQL``.
    ///   - values: One per `?` placeholder, in order, if the text has them instead of values.
    ///   - map: As for ``fetchAll(_:_:map:)``.
    /// - Returns: The first row, or nil when the query returns none; no further row is read.
    /// - Throws: As ``fetchAll(_:_:map:)``.
    @inlinable
    public func fetchOne<each Column: SQLiteColumnReadable, Row>(
        _ sql: SQL, values: [(any SQLiteDatatypeBridgeable)?],
        map: (repeat each Column) throws -> Row
    ) throws -> Row? {
        let rs = try query(sql, values)
        defer { rs.close() }
        return try rs.next() ? rs.row(map) : nil
    }
}
