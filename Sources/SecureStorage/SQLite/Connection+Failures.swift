internal import CSQLCipher

// Maps a failed call of SQLite to an error.

extension Connection {
    /// Returns the error for `code`, with the message of the last call on this connection.
    func failure(_ code: Int32, sql: String? = nil) -> SecureStorageError {
        let code = ResultCode(code)
        if let ended = interrupted(code, sql) { return ended }
        if let refused = refused(code, sql) { return refused }
        let reason = handle.map { message(for: code, on: $0) } ?? "the store is closed"
        if let foreignRekey = foreignRekey(code, reason) { return foreignRekey }
        if let failed = failedTokenizer(code, reason, sql) { return failed }
        if let failed = pageFailure(code, sql) { return failed }
        return .engineFailed(code, reason, code.hint, in: sql)
    }

    /// Returns the message of the last call, or the code's own if that call had another outcome.
    private func message(for code: ResultCode, on handle: OpaquePointer) -> String {
        let isOfLastCall = ResultCode(sqlite3_errcode(handle)).primary == code.primary
        return String(
            cString: isOfLastCall
                ? sqlite3_errmsg(handle) : sqlite3_errstr(Int32(code.primary.rawValue)))
    }

    /// Returns the error for a statement that the authorizer has refused; nil for all others.
    ///
    /// SQLite's code is SQLITE_AUTH, but SQLITE_ERROR for functions.
    func refused(_ code: ResultCode, _ sql: String?) -> SecureStorageError? {
        guard [.notAuthorized, .error].contains(code.primary), let reason = authorizer.refusal
        else {
            return nil
        }
        authorizer.refusal = nil
        // The reason may be shown where the statement and SQLite's message about it may not.
        let shown = sql.flatMap { SQLText.holdsKey($0) ? nil : $0 }
        return .statementFailed(.notAuthorized, reason, in: shown)
    }

    /// Returns the error where a page is the cause of a failure whose code says another; nil
    /// otherwise.
    func pageFailure(_ code: ResultCode, _ sql: String?) -> SecureStorageError? {
        if code == .noMemory, findDamagedPage() { return .damagedPage(in: sql) }
        if code.primary == .corrupt, findUnreadPage() { return .unreadPage(in: sql) }
        return nil
    }
}
