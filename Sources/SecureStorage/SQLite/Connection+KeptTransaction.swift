internal import CSQLCipher

extension Connection {
    /// Runs `body`, in which no statement can begin or end a transaction or a savepoint, but for the
    /// savepoints of the library's own blocks.
    ///
    /// Refused while it is prepared, so before anything is committed that should not be.
    func keepingTransaction<R>(_ body: () throws -> R) throws -> R {
        callbacks.refusedTransaction = false
        callbacks.keepsTransaction = true
        defer { callbacks.keepsTransaction = false }
        // Setting an authorizer lets SQLite prepare each statement anew at its next run: a COMMIT that is
        // kept from earlier is asked about as well.
        try installAuthorizer()
        return try body()
    }

    /// Whether something was refused since `keepingTransaction` began.
    var refusedTransaction: Bool { callbacks.refusedTransaction }

    /// What the authorizer says to a statement that begins or ends a transaction or a savepoint.
    func authorize(transaction action: Int32, savepoint name: UnsafePointer<CChar>?) -> Int32 {
        guard callbacks.keepsTransaction,
            action == SQLITE_TRANSACTION
                || name.map({ String(cString: $0) }) != SecureDatabaseStore.blockSavepoint
        else { return SQLITE_OK }
        callbacks.refusedTransaction = true
        return SQLITE_DENY
    }
}
