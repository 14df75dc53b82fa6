/// Blocks of a queue, or of a pool's writer, that are not inside another one.
extension SecureDatabaseStore {
    /// Runs a block that finds no open transaction and leaves none; with the store's turn.
    ///
    /// Whatever a block writes is committed when its call has succeeded, since no transaction
    /// outlasts it.
    ///
    /// - Throws: What the block throws, after rolling back what it has left open;
    ///   `.backingStoreError` code 21 when it leaves a transaction open without an error, which is
    ///   rolled back, and when one was open before it.
    func runOutermost<T>(
        _ block: (SecureDatabaseStore) throws -> sending T
    ) throws -> sending T {
        if let connection, connection.isInTransaction {
            throw SecureStorageError.statementFailed(
                .misuse,
                "a transaction is open that was begun on the store directly, so nothing could be committed "
                    + "here; commit it or roll it back there first, or begin it in a block of the queue"
            )
        }
        interruption.beginBlock()
        let open = resultSetCount
        nonisolated(unsafe) let value: T
        do {
            value = try block(self)
        } catch {
            // The block's error is the one to report.
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

    /// Runs a block inside another one.
    func runNested<T>(
        _ block: (SecureDatabaseStore) throws -> sending T
    ) throws -> sending T {
        let open = resultSetCount
        defer { closeResultSets(openedAfter: open) }
        return try block(self)
    }

    /// Ends what a block has left open.
    ///
    /// - Returns: Whether there was no transaction among it.
    private func end(openedAfter open: Int) throws -> Bool {
        closeResultSets(openedAfter: open)
        // A block may have closed the store. Not asked whether the store may be used: it may have
        // been suspended.
        guard let connection else { return true }
        // The block has returned in a child that it has made.
        try connection.home.requireCurrent()
        guard connection.isInTransaction else { return true }
        try connection.uninterrupted { try connection.execute("ROLLBACK") }
        return false
    }
}
