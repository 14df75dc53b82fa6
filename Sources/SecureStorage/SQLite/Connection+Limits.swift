internal import CSQLCipher

extension Connection {
    func limit(_ limit: SecureDatabaseLimit) -> Int {
        handle.map { Int(sqlite3_limit($0, limit.code, -1)) } ?? 0
    }

    /// Sets the limit and returns its previous value.
    ///
    /// - Throws: `.backingStoreError` code `.range` for a value that SQLite would not accept
    ///   unchanged; the limit then stays as it was.
    func setLimit(_ limit: SecureDatabaseLimit, to value: Int) throws -> Int {
        guard let number = Int32(exactly: value), number >= 0 else { throw outOfRange(limit, nil) }
        // With less, a transaction could neither be committed nor rolled back.
        guard limit != .sqlLength || number >= 1000 else { throw outOfRange(limit, 1000) }
        let handle = try requireHandle()
        let previous = sqlite3_limit(handle, limit.code, number)
        let actual = sqlite3_limit(handle, limit.code, -1)
        guard actual == number else {
            sqlite3_limit(handle, limit.code, previous)
            throw outOfRange(limit, actual)
        }
        return Int(previous)
    }

    private func outOfRange(_ limit: SecureDatabaseLimit, _ nearest: Int32?) -> SecureStorageError {
        let hint = nearest.map { "; the nearest is \($0)" } ?? ""
        return .statementFailed(.range, "the limit \(limit) cannot have this value\(hint)")
    }
}

extension SecureDatabaseLimit {
    fileprivate var code: Int32 {
        switch self {
        case .length: SQLITE_LIMIT_LENGTH
        case .sqlLength: SQLITE_LIMIT_SQL_LENGTH
        case .columnCount: SQLITE_LIMIT_COLUMN
        case .expressionDepth: SQLITE_LIMIT_EXPR_DEPTH
        case .compoundSelectCount: SQLITE_LIMIT_COMPOUND_SELECT
        case .programLength: SQLITE_LIMIT_VDBE_OP
        case .functionArgumentCount: SQLITE_LIMIT_FUNCTION_ARG
        case .attachedDatabaseCount: SQLITE_LIMIT_ATTACHED
        case .likePatternLength: SQLITE_LIMIT_LIKE_PATTERN_LENGTH
        case .parameterNumber: SQLITE_LIMIT_VARIABLE_NUMBER
        case .triggerDepth: SQLITE_LIMIT_TRIGGER_DEPTH
        case .workerThreadCount: SQLITE_LIMIT_WORKER_THREADS
        }
    }
}
