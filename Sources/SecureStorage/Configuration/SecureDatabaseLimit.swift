/// A bound on what statements may ask of the engine, against hostile SQL or data.
///
/// The meaning and the highest value of each stand in SQLite's
/// [list of limits](https://sqlite.org/limits.html); the names in parentheses are its own.
public enum SecureDatabaseLimit: String, Sendable, CaseIterable {
    /// Bytes of a text, a blob or a row (`SQLITE_LIMIT_LENGTH`); newer engines take none below 30.
    case length
    /// Bytes of a statement (`SQLITE_LIMIT_SQL_LENGTH`); not less than 1000 here.
    case sqlLength
    /// Columns of a table, an index, a result or an expression list (`SQLITE_LIMIT_COLUMN`).
    case columnCount
    /// Depth of the parse tree of an expression (`SQLITE_LIMIT_EXPR_DEPTH`); 0 is unlimited.
    case expressionDepth
    /// Terms of a UNION and the like (`SQLITE_LIMIT_COMPOUND_SELECT`).
    case compoundSelectCount
    /// Instructions of a prepared statement (`SQLITE_LIMIT_VDBE_OP`).
    case programLength
    /// Arguments of a function (`SQLITE_LIMIT_FUNCTION_ARG`).
    case functionArgumentCount
    /// Attached databases (`SQLITE_LIMIT_ATTACHED`).
    case attachedDatabaseCount
    /// Bytes of the pattern of LIKE and GLOB (`SQLITE_LIMIT_LIKE_PATTERN_LENGTH`).
    case likePatternLength
    /// The highest number of a placeholder (`SQLITE_LIMIT_VARIABLE_NUMBER`).
    case parameterNumber
    /// Triggers that start each other (`SQLITE_LIMIT_TRIGGER_DEPTH`).
    case triggerDepth
    /// Helper threads of a statement (`SQLITE_LIMIT_WORKER_THREADS`); 0, the default, is none.
    case workerThreadCount
}

extension SecureDatabaseStore {
    /// The current value of a limit.
    ///
    /// - Parameter limit: Which one.
    /// - Returns: A number of what the limit counts.
    /// - Throws: `.closed`.
    ///
    /// The corresponding C function is [`sqlite3_limit`](https://sqlite.org/c3ref/limit.html).
    public func limit(_ limit: SecureDatabaseLimit) throws -> Int {
        try openConnection().limit(limit)
    }

    /// Sets a limit for the statements from now on, also after closing and opening this store
    /// again.
    ///
    /// - Parameters:
    ///   - limit: Which one.
    ///   - value: From 0 to the highest value that the engine was built for.
    /// - Returns: The value until now.
    /// - Throws: `.closed`; `.backingStoreError` code 25 (SQLITE_RANGE) for a negative value and
    ///   one that the engine would replace with its own bound.
    ///
    /// The corresponding C function is [`sqlite3_limit`](https://sqlite.org/c3ref/limit.html).
    @discardableResult
    public func setLimit(_ limit: SecureDatabaseLimit, to value: Int) throws -> Int {
        let previous = try openConnection().setLimit(limit, to: value)
        extensions.limits[limit] = value
        return previous
    }
}
