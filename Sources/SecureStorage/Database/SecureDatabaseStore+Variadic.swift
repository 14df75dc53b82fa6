extension SecureDatabaseStore {
    /// Runs one statement, with the values for its `?` placeholders as further arguments.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement.
    ///   - values: One per placeholder, in order; as for `executeUpdate(_:values:)`.
    /// - Throws: Same as `executeUpdate(_:values:)`.
    public func executeUpdate(
        _ sql: String, _ values: (any SQLiteDatatypeBridgeable)?...
    ) throws {
        try executeUpdate(sql, values: values)
    }

    /// Begins a query, with the values for its `?` placeholders as further arguments.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: One per placeholder, in order; as for `executeUpdate(_:values:)`.
    /// - Returns: The rows; nothing runs before the first ``SecureDatabaseResultSet/next()``.
    /// - Throws: Same as `executeQuery(_:values:)`.
    public func executeQuery(
        _ sql: String, _ values: (any SQLiteDatatypeBridgeable)?...
    ) throws -> SecureDatabaseResultSet {
        try executeQuery(sql, values: values)
    }
}
