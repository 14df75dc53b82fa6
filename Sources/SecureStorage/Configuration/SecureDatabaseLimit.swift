/// A bound on what statements may demand of the engine, as a defence against hostile SQL or data.
///
/// SQLite's [list of limits](https://sqlite.org/limits.html) gives the meaning and maximum of each;
/// the names in parentheses are SQLite's.
public enum SecureDatabaseLimit: String, Sendable, CaseIterable {
    /// Bytes of a text, blob or row (`SQLITE_LIMIT_LENGTH`); newer engines accept none below 30.
    case length
    /// Bytes of a statement (`SQLITE_LIMIT_SQL_LENGTH`); at least 1000 here.
    case sqlLength
    /// Columns of a table, an index, a result or an expression list (`SQLITE_LIMIT_COLUMN`).
    case columnCount
    /// Depth of the parse tree of an expression (`SQLITE_LIMIT_EXPR_DEPTH`); 0 is unlimited.
    case expressionDepth
    /// Terms of a compound SELECT such as a UNION (`SQLITE_LIMIT_COMPOUND_SELECT`).
    case compoundSelectCount
    /// Instructions of a prepared statement (`SQLITE_LIMIT_VDBE_OP`).
    case programLength
    /// Arguments of a function (`SQLITE_LIMIT_FUNCTION_ARG`).
    case functionArgumentCount
    /// Attached databases (`SQLITE_LIMIT_ATTACHED`).
    case attachedDatabaseCount
    /// Bytes of the pattern of LIKE and GLOB (`SQLITE_LIMIT_LIKE_PATTERN_LENGTH`).
    case likePatternLength
    /// The highest placeholder number (`SQLITE_LIMIT_VARIABLE_NUMBER`).
    case parameterNumber
    /// Depth of triggers that fire each other (`SQLITE_LIMIT_TRIGGER_DEPTH`).
    case triggerDepth
    /// Helper threads of a statement (`SQLITE_LIMIT_WORKER_THREADS`); 0, the default, means none.
    case workerThreadCount
}
