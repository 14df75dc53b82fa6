// Rows whose columns have the types of a closure's parameters, read in one call.

extension SecureDatabaseReader {
    /// Returns all rows of a query, each converted by a closure whose parameters are its columns.
    ///
    /// ```swift
    /// let notes = try pool.fetchAll("SELECT id, text FROM note WHERE at > ?", since) {
    ///     (id: Int64, text: String) in Note(id: id, text: text)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns and writes nothing.
    ///   - values: One per `?` placeholder, in order, if the text has them instead of values.
    ///   - map: As for ``SecureDatabaseStore/fetchAll(_:_:map:)``; it cannot use the database.
    /// - Returns: The rows, in the order of the query, all in memory.
    /// - Throws: As ``SecureDatabaseStore/fetchAll(_:_:map:)`` and `read(_:)`.
    public func fetchAll<each Column: SQLiteColumnReadable, Row: Sendable>(
        _ sql: SQL, _ values: (any SQLiteDatatypeBridgeable)?...,
        map: (repeat each Column) throws -> Row
    ) throws -> [Row] {
        try read { db -> [Row] in try db.fetchAll(sql, values: values, map: map) }
    }

    /// Returns the first row of a query, converted by a closure whose parameters are its columns.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns and writes nothing.
    ///   - values: One per `?` placeholder, in order, if the text has them instead of values.
    ///   - map: As for ``SecureDatabaseStore/fetchAll(_:_:map:)``; it cannot use the database.
    /// - Returns: The first row, or nil when the query returns none.
    /// - Throws: As the synchronous `fetchAll`.
    public func fetchOne<each Column: SQLiteColumnReadable, Row: Sendable>(
        _ sql: SQL, _ values: (any SQLiteDatatypeBridgeable)?...,
        map: (repeat each Column) throws -> Row
    ) throws -> Row? {
        try read { db -> Row? in try db.fetchOne(sql, values: values, map: map) }
    }

    /// Returns all rows of a query, each converted by a closure whose parameters are its columns.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns and writes nothing.
    ///   - values: One per `?` placeholder, in order, if the text has them instead of values.
    ///   - map: Runs on a separate thread.
    /// - Returns: The rows, in the order of the query, all in memory.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func fetchAll<each Column: SQLiteColumnReadable & Sendable, Row: Sendable>(
        _ sql: SQL, _ values: (any SQLiteDatatypeBridgeable)?...,
        map: @escaping @Sendable (repeat each Column) throws -> Row
    ) async throws -> [Row] {
        let values = try Self.sendable(values)
        return try await read { db in try db.fetchAll(sql, values: values, map: map) }
    }

    /// Returns the first row of a query, converted by a closure whose parameters are its columns.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns and writes nothing.
    ///   - values: One per `?` placeholder, in order, if the text has them instead of values.
    ///   - map: Runs on a separate thread.
    /// - Returns: The first row, or nil when the query returns none.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func fetchOne<each Column: SQLiteColumnReadable & Sendable, Row: Sendable>(
        _ sql: SQL, _ values: (any SQLiteDatatypeBridgeable)?...,
        map: @escaping @Sendable (repeat each Column) throws -> Row
    ) async throws -> Row? {
        let values = try Self.sendable(values)
        return try await read { db in try db.fetchOne(sql, values: values, map: map) }
    }

    /// Returns the rows of a query for `for try await`, each converted by a closure whose
    /// parameters are its columns.
    ///
    /// ```swift
    /// for try await note in pool.rows("SELECT id, text FROM note", map: Note.init) {
    ///     print(note.text)
    /// }
    /// ```
    ///
    /// Otherwise as ``rows(of:map:)``.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns and writes nothing.
    ///   - values: One per `?` placeholder, in order, if the text has them instead of values. One
    ///     that cannot be stored ends the loop with its error.
    ///   - map: Runs on a separate thread.
    /// - Returns: Rows that are read as a loop requests them.
    public func rows<each Column: SQLiteColumnReadable & Sendable, Row: Sendable>(
        _ sql: SQL, _ values: (any SQLiteDatatypeBridgeable)?...,
        map: @escaping @Sendable (repeat each Column) throws -> Row
    ) -> SecureDatabaseRows<Row> {
        let values = Result { try Self.sendable(values) }
        return rows(
            of: { try $0.query(sql, values.get()) }, map: { try $0.row(map) })
    }

    /// Returns values in a form that another thread can bind.
    static func sendable(
        _ values: [(any SQLiteDatatypeBridgeable)?]
    ) throws -> [SQLiteValue] {
        try values.map { try $0?.sqliteValue ?? .null }
    }
}
