extension SecureStorageError {
    /// The error for a statement that failed with `code`.
    ///
    /// `sql` is shown, unless it may spell out a key; then SQLite's message may too. The message ends with
    /// what `ErrorTrailer` reads back.
    static func statementFailed(
        _ code: ResultCode, _ reason: String, in sql: String? = nil,
        by interruption: SecureDatabaseInterruption? = nil
    ) -> SecureStorageError {
        var message = reason
        if let sql {
            message =
                SQLText.holdsKey(sql)
                ? "a statement with a key failed" : "\(reason); in: \(SQLText.forMessage(sql))"
        }
        message += " " + ErrorTrailer(code: code, interruption: interruption).text
        return .backingStoreError(code: Int(code.primary.rawValue), message: message)
    }

    /// The error for what SQLite itself reports, with a hint where its message has none.
    static func engineFailed(
        _ code: ResultCode, _ message: String, _ hint: String?, in sql: String? = nil
    ) -> SecureStorageError {
        statementFailed(code, hint.map { "\(message); \($0)" } ?? message, in: sql)
    }

    /// The error for a statement, or a call, that was ended before its time.
    ///
    /// - Parameters:
    ///   - cause: By what.
    ///   - isWait: Whether it waited for a lock.
    ///   - sql: The statement.
    /// - Returns: `.suspended`, or an error with code 9.
    static func ended(
        by cause: SecureDatabaseInterruption, whileWaiting isWait: Bool = false,
        in sql: String? = nil
    ) -> SecureStorageError {
        // The app repeats it after the suspension, whether it had begun or not.
        guard cause != .suspension else { return .suspended }
        let reason =
            switch cause {
            case .deadline: "the deadline of the call has passed"
            case .cancellation: "the task of the call was cancelled"
            case .request, .suspension: "interrupted"
            }
        return statementFailed(
            .interrupted, isWait ? reason + " while it waited for a lock" : reason, in: sql,
            by: cause)
    }
}
