// For apps that come from FMDB and have their values as `Any`. The compiler takes the other
// `executeUpdate(_:values:)` wherever it can see that all values can be bound.

extension SecureDatabaseStore {
    /// Runs one statement with values of any type for its `?` placeholders, as FMDB's method of
    /// this name.
    ///
    /// What the compiler checks elsewhere is checked here when it runs.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement.
    ///   - values: One for each placeholder, in their order. nil, a nested nil and `NSNull` are
    ///     NULL; Swift's types, and those that adopt ``SQLiteDatatypeBridgeable``, are bound as by
    ///     `executeUpdate(_:values:)`; `NSString`, `NSData`, `NSDate` and `NSNumber` as their Swift
    ///     types.
    /// - Throws: as `executeUpdate(_:values:)`; `.backingStoreError` code 20 (SQLITE_MISMATCH) for
    ///   a value of any other type, with the type and the value's position, where FMDB stores its
    ///   description.
    @_disfavoredOverload
    public func executeUpdate(_ sql: String, values: [Any?]) throws {
        try executeUpdate(sql, values: AnyValues.checked(values))
    }

    /// Begins a query with values of any type for its `?` placeholders, as FMDB's method of this
    /// name.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: As for the `executeUpdate(_:values:)` for values of any type.
    /// - Returns: The rows.
    /// - Throws: as there, and as `executeQuery(_:values:)`.
    @_disfavoredOverload
    public func executeQuery(_ sql: String, values: [Any?]) throws -> SecureDatabaseResultSet {
        try executeQuery(sql, values: AnyValues.checked(values))
    }
}
