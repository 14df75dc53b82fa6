extension SecureDatabaseStore {
    /// Begins a transaction that sees the file as it is now, until its end.
    ///
    /// No interruption stops it half way, because the block has not begun.
    ///
    /// - Throws: `.backingStoreError`; the connection should then be discarded.
    func beginSnapshot() throws {
        let connection = try openConnection()
        interruption.beginBlock()
        try connection.uninterrupted {
            try connection.execute("BEGIN DEFERRED")
            // BEGIN alone takes no snapshot; the first read does.
            try connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1")
        }
        // A block that ends the transaction gets an error, not another snapshot.
        session.transactionBlocks.begin()
    }

    /// Ends the transaction of `beginSnapshot()` and closes what its block left open.
    ///
    /// Always rolls back: only temporary tables can have changed.
    ///
    /// - Returns: Whether the connection can be used for another snapshot.
    func endSnapshot() -> Bool {
        session.transactionBlocks.end()
        closeOpenResultSets()
        // The block may have closed the store, and even opened it again.
        guard let connection, session.generation == 1 else { return false }
        if connection.isInTransaction {
            connection.uninterrupted { try? connection.execute("ROLLBACK") }
        }
        return !connection.isInTransaction
    }
}
