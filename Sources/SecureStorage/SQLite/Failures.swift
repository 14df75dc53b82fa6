extension SecureStorageError {
    /// Returns the error for a statement that failed with `code`.
    ///
    /// `sql` is shown, unless it may spell out a key; then SQLite's message, which may do so too,
    /// is hidden as well. The message ends with the text that `ErrorTrailer` reads back.
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
        return .backingStoreError(code: code.primary.rawValue, message: message)
    }

    /// Returns the error for a failure that SQLite reports, with a hint where its message has none.
    static func engineFailed(
        _ code: ResultCode, _ message: String, _ hint: String?, in sql: String? = nil
    ) -> SecureStorageError {
        if let sql, let failure = attachFailed(code, in: sql) { return failure }
        return statementFailed(code, hint.map { "\(message); \($0)" } ?? message, in: sql)
    }

    /// Returns the error for a file that cannot be attached; nil for other statements, and where
    /// SQLite's message is sufficient.
    ///
    /// It names the file if its path is written in the statement. It shows nothing else of the
    /// statement: a bound path is a value.
    private static func attachFailed(_ code: ResultCode, in sql: String) -> SecureStorageError? {
        guard let file = SQLText.attachedFile(in: sql) else { return nil }
        let name = file.path.map { "\"\($0)\"" } ?? "the file"
        switch code.primary {
        case .notADatabase:
            return statementFailed(
                code,
                "cannot attach \(name): the key does not open it. Each file has its own salt, so the "
                    + "derived key of this one fits no other, whatever the passphrase: pass the passphrase, or x'…' "
                    + "around a raw key, with ATTACH ? AS name KEY ?. The file must have SQLCipher 4's default "
                    + "settings")
        case .cannotOpen where SQLText.holdsKey(sql):
            return statementFailed(code, "cannot attach \(name): it cannot be opened or created")
        default: return nil
        }
    }

    /// Returns the error for a statement that has met a page whose HMAC fails.
    static func damagedPage(in sql: String?) -> SecureStorageError {
        statementFailed(.corrupt, "the file is damaged: a page is not as it was written", in: sql)
    }

    /// Returns the error for a page that the disk did not return.
    static func unreadPage(in sql: String?) -> SecureStorageError {
        statementFailed(
            .ioError,
            "the disk did not return a page; what it returns of the file is as it was written, so "
                + "try again, and check the disk", in: sql)
    }

    /// Returns the error for a statement, or a call, that was ended before its time.
    ///
    /// - Parameters:
    ///   - cause: What ended it.
    ///   - isWait: Whether it was waiting for a lock.
    ///   - sql: The statement.
    /// - Returns: `.suspended`, or an error with code `.interrupted`.
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
