/// Runs the blocks of a queue or of a pool's writer, outermost and nested.
extension SecureDatabaseStore {
    /// Runs a block that starts without an open transaction and must leave none open.
    ///
    /// The caller holds the store's turn. Everything a block writes is committed once its call has
    /// succeeded, since no transaction outlives it.
    ///
    /// - Throws: Any error thrown by the block, after rolling back the transaction it left open;
    ///   `.backingStoreError` code `.misuse` when a transaction was already open, or when the block
    ///   leaves one open without throwing, which is rolled back.
    func runOutermost<T>(
        _ block: (SecureDatabaseStore) throws -> sending T
    ) throws -> sending T {
        if let connection {
            guard !connection.isInTransaction else {
                throw SecureStorageError.statementFailed(
                    .misuse,
                    "a transaction begun directly on the store is open, so this block could not commit; "
                        + "commit it or roll it back there first, or begin it in a block of the queue"
                )
            }
            connection.noteTurnWait(turn.waitTime)
        }
        interruption.beginBlock()
        let open = session.resultSetCount
        nonisolated(unsafe) let value: T
        do {
            value = try block(self)
        } catch {
            // The block's error takes precedence.
            _ = try? end(openedAfter: open)
            throw error
        }
        guard try end(openedAfter: open) else {
            throw SecureStorageError.statementFailed(
                .misuse,
                "the block left a transaction open, which was rolled back; commit it in the block")
        }
        return value
    }

    /// Runs a block inside another block.
    func runNested<T>(
        _ block: (SecureDatabaseStore) throws -> sending T
    ) throws -> sending T {
        let open = session.resultSetCount
        defer { closeResultSets(openedAfter: open) }
        return try block(self)
    }

    /// Ends the result sets and the transaction that a block has left open.
    ///
    /// - Returns: Whether no transaction was open.
    private func end(openedAfter open: Int) throws -> Bool {
        closeResultSets(openedAfter: open)
        // A block might have closed the store. Suspension is deliberately not checked: the store
        // might have been suspended in the meantime.
        guard let connection else { return true }
        // Fails if the block forked and has returned in the child.
        try connection.home.requireCurrent()
        guard connection.isInTransaction else { return true }
        try connection.uninterrupted { try connection.execute("ROLLBACK") }
        return false
    }
}
