// Statements whose values are interpolated.

extension SecureDatabaseStore {
    /// Runs one statement that is not a query.
    ///
    /// ```swift
    /// try db.execute("UPDATE note SET folder = \(folder) WHERE id IN \(ids)")
    /// ```
    ///
    /// - Parameter sql: Exactly one statement; see ``SQL``. Rows that it returns are discarded.
    /// - Returns: The number of rows that an INSERT, UPDATE or DELETE has changed directly, without
    ///   those of triggers and foreign keys; 0 for any other statement.
    /// - Throws: As `executeUpdate(_:values:)`.
    @discardableResult
    public func execute(_ sql: SQL) throws -> Int {
        let connection = try workingConnection()
        let before = connection.totalChangeCount
        let statement = try statement(for: sql, on: connection)
        // It may write the change log, whose changes are not those of the statement.
        defer { statement.giveBack() }
        try statement.bind(pieces: sql.pieces)
        try requireWorking(connection)
        try run(statement)
        // Other statements leave the number of the one before.
        return connection.totalChangeCount == before ? 0 : connection.changedRowCount
    }

    /// Begins a query.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: For the placeholders of a statement without values of its own.
    /// - Returns: The rows.
    /// - Throws: As `executeQuery(_:values:)`; code `.misuse` for values of both kinds.
    @usableFromInline
    func query(
        _ sql: SQL, _ values: [(any SQLiteDatatypeBridgeable)?]
    ) throws -> SecureDatabaseResultSet {
        guard !sql.pieces.isEmpty else { return try executeQuery(sql.literal, values: values) }
        guard values.isEmpty else {
            guard sql.hasValues else {
                return try executeQuery(sql.text(in: self), values: values)
            }
            throw SecureStorageError.statementFailed(
                .misuse, "give all values in the text, or all of them after it",
                in: sql.description)
        }
        let connection = try workingConnection()
        return try query(statement(for: sql, on: connection), on: connection) {
            try $0.bind(pieces: sql.pieces)
        }
    }

    private func statement(for sql: SQL, on connection: Connection) throws -> Statement {
        guard !sql.pieces.isEmpty else {
            return try connection.statement(for: sql.literal, cached: cachesStatements)
        }
        if sql.isKnown, let statement = connection.statements.checkOut(sql.pieces) {
            return statement
        }
        let statement = try connection.statement(for: sql.text(in: self), cached: cachesStatements)
        if sql.isKnown { connection.statements.remember(statement, for: sql.pieces) }
        return statement
    }
}
