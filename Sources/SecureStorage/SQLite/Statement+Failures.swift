internal import CSQLCipher
internal import Foundation

// Maps a step that failed, or that met a damaged page without reporting it, to an error.

extension Statement {
    func repeatedColumn(_ name: String) -> SecureStorageError {
        .statementFailed(
            .misuse,
            "several columns are named \"\(name)\"; select those that are meant, or give them other "
                + "names with AS", in: sql)
    }

    /// Repeats a statement that has ended without a row, in a transaction, where a damaged page
    /// cannot go unnoticed.
    func repeatInTransaction() throws -> Bool {
        sqlite3_reset(handle)
        try connection.execute("BEGIN")
        defer { connection.uninterrupted { try? connection.execute("ROLLBACK") } }
        let code = try advance()
        guard code == SQLITE_DONE else {
            throw code == SQLITE_ROW ? damagedPage() : stepFailure(code)
        }
        guard
            case .sound = connection.verdict(
                hasReadPages: connection.noteReadPages(), isFirstStep: false, isAtEnd: false,
                isQuery: true)
        else { throw damagedPage() }
        return false
    }

    /// Returns whether a step that failed without a reason failed because of a damaged page.
    ///
    /// In a transaction the pager still shows this; outside, the statement is run once more in one.
    private func meetsDamagedPage() throws -> Bool {
        if connection.isInTransaction { return !connection.probePagers() }
        sqlite3_reset(handle)
        guard (try? connection.execute("BEGIN")) != nil else { return false }
        defer { connection.uninterrupted { try? connection.execute("ROLLBACK") } }
        let code = try advance()
        // An interruption ends the transaction of a writing statement, which is not damage.
        guard code & 0xff != SQLITE_INTERRUPT else { throw connection.failure(code, sql: sql) }
        // Once SQLCipher 4.9 has met a damaged page, it reports this for every page, damaged or
        // not.
        if code & 0xff == SQLITE_NOMEM { return connection.findDamagedPage() }
        // A writing statement then cannot even be rolled back alone, so the transaction ends with
        // it.
        return !connection.isInTransaction || !connection.probePagers()
    }

    func damagedPage() -> SecureStorageError { connection.damagedPage(in: sql) }

    func stepFailure(_ code: Int32) -> SecureStorageError {
        guard let database = connection.handle else { return .closed }
        // For this failure only: the engine may use the same words for the next one.
        let functionMessage = connection.callbacks.functionMessage
        connection.callbacks.functionMessage = nil
        let code = ResultCode(code)
        if let ended = connection.interrupted(code, sql) { return ended }
        if let refused = connection.refused(code, sql) { return refused }
        var reason = String(cString: sqlite3_errmsg(database))
        if let foreignRekey = connection.foreignRekey(code, reason) { return foreignRekey }
        if let failed = connection.failedTokenizer(code, reason, sql) { return failed }
        if let failed = connection.pageFailure(code, sql) { return failed }
        // The app's own words need no hint, and may have quotation marks.
        let isOwn = reason == functionMessage
        if code == .error, !isOwn {
            // SQLCipher reports nothing more when a page's HMAC fails, nor do some virtual tables.
            if reason == "SQL logic error", connection.noteReadPages() {
                do {
                    if try meetsDamagedPage() { return damagedPage() }
                } catch let error as SecureStorageError {
                    return error
                } catch {
                    return .statementFailed(code, "the statement failed", in: sql)
                }
            }
            // Functions and virtual tables quote their input, from values or from rows.
            reason = SQLText.withoutQuotations(reason)
        }
        let hint = isOwn ? nil : code.hint
        guard hasBoundValues, !connection.isOfSchema(reason, code) else {
            return .engineFailed(code, reason, hint, in: sql)
        }
        // nil when the values are too large to be filled in: then nothing of the message is safe.
        guard let expanded = sqlite3_expanded_sql(handle) else {
            return .statementFailed(code, "the statement failed", in: sql)
        }
        defer { sqlite3_free(expanded) }
        let safe = SQLText.redact(reason, sql: sql, expanded: String(cString: expanded))
        return .engineFailed(code, safe, hint, in: sql)
    }
}
