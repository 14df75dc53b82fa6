// Statements with interpolated values, each in a transaction of its own.

extension SecureDatabaseWriter {
    /// Runs one statement that is not a query, in a `write(_:)`.
    ///
    /// ```swift
    /// try await pool.execute("UPDATE note SET folder = \(folder) WHERE id IN \(ids)")
    /// ```
    ///
    /// Otherwise as ``SecureDatabaseStore/execute(_:)``.
    @discardableResult
    public func execute(_ sql: SQL) throws -> Int {
        try write { db -> Int in try db.execute(sql) }
    }

    /// Runs one statement that is not a query, in a `write(_:)`.
    ///
    /// Otherwise as the synchronous call; `CancellationError`.
    @discardableResult
    public func execute(_ sql: SQL) async throws -> Int {
        try await write { try $0.execute(sql) }
    }
}
