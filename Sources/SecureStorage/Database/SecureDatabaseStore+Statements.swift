extension SecureDatabaseStore {
    // MARK: - Updates

    /// Runs one statement that is not a query, such as CREATE, INSERT, UPDATE, DELETE or VACUUM.
    ///
    /// Any rows it returns are discarded.
    ///
    /// - Parameter sql: Exactly one statement without placeholders.
    /// - Throws: `.closed`; `.backingStoreError` with SQLite's code and message, also for text
    ///   after the statement (code `.error`) and for placeholders without values (code `.range`).
    ///
    /// The corresponding C functions are
    /// [`sqlite3_prepare_v3`](https://sqlite.org/c3ref/prepare.html) and
    /// [`sqlite3_step`](https://sqlite.org/c3ref/step.html).
    public func executeUpdate(_ sql: String) throws {
        try executeUpdate(sql, values: [])
    }

    /// Runs one statement with values for its `?` placeholders.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement.
    ///   - values: One per placeholder, in order; nil is NULL. `Data` is stored as BLOB, `Date` as
    ///     INTEGER (whole seconds since 1970-01-01 UTC), integers and `Bool` as INTEGER, `Float`
    ///     and `Double` as REAL, `String`, `UUID`, `URL` and `Decimal` as TEXT.
    /// - Throws: Same as ``executeUpdate(_:)``; code `.range` for too few or too many values;
    ///   `.typeConversionFailed` for a `UInt64` above `Int64.max`, and a `Decimal` that is NaN.
    public func executeUpdate(
        _ sql: String, values: [(any SQLiteDatatypeBridgeable)?]
    ) throws {
        try update(sql) { try $0.bind(values) }
    }

    /// Runs one statement with values for its named placeholders.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement, with placeholders such as `:name`, `@name` or `$name`.
    ///   - parameterDictionary: A value for each name, written without the colon (accepted with it,
    ///     too); nil is NULL.
    /// - Throws: Same as `executeUpdate(_:values:)`; the message identifies a missing or surplus
    ///   name. With ``SecureDatabaseConfiguration/allowsSurplusNames``, a surplus name is not an
    ///   error.
    public func executeUpdate(
        _ sql: String, parameterDictionary: [String: (any SQLiteDatatypeBridgeable)?]
    ) throws {
        try update(sql) { try $0.bind(parameterDictionary) }
    }

    /// Runs one statement with values for its named placeholders, written as a literal.
    ///
    /// Like ``executeUpdate(_:parameterDictionary:)``, in half the time: no dictionary is built.
    ///
    /// ```swift
    /// try db.executeUpdate(
    ///     "INSERT INTO note (text, at) VALUES (:text, :at)",
    ///     named: ["text": "milk", "at": Date()])
    /// ```
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement, with placeholders such as `:name`, `@name` or `$name`.
    ///   - values: A value for each name, fastest in the order of the placeholders; nil is NULL.
    /// - Throws: Same as ``executeUpdate(_:parameterDictionary:)``; code `.range` also for a name
    ///   that is given twice.
    public func executeUpdate(
        _ sql: String, named values: KeyValuePairs<String, (any SQLiteDatatypeBridgeable)?>
    ) throws {
        try update(sql) { try $0.bind(values) }
    }

    private func update(_ sql: String, bind: (Statement) throws -> Void) throws {
        let connection = try workingConnection()
        let statement = try connection.statement(for: sql, cached: cachesStatements)
        defer { statement.giveBack() }
        try bind(statement)
        try requireWorking(connection)
        try run(statement)
    }

    // MARK: - Queries

    /// Begins a query without placeholders.
    ///
    /// - Parameter sql: Exactly one statement that returns columns: SELECT, VALUES, EXPLAIN, many
    ///   PRAGMAs, or an INSERT, UPDATE or DELETE with RETURNING.
    /// - Returns: The rows; nothing runs before the first ``SecureDatabaseResultSet/next()``.
    /// - Throws: Same as ``executeUpdate(_:)``; code `.misuse` for a statement that returns no
    ///   columns.
    public func executeQuery(_ sql: String) throws -> SecureDatabaseResultSet {
        try executeQuery(sql, values: [])
    }

    /// Begins a query with values for its `?` placeholders.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: As for `executeUpdate(_:values:)`.
    /// - Returns: The rows.
    /// - Throws: Same as ``executeQuery(_:)`` and `executeUpdate(_:values:)`.
    public func executeQuery(
        _ sql: String, values: [(any SQLiteDatatypeBridgeable)?]
    ) throws -> SecureDatabaseResultSet {
        try query(sql) { try $0.bind(values) }
    }

    /// Begins a query with values for its named placeholders.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns.
    ///   - parameterDictionary: As for ``executeUpdate(_:parameterDictionary:)``.
    /// - Returns: The rows.
    /// - Throws: Same as ``executeQuery(_:)`` and ``executeUpdate(_:parameterDictionary:)``.
    public func executeQuery(
        _ sql: String, parameterDictionary: [String: (any SQLiteDatatypeBridgeable)?]
    ) throws -> SecureDatabaseResultSet {
        try query(sql) { try $0.bind(parameterDictionary) }
    }

    /// Begins a query with values for its named placeholders, written as a literal.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: As for ``executeUpdate(_:named:)``.
    /// - Returns: The rows.
    /// - Throws: Same as ``executeQuery(_:)`` and ``executeUpdate(_:named:)``.
    public func executeQuery(
        _ sql: String, named values: KeyValuePairs<String, (any SQLiteDatatypeBridgeable)?>
    ) throws -> SecureDatabaseResultSet {
        try query(sql) { try $0.bind(values) }
    }

    private func query(
        _ sql: String, bind: (Statement) throws -> Void
    ) throws -> SecureDatabaseResultSet {
        let connection = try workingConnection()
        let statement = try connection.statement(for: sql, cached: cachesStatements)
        return try query(statement, on: connection, bind: bind)
    }

    /// Begins a query with a statement.
    @inline(__always)
    func query(
        _ statement: Statement, on connection: Connection, bind: (Statement) throws -> Void
    ) throws -> SecureDatabaseResultSet {
        do {
            try requireColumns(statement)
            try bind(statement)
            try requireWorking(connection)
        } catch {
            statement.giveBack()
            throw error
        }
        return SecureDatabaseResultSet(statement, of: self)
    }

    func requireColumns(_ statement: Statement) throws {
        guard statement.columnCount > 0 else {
            throw SecureStorageError.statementFailed(
                .misuse, "the statement returns no columns; use executeUpdate for it",
                in: statement.sql)
        }
    }

    // MARK: - Batches

    /// Runs any number of statements, separated by semicolons; rows are discarded.
    ///
    /// Stops at the first error; earlier statements stay in effect unless the batch contains its
    /// own transaction. Inside a transaction block it cannot contain one: it stops at a BEGIN,
    /// COMMIT or ROLLBACK, with code `.misuse`. Never pass text from an untrusted source: values
    /// cannot be bound here, and a statement with a placeholder is an error.
    ///
    /// - Parameter sql: Statements; whitespace and comments between them are allowed.
    /// - Throws: `.closed`; `.backingStoreError` with SQLite's code and message, code `.range`
    ///   (SQLITE_RANGE) for a statement with placeholders.
    public func executeStatements(_ sql: String) throws {
        try executeStatements(sql) { _ in true }
    }

    /// Runs any number of statements, separated by semicolons, and passes each row to a block.
    ///
    /// - Parameters:
    ///   - sql: Statements; whitespace and comments between them are allowed.
    ///   - resultBlock: Receives each row as text by column name, as
    ///     ``SecureDatabaseResultSet/string(forColumnName:)`` returns it, with NULL as nil.
    ///     Returning false ends the batch without an error.
    /// - Throws: Same as ``executeStatements(_:)``.
    public func executeStatements(
        _ sql: String, resultBlock: @escaping (_ results: [String: String?]) -> Bool
    ) throws {
        let connection = try workingConnection()
        try Statement.withTerminatedText(of: sql) { start, length in
            var position = 0
            while position < length {
                let (handle, consumed) = try Statement.prepare(
                    start + position, length: length - position, on: connection, persistent: false)
                if let handle {
                    let own = UnsafeRawBufferPointer(start: start + position, count: consumed)
                    let statement = Statement(
                        handle: handle, sql: String(decoding: own, as: UTF8.self), on: connection)
                    defer { statement.giveBack() }
                    guard statement.parameters.count == 0 else {
                        throw SecureStorageError.statementFailed(
                            .range,
                            "a batch has no values for placeholders; run the statement with executeUpdate",
                            in: statement.sql)
                    }
                    if statement.control != nil {
                        try run(statement)
                    } else {
                        guard try show(statement, to: resultBlock) else { return }
                    }
                    try requireWorking(connection)
                }
                guard consumed > 0 else { return }
                position += consumed
            }
        }
    }

    private func show(
        _ statement: Statement, to block: (_ results: [String: String?]) -> Bool
    ) throws -> Bool {
        while try statement.step() {
            statement.refreshColumns()
            var row: [String: String?] = [:]
            for (index, name) in statement.columnNames.enumerated() {
                row[name] = .some(statement.value(at: index).flatMap { String(sqliteValue: $0) })
            }
            guard block(row) else { return false }
            try requireWorking(statement.connection)
        }
        return true
    }

    // MARK: - Outcomes

    /// Returns the row id of the last row that this store inserted; 0 when it has inserted none.
    ///
    /// - Returns: The row id, also of rows in virtual tables.
    /// - Throws: `.closed`.
    ///
    /// The corresponding C function is
    /// [`sqlite3_last_insert_rowid`](https://sqlite.org/c3ref/last_insert_rowid.html).
    public func lastInsertRowId() throws -> Int64 {
        try openConnection().lastInsertRowID
    }

    /// Returns the number of rows that the last INSERT, UPDATE or DELETE changed directly,
    /// excluding changes by triggers and foreign keys.
    ///
    /// - Returns: A number of rows.
    /// - Throws: `.closed`.
    ///
    /// The corresponding C function is
    /// [`sqlite3_changes64`](https://sqlite.org/c3ref/changes.html).
    public func changedRowCount() throws -> Int {
        try openConnection().changedRowCount
    }

    // MARK: - Result sets

    /// Whether a result set of this store has neither reached its end nor been closed.
    public var hasOpenResultSets: Bool { session.newestResultSet != nil }

    /// Closes the result sets that are still open.
    public func closeOpenResultSets() {
        closeResultSets(openedAfter: 0)
    }

    /// Closes the result sets with a greater number; the list is ordered by number.
    func closeResultSets(openedAfter number: Int) {
        while let last = session.newestResultSet?.takeUnretainedValue(), last.number > number {
            last.close()  // removes it from the list
        }
    }
}
