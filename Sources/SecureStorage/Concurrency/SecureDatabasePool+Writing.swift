extension SecureDatabasePool {
    /// Runs `block` in a transaction that is committed at its end.
    ///
    /// Writers wait for each other, in the order of arrival, and for no reader. The transaction is
    /// an immediate one: it excludes other writers from its beginning.
    ///
    /// Inside a write of this pool it runs at once, in a savepoint when there is a transaction
    /// already. The transaction is ended by what the block returns or throws only: `COMMIT` and
    /// `ROLLBACK` are refused in it.
    ///
    /// - Parameter block: Runs on the calling thread.
    /// - Returns: What the block returns.
    /// - Throws: What the block throws, after rolling back; `.backingStoreError` when the
    ///   transaction cannot begin (code 5: another process holds the lock) or cannot be committed,
    ///   after rolling back, and with code 21 inside a `read` of this pool; `.closed`.
    public func write<T>(
        _ block: (SecureDatabaseStore) throws -> sending T
    ) throws -> sending T {
        try performWrite { try $0.inImmediateTransaction(block) }
    }

    /// Runs `block` in a transaction; for a block that is a function or a variable.
    ///
    /// Otherwise as the `write(_:)` for a closure.
    ///
    /// - Parameter block: Runs on the calling thread.
    /// - Returns: What the block returns.
    /// - Throws: As there.
    @_disfavoredOverload
    public func write<T: Sendable>(
        _ block: (SecureDatabaseStore) throws -> T
    ) throws -> T {
        try performWrite { try $0.inImmediateTransaction { try block($0) } }
    }

    /// Runs `block` with the writer, without a transaction around it.
    ///
    /// For VACUUM and other statements that cannot run in one, and for a block that begins and ends
    /// several. Inside a `write` of this pool it runs at once, in the transaction of that.
    ///
    /// - Parameter block: Runs on the calling thread.
    /// - Returns: What the block returns.
    /// - Throws: What the block throws; `.backingStoreError` code 21 when it leaves a transaction
    ///   open, which is rolled back, and inside a `read` of this pool; `.closed`.
    public func writeWithoutTransaction<T>(
        _ block: (SecureDatabaseStore) throws -> sending T
    ) throws -> sending T {
        try performWrite(block)
    }

    /// Runs `block` with the writer; for a block that is a function or a variable.
    ///
    /// Otherwise as the `writeWithoutTransaction(_:)` for a closure.
    ///
    /// - Parameter block: Runs on the calling thread.
    /// - Returns: What the block returns.
    /// - Throws: As there.
    @_disfavoredOverload
    public func writeWithoutTransaction<T: Sendable>(
        _ block: (SecureDatabaseStore) throws -> T
    ) throws -> T {
        try performWrite { try block($0) }
    }

    /// Moves the write-ahead log into the file.
    ///
    /// Writers wait meanwhile. All modes but `.passive` wait for the readers, as long as the busy
    /// timeout says.
    ///
    /// - Parameters:
    ///   - mode: How far to go.
    ///   - database: The name of an attached database, `"main"`, or nil for all of them.
    /// - Returns: The frames of the log, and those of them that are in the file now.
    /// - Throws: as `SecureDatabaseStore.checkpoint(_:database:)`; so inside a `write` code 6, and
    ///   inside a `read` code 21.
    @discardableResult
    public func checkpoint(
        _ mode: CheckpointMode = .passive, database: String? = nil
    ) throws -> (logFrames: Int, checkpointedFrames: Int) {
        try performWrite { try $0.checkpoint(mode, database: database) }
    }

    private func performWrite<T>(
        _ block: (SecureDatabaseStore) throws -> sending T
    ) throws -> sending T {
        try requireHome()
        if let outer = PoolBlock.current(of: self) {
            guard outer.kind != .reading else {
                throw SecureStorageError.statementFailed(
                    .misuse,
                    "a write inside a read of the same pool would wait for itself or break the "
                        + "read's snapshot; end the read first")
            }
            return try runInside(outer, block)
        }
        return try writeInTurn(block)
    }

    /// Runs `block` with the writer when it is its turn.
    func writeInTurn<T>(
        _ block: (SecureDatabaseStore) throws -> sending T
    ) throws -> sending T {
        try connections.withWriter { writer in
            try prepareWriter(writer)
            return try PoolBlock.run(.writing, of: self, on: writer) {
                try writer.runOutermost(block)
            }
        }
    }
}

extension SecureDatabaseStore {
    /// Runs `block` in an immediate transaction, or in a savepoint when the caller has begun a
    /// transaction.
    func inImmediateTransaction<T>(
        _ block: (SecureDatabaseStore) throws -> sending T
    ) throws -> sending T {
        nonisolated(unsafe) var outcome: T?
        try inTransaction(.immediate) { store in
            outcome = try block(store)
            return false
        }
        guard let outcome else {
            preconditionFailure("inTransaction did not run its block")
        }
        nonisolated(unsafe) let value = outcome
        return value
    }
}
