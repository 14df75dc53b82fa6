extension SecureDatabaseStore {
    /// Begins a transaction that excludes other writers, and outside WAL mode also readers.
    ///
    /// - Throws: `.closed`; `.backingStoreError` code 5 (SQLITE_BUSY) when another connection holds
    ///   a lock for longer than the busy timeout, code 1 inside a transaction.
    public func beginExclusiveTransaction() throws {
        try execute("BEGIN EXCLUSIVE")
    }

    /// Begins a transaction that takes no lock before it is needed.
    ///
    /// Its first write can throw code 5 (SQLITE_BUSY) at once when another connection has written
    /// since its first read; use an exclusive transaction for reading and then writing.
    ///
    /// - Throws: `.closed`; `.backingStoreError` code 1 inside a transaction.
    public func beginDeferredTransaction() throws {
        try execute("BEGIN DEFERRED")
    }

    /// Makes the changes of the transaction durable and visible to others.
    ///
    /// - Throws: `.closed`; `.backingStoreError`, code 1 outside a transaction. After code 5
    ///   (SQLITE_BUSY) the transaction is still open and `commit` can be tried again.
    public func commit() throws {
        try workingConnection().logChanges()
        try execute("COMMIT")
    }

    /// Takes back the changes of the transaction.
    ///
    /// A result set that is open may end with an error then.
    ///
    /// - Throws: `.closed`; `.backingStoreError`, code 1 outside a transaction.
    public func rollback() throws {
        try execute("ROLLBACK")
    }

    /// Whether a transaction has begun that is neither committed nor rolled back.
    ///
    /// - Returns: The opposite of SQLite's autocommit mode.
    /// - Throws: `.closed`.
    ///
    /// The corresponding C function is
    /// [`sqlite3_get_autocommit`](https://sqlite.org/c3ref/get_autocommit.html).
    public func isInTransaction() throws -> Bool {
        try openConnection().isInTransaction
    }

    private func execute(_ sql: String) throws {
        try openConnection().execute(sql)
    }

    /// How a block's transaction begins.
    enum TransactionKind: String {
        case exclusive = "BEGIN EXCLUSIVE"
        case immediate = "BEGIN IMMEDIATE"
        case deferred = "BEGIN DEFERRED"
    }

    /// Runs `block` in a transaction, or in a savepoint when there is a transaction already.
    ///
    /// Rolls back when the block returns true, throws, or the commit fails; then throws the error.
    func inTransaction(
        _ kind: TransactionKind, _ block: (SecureDatabaseStore) throws -> Bool
    ) throws {
        // An interruption of the statement around it would also keep it from being taken back.
        try openConnection().callbacks.requireOutside("a transaction block cannot begin")
        let nested = try isInTransaction()
        let open = resultSetCount
        try execute(nested ? "SAVEPOINT \(Self.blockSavepoint)" : kind.rawValue)
        do {
            let wantsRollback = try inBlock(block)
            closeResultSets(openedAfter: open)
            try bounds.check()
            if wantsRollback {
                try undo(nested: nested)
            } else {
                if !nested { try openConnection().logChanges() }
                try execute(nested ? "RELEASE \(Self.blockSavepoint)" : "COMMIT")
            }
        } catch {
            closeResultSets(openedAfter: open)
            // The first error is the one to report; a connection that is gone has nothing to undo.
            try? undo(nested: nested)
            throw error
        }
    }

    private func inBlock(_ block: (SecureDatabaseStore) throws -> Bool) throws -> Bool {
        transactionBlocks += 1
        defer { transactionBlocks -= 1 }
        return try block(self)
    }

    private func undo(nested: Bool) throws {
        try openConnection().uninterrupted {
            do {
                try takeBack(nested: nested)
            } catch SecureStorageError.backingStoreError(Self.interrupted, _) {
                // It came before, and lasts as long as a result set of the outer code: that one can
                // only end with it.
                closeOpenResultSets()
                try takeBack(nested: nested)
            }
        }
    }

    private static let interrupted = Int(ResultCode.interrupted.rawValue)

    private func takeBack(nested: Bool) throws {
        // SQLite itself rolls back after some errors, a full disk among them.
        guard try isInTransaction() else { return }
        if nested {
            try execute("ROLLBACK TO \(Self.blockSavepoint)")
            try execute("RELEASE \(Self.blockSavepoint)")
        } else {
            try execute("ROLLBACK")
        }
    }

    /// Savepoints nest by themselves: the innermost of a name is meant.
    static let blockSavepoint = "securestorage_block"
}
