/// A statement that is prepared once and run many times.
///
/// Created by ``SecureDatabaseStore/prepare(_:)``. A store caches the prepared statements of its
/// own calls; this one is never evicted, and its SQL is checked before its first run. It belongs to
/// the thread of its store, keeps the store alive, and ends when the store is closed.
public class SecureDatabaseStatement {
    /// The SQL text.
    public let sql: String

    private let store: SecureDatabaseStore
    /// The connection; holding it keeps the statement's unowned reference to it valid.
    private let connection: Connection
    private let statement: Statement
    /// Binds the values last passed to `bind`; they are in the engine only while the statement
    /// runs.
    private var bindValues: (Statement) throws -> Void = { try $0.bind([]) }

    fileprivate init(_ sql: String, of store: SecureDatabaseStore) throws {
        self.sql = sql
        self.store = store
        connection = try store.workingConnection()
        statement = try Statement(sql, on: connection, persistent: true)
        statement.use.isInUse = false
        // Marked as cached so that returning it does not finalize it.
        statement.use.isCached = true
        connection.keptStatements[ObjectIdentifier(statement)] = statement
    }

    deinit { close() }

    /// Frees the statement; an open result set of it can still be read to its end.
    ///
    /// Closing twice, or after the store, has no effect.
    public func close() {
        guard connection.keptStatements.removeValue(forKey: ObjectIdentifier(statement)) != nil
        else { return }
        bindValues = { try $0.bind([]) }
        statement.use.isCached = false
        if !statement.use.isInUse { statement.finalize() }
    }

    // MARK: - Values

    /// The names of the placeholders, with `:`, `@` or `$`; `?1` and so on for those without.
    package var placeholders: [String] {
        statement.parameters.names.enumerated().map { $1?.full ?? "?\($0 + 1)" }
    }

    /// Sets the values of the `?` placeholders for later runs that pass no values.
    ///
    /// - Parameter values: As for `SecureDatabaseStore.executeUpdate(_:values:)`.
    /// - Throws: Same as ``executeUpdate(values:)``; the previous values then stay in effect.
    public func bind(_ values: [(any SQLiteDatatypeBridgeable)?]) throws {
        try keep { try $0.bind(values) }
    }

    /// Sets the values of the named placeholders for later runs that pass no values.
    ///
    /// - Parameter parameterDictionary: As for
    ///   ``SecureDatabaseStore/executeUpdate(_:parameterDictionary:)``.
    /// - Throws: Same as ``executeUpdate(parameterDictionary:)``; the previous values then stay in
    ///   effect.
    public func bind(_ parameterDictionary: [String: (any SQLiteDatatypeBridgeable)?]) throws {
        try keep { try $0.bind(parameterDictionary) }
    }

    private func keep(_ bind: @escaping (Statement) throws -> Void) throws {
        try begin(bind)
        statement.giveBack()
        bindValues = bind
    }

    // MARK: - Running

    /// Runs the statement with the values of the last `bind`.
    ///
    /// - Throws: Same as ``executeUpdate(values:)``.
    public func executeUpdate() throws { try update(bindValues) }

    /// Runs the statement with values for its `?` placeholders.
    ///
    /// - Parameter values: As for `SecureDatabaseStore.executeUpdate(_:values:)`.
    /// - Throws: Same as that method; `.closed` when this statement or its store has been closed
    ///   since, also when the store had to be reopened after a failed key change;
    ///   `.backingStoreError` code `.misuse` while a result set of this statement is open.
    ///
    /// The corresponding C functions are [`sqlite3_step`](https://sqlite.org/c3ref/step.html) and
    /// [`sqlite3_reset`](https://sqlite.org/c3ref/reset.html).
    public func executeUpdate(values: [(any SQLiteDatatypeBridgeable)?]) throws {
        try update { try $0.bind(values) }
    }

    /// As ``executeUpdate(values:)``, without a dynamic cast for each value.
    package func executeUpdate(row: [SQLiteValue]) throws { try update { try $0.bind(row: row) } }

