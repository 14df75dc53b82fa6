/// One statement, prepared once, to be run many times.
///
/// Made with ``SecureDatabaseStore/prepare(_:)``. A store keeps the statements of its calls
/// prepared by itself; this one is never dropped from that cache, and checks its SQL before its
/// first run. It belongs to the thread of its store, keeps it alive, and ends when the store is
/// closed.
public class SecureDatabaseStatement {
    /// The SQL text.
    public let sql: String

    private let store: SecureDatabaseStore
    /// Also keeps the statement's own unsafe reference to it valid.
    private let connection: Connection
    private let statement: Statement
    /// Binds what `bind` was given; values are in the engine only while the statement runs.
    private var bindValues: (Statement) throws -> Void = { try $0.bind([]) }

    fileprivate init(_ sql: String, of store: SecureDatabaseStore) throws {
        self.sql = sql
        self.store = store
        connection = try store.workingConnection()
        statement = try Statement(sql, on: connection, persistent: true)
        statement.isInUse = false
        // As if the cache held it: giving it back does not end it.
        statement.isCached = true
        connection.keptStatements[ObjectIdentifier(statement)] = statement
    }

    deinit { close() }

    /// Frees the statement; a result set of it that is still open can be read to its end.
    ///
    /// Closing twice, or after the store, is harmless.
    public func close() {
        guard connection.keptStatements.removeValue(forKey: ObjectIdentifier(statement)) != nil
        else { return }
        bindValues = { try $0.bind([]) }
        statement.isCached = false
        if !statement.isInUse { statement.finalize() }
    }

    // MARK: - Values

    /// Sets the values of the `?` placeholders for the runs to come that bring none of their own.
    ///
    /// - Parameter values: As for `SecureDatabaseStore.executeUpdate(_:values:)`.
    /// - Throws: As ``executeUpdate(values:)``; the values are then as before.
    public func bind(_ values: [(any SQLiteDatatypeBridgeable)?]) throws {
        try keep { try $0.bind(values) }
    }

    /// Sets the values of the named placeholders for the runs to come that bring none of their own.
    ///
    /// - Parameter parameterDictionary: As for
    ///   ``SecureDatabaseStore/executeUpdate(_:parameterDictionary:)``.
    /// - Throws: As ``executeUpdate(parameterDictionary:)``; the values are then as before.
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
    /// - Throws: As ``executeUpdate(values:)``.
    public func executeUpdate() throws { try update(bindValues) }

    /// Runs the statement with values for its `?` placeholders.
    ///
    /// - Parameter values: As for `SecureDatabaseStore.executeUpdate(_:values:)`.
    /// - Throws: As that; `.closed` when this statement or its store has been closed since, also
    ///   when the store had to be opened anew after a failed change of key; `.backingStoreError`
    ///   code 21 (SQLITE_MISUSE) while a result set of this statement is open.
    ///
    /// The corresponding C functions are [`sqlite3_step`](https://sqlite.org/c3ref/step.html) and
    /// [`sqlite3_reset`](https://sqlite.org/c3ref/reset.html).
    public func executeUpdate(values: [(any SQLiteDatatypeBridgeable)?]) throws {
        try update { try $0.bind(values) }
    }

    /// Runs the statement with values for its named placeholders.
    ///
    /// - Parameter parameterDictionary: As for
    ///   ``SecureDatabaseStore/executeUpdate(_:parameterDictionary:)``.
    /// - Throws: As ``executeUpdate(values:)``.
    public func executeUpdate(
        parameterDictionary: [String: (any SQLiteDatatypeBridgeable)?]
    ) throws {
        try update { try $0.bind(parameterDictionary) }
    }

    /// Begins the query with the values of the last `bind`.
    ///
    /// - Returns: The rows; the statement is busy until they are closed or at their end.
    /// - Throws: As ``executeQuery(values:)``.
    public func executeQuery() throws -> SecureDatabaseResultSet { try query(bindValues) }

    /// Begins the query with values for its `?` placeholders.
    ///
    /// - Parameter values: As for `SecureDatabaseStore.executeUpdate(_:values:)`.
    /// - Returns: The rows; the statement is busy until they are closed or at their end.
    /// - Throws: As ``executeUpdate(values:)``; code 21 for a statement that returns no columns.
    public func executeQuery(
        values: [(any SQLiteDatatypeBridgeable)?]
    ) throws -> SecureDatabaseResultSet {
        try query { try $0.bind(values) }
    }

    /// Begins the query with values for its named placeholders.
    ///
    /// - Parameter parameterDictionary: As for
    ///   ``SecureDatabaseStore/executeUpdate(_:parameterDictionary:)``.
    /// - Returns: The rows; the statement is busy until they are closed or at their end.
    /// - Throws: As ``executeQuery(values:)``.
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

    /// Takes the statement and binds its values; who gets here gives it back.
    private func begin(_ bind: (Statement) throws -> Void) throws {
        try requireOpen()
        guard !statement.isInUse else {
            throw SecureStorageError.statementFailed(
                .misuse,
                "the prepared statement is in use; close its result set before it runs again",
                in: sql)
        }
        statement.isInUse = true
        do {
            try bind(statement)
            // A value's conversion may have closed the store or this statement.
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
    /// Prepares one statement to be run many times.
    ///
    /// It survives changes of the schema, as long as its tables and columns do.
    ///
    /// - Parameter sql: Exactly one statement.
    /// - Returns: The statement, which nobody else uses.
    /// - Throws: `.closed`; `.backingStoreError` with SQLite's code and message, for SQL that is
    ///   none.
    ///
    /// The corresponding C function is
    /// [`sqlite3_prepare_v3`](https://sqlite.org/c3ref/prepare.html).
    public func prepare(_ sql: String) throws -> SecureDatabaseStatement {
        try SecureDatabaseStatement(sql, of: self)
    }
}
