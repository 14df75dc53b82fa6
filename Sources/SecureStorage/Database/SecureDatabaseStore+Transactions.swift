extension SecureDatabaseStore {
    /// Begins a transaction that excludes other writers, and outside WAL mode also readers.
    ///
    /// - Throws: `.closed`; `.backingStoreError` code 5 (SQLITE_BUSY) when another connection holds
    ///   a lock for longer than the busy timeout, code 1 inside a transaction, code 21
    ///   (SQLITE_MISUSE) in a transaction block.
    public func beginExclusiveTransaction() throws {
        try run("BEGIN EXCLUSIVE")
    }

    /// Begins a transaction that takes no lock before it is needed.
    ///
    /// Its first write can throw code 5 (SQLITE_BUSY) at once when another connection has written
    /// since its first read; use an exclusive transaction for reading and then writing.
    ///
    /// - Throws: `.closed`; `.backingStoreError` code 1 inside a transaction, code 21 in a
    ///   transaction block.
    public func beginDeferredTransaction() throws {
        try run("BEGIN DEFERRED")
    }

    /// Makes the changes of the transaction durable and visible to others.
    ///
    /// - Throws: `.closed`; `.backingStoreError`, code 1 outside a transaction, code 21 in a
    ///   transaction block, which commits by itself. After code 5 (SQLITE_BUSY) the transaction is
    ///   still open and `commit` can be tried again.
    public func commit() throws {
        try transactionBlocks.require(.commit)
        try workingConnection().logChanges()
        try run("COMMIT")
    }

    /// Takes back the changes of the transaction.
    ///
    /// A result set that is open may end with an error then.
    ///
    /// - Throws: `.closed`; `.backingStoreError`, code 1 outside a transaction, code 21 in a
    ///   transaction block, which rolls back when it throws or returns true.
    public func rollback() throws {
        try run("ROLLBACK")
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

    /// Runs a statement without values that the app has asked for by a call of its own.
    func run(_ sql: String) throws {
        let statement = try openConnection().statement(for: sql)
        defer { statement.giveBack() }
        try run(statement)
    }

    /// Runs a statement of the app to its end, unless it would end the transaction of the block
    /// that it is in.
    func run(_ statement: Statement) throws {
        guard let control = statement.control else { return try statement.run() }
        try transactionBlocks.require(control)
        try statement.run()
        transactionBlocks.note(control)
    }

    /// How a block's transaction begins.
    enum TransactionKind: String {
        case exclusive = "BEGIN EXCLUSIVE"
        case immediate = "BEGIN IMMEDIATE"
        case deferred = "BEGIN DEFERRED"
    }

    /// Runs `block` in a transaction, or in a savepoint when the caller has begun a transaction
    /// already.
    ///
    /// Rolls back when the block returns true, throws, or the commit fails; then throws the error.
    func inTransaction(
        _ kind: TransactionKind, _ block: (SecureDatabaseStore) throws -> Bool
    ) throws {
        // Nothing begins in a block whose transaction has ended: it would be committed whatever the
        // block answers.
        let connection = try workingConnection()
        // An interruption of the statement around it would also keep it from being taken back.
        try connection.callbacks.requireOutside("a transaction block cannot begin")
        let isNested = connection.isInTransaction
        let open = resultSetCount
        try connection.execute(isNested ? BlockSavepoint.set : kind.rawValue)
        do {
            let wantsRollback = try inBlock(block)
            closeResultSets(openedAfter: open)
            guard try openConnection() === connection else { throw SecureStorageError.closed }
            try bounds.check()
            if wantsRollback {
                try undo(on: connection, isNested: isNested)
            } else {
                if !isNested { try connection.logChanges() }
                try connection.execute(isNested ? BlockSavepoint.release : "COMMIT")
            }
        } catch {
            closeResultSets(openedAfter: open)
            // The first error is the one to report; a connection that is gone has nothing to undo.
            if self.connection === connection {
                try? undo(on: connection, isNested: isNested)
            }
            throw error
        }
    }

    private func inBlock(_ block: (SecureDatabaseStore) throws -> Bool) throws -> Bool {
        transactionBlocks.begin()
        defer { transactionBlocks.end() }
        return try block(self)
    }

    /// Takes back what a block has done; also on a store that was suspended meanwhile.
    private func undo(on connection: Connection, isNested: Bool) throws {
        try connection.uninterrupted {
            do {
                try takeBack(on: connection, isNested: isNested)
            } catch let error as SecureStorageError where error.interruption != nil {
                // It came before, and lasts as long as a result set of the outer code: that one can
                // only end with it.
                closeOpenResultSets()
                try takeBack(on: connection, isNested: isNested)
            }
        }
    }

    private func takeBack(on connection: Connection, isNested: Bool) throws {
        // SQLite itself rolls back after some errors, a full disk among them.
        guard connection.isInTransaction else { return }
        if isNested {
            try connection.execute(BlockSavepoint.rollback)
            try connection.execute(BlockSavepoint.release)
        } else {
            try connection.execute("ROLLBACK")
        }
    }
}

/// The savepoint of a block inside a transaction.
///
/// They nest by themselves: the innermost of a name is meant.
private enum BlockSavepoint {
    /// Nobody can know it, so that no savepoint of the app's own is taken for a block's.
    private static let name =
        "securestorage_block_\(UInt64.random(in: .min ... .max))_\(UInt64.random(in: .min ... .max))"

    static let set = "SAVEPOINT \(name)"
    static let release = "RELEASE \(name)"
    static let rollback = "ROLLBACK TO \(name)"
}
