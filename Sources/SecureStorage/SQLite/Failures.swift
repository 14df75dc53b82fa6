extension SecureStorageError {
    /// The error for a statement that failed with `code`.
    ///
    /// `sql` is shown, unless it may spell out a key; then SQLite's message may too.
    static func statementFailed(
        _ code: ResultCode, _ reason: String, in sql: String? = nil
    ) -> SecureStorageError {
        var message = reason
        if let sql {
            message =
                SQLText.holdsKey(sql)
                ? "a statement with a key failed" : "\(reason); in: \(SQLText.forMessage(sql))"
        }
        if let name = code.name { message += " [\(name)]" }
        return .backingStoreError(code: Int(code.primary.rawValue), message: message)
    }

    /// The error for what SQLite itself reports, with a hint where its message has none.
    static func engineFailed(
        _ code: ResultCode, _ message: String, in sql: String? = nil
    ) -> SecureStorageError {
        statementFailed(code, code.hint.map { "\(message); \($0)" } ?? message, in: sql)
    }

    /// The error for a statement that has met a page whose HMAC fails.
    static func damagedPage(in sql: String?) -> SecureStorageError {
        statementFailed(.corrupt, "the file is damaged: a page is not as it was written", in: sql)
    }

    /// The error for a statement that was ended while it waited for a lock.
    static func interruptedWait(in sql: String?) -> SecureStorageError {
        statementFailed(.interrupted, "interrupted while it waited for a lock", in: sql)
    }
}
