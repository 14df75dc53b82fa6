internal import CSQLCipher
internal import Foundation

// What a step that failed, or that has met a damaged page without saying so, is reported as.

extension Statement {
    /// Runs a statement that has ended without a row once more, in a transaction, where a damaged
    /// page cannot go unnoticed.
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
                hasReadPages: connection.hasReadPages(), isFirstStep: false, isAtEnd: false,
                isQuery: true)
        else { throw damagedPage() }
        return false
    }

    /// Whether a step that has failed without a reason failed for a damaged page: the pager still
    /// says so in a transaction, so outside of one the statement is run once more inside.
    private func meetsDamagedPage() throws -> Bool {
        if connection.isInTransaction { return !connection.isPagerSound() }
        sqlite3_reset(handle)
        guard (try? connection.execute("BEGIN")) != nil else { return false }
        defer { connection.uninterrupted { try? connection.execute("ROLLBACK") } }
        let code = try advance()
        // It ends the transaction of a statement that writes, which is no damage.
        guard code & 0xff != SQLITE_INTERRUPT else { throw connection.failure(code, sql: sql) }
        // Of every page, damaged or not, once SQLCipher 4.9 has met a damaged one.
        if code & 0xff == SQLITE_NOMEM { return connection.hasDamagedPage() }
        // What writes cannot even be rolled back as a statement then, and the transaction goes with
        // it.
        return !connection.isInTransaction || !connection.isPagerSound()
    }

    func damagedPage() -> SecureStorageError {
        connection.foreignRekey(.corrupt, "") ?? .damagedPage(in: sql)
    }

    func stepFailure(_ code: Int32) -> SecureStorageError {
        guard let database = connection.handle else { return .closed }
        // Of this failure only: the engine may say the same words of the next one.
        let functionMessage = connection.callbacks.functionMessage
        connection.callbacks.functionMessage = nil
        let code = ResultCode(code)
        if let ended = connection.interrupted(code, sql) { return ended }
        if let refused = connection.refused(code, sql) { return refused }
        var reason = String(cString: sqlite3_errmsg(database))
        if let foreignRekey = connection.foreignRekey(code, reason) { return foreignRekey }
        if code == .noMemory, connection.hasDamagedPage() { return damagedPage() }
        // The app's own words need no hint, and may have quotation marks.
        let isOwn = reason == functionMessage
        if code == .error, !isOwn {
            // SQLCipher says no more when a page's HMAC fails, nor do some virtual tables.
            if reason == "SQL logic error", connection.hasReadPages() {
                do {
                    if try meetsDamagedPage() { return damagedPage() }
                } catch let error as SecureStorageError {
                    return error
                } catch {
                    return .statementFailed(code, "the statement failed", in: sql)
                }
            }
            // Functions and virtual tables quote what they were given, from values or from rows.
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
