extension SecureDatabaseStore {
    /// Returns the current value of a limit.
    ///
    /// - Parameter limit: The limit to read.
    /// - Returns: The value, in the unit of the limit.
    /// - Throws: `.closed`.
    ///
    /// The corresponding C function is [`sqlite3_limit`](https://sqlite.org/c3ref/limit.html).
    public func limit(_ limit: SecureDatabaseLimit) throws -> Int {
        try openConnection().limit(limit)
    }

    /// Sets a limit for later statements, also after this store is closed and opened again.
    ///
    /// - Parameters:
    ///   - limit: The limit to set.
    ///   - value: From 0 to the maximum that the engine was built with.
    /// - Returns: The previous value.
    /// - Throws: `.closed`; `.backingStoreError` code `.range` for a negative value and
    ///   for one that the engine would replace with its own bound.
    ///
    /// The corresponding C function is [`sqlite3_limit`](https://sqlite.org/c3ref/limit.html).
    @discardableResult
    public func setLimit(_ limit: SecureDatabaseLimit, to value: Int) throws -> Int {
        let previous = try openConnection().setLimit(limit, to: value)
        extensions.limits[limit] = value
        return previous
    }
}
