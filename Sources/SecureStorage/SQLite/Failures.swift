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
        if let sql, let failure = attachFailed(code, in: sql) { return failure }
        return statementFailed(code, code.hint.map { "\(message); \($0)" } ?? message, in: sql)
    }

    /// The error for a file that cannot be attached; nil for other statements, and where SQLite's message says enough.
    ///
    /// Names the file where its path stands in the statement, of which nothing else is shown: a bound path is a value.
    private static func attachFailed(_ code: ResultCode, in sql: String) -> SecureStorageError? {
        guard let file = SQLText.attachedFile(in: sql) else { return nil }
        let name = file.path.map { "\"\($0)\"" } ?? "the file"
        switch code.primary {
        case .notADatabase:
            return statementFailed(
                code,
                "cannot attach \(name): the key does not open it. A file has a salt of its own, so that "
                    + "the key of this one fits no other, whatever the passphrase: give the passphrase, or x'…' "
                    + "around a raw key, with ATTACH ? AS name KEY ?. The file has to have SQLCipher 4's default "
                    + "settings")
        case .cannotOpen where SQLText.holdsKey(sql):
            return statementFailed(code, "cannot attach \(name): it cannot be opened or made")
        default: return nil
        }
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
