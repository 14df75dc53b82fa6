// The blocks of `read` and `write`, on the connection that runs them.

extension SecureDatabaseStore {
    /// Runs `block` in an immediate transaction, or in a savepoint if the caller has begun a
    /// transaction.
    func inImmediateTransaction<T>(
        _ block: (SecureDatabaseStore) throws -> sending T
    ) throws -> sending T {
        try inTransaction(.immediate, committing: true, block)
    }

    /// Runs `block` in a read-only transaction; inside another transaction, as part of it.
    ///
    /// - Throws: What the block throws; `.backingStoreError` code `.readOnly` for a
    ///   statement that writes.
    func inReadBlock<T>(
        _ block: (SecureDatabaseStore) throws -> sending T
    ) throws -> sending T {
        let connection = try workingConnection()
        guard !connection.isInTransaction else { return try runNested(block) }
        connection.authorizer.refusesWrites = true
        defer { connection.authorizer.refusesWrites = false }
        return try inTransaction(.deferred, committing: false, block)
    }

    /// Whether a statement may write now: not in a block of `read`.
    var canWrite: Bool {
        !configuration.isReadOnly && connection?.authorizer.refusesWrites != true
    }

    /// - Throws: `.backingStoreError` code `.misuse` inside a block of `read`.
    func requireOutsideReadBlock() throws {
        guard connection?.authorizer.refusesWrites != true else {
            throw SecureStorageError.writeInsideRead
        }
    }

    private func inTransaction<T>(
        _ kind: TransactionKind, committing: Bool,
        _ block: (SecureDatabaseStore) throws -> sending T
    ) throws -> sending T {
        nonisolated(unsafe) var outcome: T?
        try inTransaction(kind) { store in
            outcome = try block(store)
            return !committing
        }
        guard let outcome else {
            preconditionFailure("inTransaction did not run its block")
        }
        nonisolated(unsafe) let value = outcome
        return value
    }
}

extension SecureStorageError {
    static let writeInsideRead = SecureStorageError.statementFailed(
        .misuse,
        "a write inside a read of the same queue or pool would wait for itself or break the read's "
            + "snapshot; end the read first")
}