    /// As ``executeQuery(values:)``, without a dynamic cast for each value.
    package func executeQuery(row: [SQLiteValue]) throws -> SecureDatabaseResultSet {
        try query { try $0.bind(row: row) }
    }

    /// Runs the statement with values for its named placeholders.
    ///
    /// - Parameter parameterDictionary: As for
    ///   ``SecureDatabaseStore/executeUpdate(_:parameterDictionary:)``.
    /// - Throws: Same as ``executeUpdate(values:)``.
    public func executeUpdate(
        parameterDictionary: [String: (any SQLiteDatatypeBridgeable)?]
    ) throws {
        try update { try $0.bind(parameterDictionary) }
    }

    /// Begins the query with the values of the last `bind`.
    ///
    /// - Returns: The rows; the statement is busy until they are closed or reach their end.
    /// - Throws: Same as ``executeQuery(values:)``.
    public func executeQuery() throws -> SecureDatabaseResultSet { try query(bindValues) }

    /// Begins the query with values for its `?` placeholders.
    ///
    /// - Parameter values: As for `SecureDatabaseStore.executeUpdate(_:values:)`.
    /// - Returns: The rows; the statement is busy until they are closed or reach their end.
    /// - Throws: Same as ``executeUpdate(values:)``; code `.misuse` for a statement that returns no
    ///   columns.
    public func executeQuery(
        values: [(any SQLiteDatatypeBridgeable)?]
    ) throws -> SecureDatabaseResultSet {
        try query { try $0.bind(values) }
    }

    /// Begins the query with values for its named placeholders.
    ///
    /// - Parameter parameterDictionary: As for
    ///   ``SecureDatabaseStore/executeUpdate(_:parameterDictionary:)``.
    /// - Returns: The rows; the statement is busy until they are closed or reach their end.
    /// - Throws: Same as ``executeQuery(values:)``.
    public func executeQuery(
        parameterDictionary: [String: (any SQLiteDatatypeBridgeable)?]
    ) throws -> SecureDatabaseResultSet {
        try query { try $0.bind(parameterDictionary) }
    }

    private func update(_ bind: (Statement) throws -> Void) throws {
        try begin(bind)
        defer { statement.giveBack() }
        try store.run(statement)
    }

    private func query(_ bind: (Statement) throws -> Void) throws -> SecureDatabaseResultSet {
        try requireOpen()
        guard statement.columnCount > 0 else {
            throw SecureStorageError.statementFailed(
                .misuse, "the statement returns no columns; use executeUpdate for it", in: sql)
        }
        try begin(bind)
        return SecureDatabaseResultSet(statement, of: store)
    }

    /// Marks the statement as in use and binds its values; on success, the caller must return it.
    private func begin(_ bind: (Statement) throws -> Void) throws {
        try requireOpen()
        guard !statement.use.isInUse else {
            throw SecureStorageError.statementFailed(
                .misuse,
                "the prepared statement is in use; close its result set before it runs again",
                in: sql)
        }
        statement.use.isInUse = true
        do {
            try bind(statement)
            // Converting a value might have closed the store or this statement.
            try requireOpen()
        } catch {
            statement.giveBack()
            throw error
        }
    }

    private func requireOpen() throws {
        guard try store.workingConnection() === connection,
            connection.keptStatements[ObjectIdentifier(statement)] != nil
        else { throw SecureStorageError.closed }
    }
}

@available(
    *, unavailable, message: "a statement belongs to its store's thread; prepare one in each block"
)
extension SecureDatabaseStatement: Sendable {}

extension SecureDatabaseStore {
    /// Prepares one statement, to be run many times.
    ///
    /// The statement survives schema changes as long as its tables and columns exist.
    ///
    /// - Parameter sql: Exactly one statement.
    /// - Returns: The statement, which is not shared with other calls.
    /// - Throws: `.closed`; `.backingStoreError` with SQLite's code and message, for invalid SQL.
    ///
    /// The corresponding C function is
    /// [`sqlite3_prepare_v3`](https://sqlite.org/c3ref/prepare.html).
    public func prepare(_ sql: String) throws -> SecureDatabaseStatement {
        try SecureDatabaseStatement(sql, of: self)
    }
}
