internal import CSQLCipher
internal import Foundation

/// Refuses SQL that does what the store does itself, or that would break the store's promises.
extension Connection {
    /// Refuses with SQLITE_AUTH what `SQLOrigin` and `PragmaRules` forbid, while a statement is
    /// prepared, and notes which statements control transactions.
    func installAuthorizer() throws {
        let code = sqlite3_set_authorizer(
            try requireHandle(),
            { connection, action, name, argument, database, _ in
                if let connection {
                    let owner = Unmanaged<Connection>.fromOpaque(connection).takeUnretainedValue()
                    if owner.isObserved, owner.observe(action, name, argument, database) {
                        return SQLITE_IGNORE
                    }
                }
                if action == SQLITE_TRANSACTION || action == SQLITE_SAVEPOINT, let connection {
                    Unmanaged<Connection>.fromOpaque(connection).takeUnretainedValue()
                        .authorizer.preparedControl = TransactionControl(action, name, argument)
                    return SQLITE_OK
                }
                guard let connection else { return SQLITE_OK }
                return Unmanaged<Connection>.fromOpaque(connection).takeUnretainedValue()
                    .authorize(action, name, argument, database)
            }, Unmanaged.passUnretained(self).toOpaque())
        try check(code)
    }

    private func authorize(
        _ action: Int32, _ name: UnsafePointer<CChar>?, _ argument: UnsafePointer<CChar>?,
        _ database: UnsafePointer<CChar>?
    ) -> Int32 {
        if let reason = reasonToRefuse(action, name, argument, database) {
            authorizer.refusal = reason
            return SQLITE_DENY
        }
        if action == SQLITE_PRAGMA, argument != nil, let name, authorizer.origin != .library {
            if sqlite3_stricmp(name, "busy_timeout") == 0 { authorizer.setsBusyTimeout = true }
            if sqlite3_stricmp(name, "synchronous") == 0 { authorizer.setsSynchronous = true }
        }
        return SQLITE_OK
    }
}
