// For apps that migrate from FMDB and hold their values as `Any`. The compiler prefers the other
// `executeUpdate(_:values:)` wherever it can verify that all values can be bound.

extension SecureDatabaseStore {
    /// Runs one statement with values of any type for its `?` placeholders, like FMDB's method of
    /// this name.
    ///
    /// Values that the compiler checks elsewhere are checked here at run time.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement.
    ///   - values: One per placeholder, in order. nil, a nested nil and `NSNull` are NULL. Swift's
    ///     types, and types that conform to ``SQLiteDatatypeBridgeable``, are bound as by
    ///     `executeUpdate(_:values:)`; `NSString`, `NSData`, `NSDate`, `NSNumber`, `NSUUID` and
    ///     `NSURL` as their Swift types; `NSDecimalNumber` as TEXT, where FMDB stores a REAL.
    /// - Throws: Same as `executeUpdate(_:values:)`; `.backingStoreError` code `.mismatch`
    ///   for a value of any other type, naming the type and the value's position, where FMDB would
    ///   store the value's description.
    @_disfavoredOverload
    public func executeUpdate(_ sql: String, values: [Any?]) throws {
        try executeUpdate(sql, values: AnyValues.checked(values))
    }

    /// Begins a query with values of any type for its `?` placeholders, like FMDB's method of this
    /// name.
    ///
    /// - Parameters:
    ///   - sql: Exactly one statement that returns columns.
    ///   - values: As for the `executeUpdate(_:values:)` that accepts values of any type.
    /// - Returns: The rows.
    /// - Throws: Same as that method and `executeQuery(_:values:)`.
    @_disfavoredOverload
    public func executeQuery(_ sql: String, values: [Any?]) throws -> SecureDatabaseResultSet {
        try executeQuery(sql, values: AnyValues.checked(values))
    }
}
