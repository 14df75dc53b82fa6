extension SecureDatabaseStore {
    /// Begins a transaction that excludes other writers, and outside WAL mode also readers.
    ///
    /// - Throws: `.closed`; `.backingStoreError` code `.busy` when another connection holds a lock
    ///   for longer than the busy timeout, code `.error` inside a transaction, code `.misuse`
    ///   (SQLITE_MISUSE) in a transaction block.
    public func beginExclusiveTransaction() throws {
        try run("BEGIN EXCLUSIVE")
    }

    /// Begins a transaction that acquires no lock until one is needed.
    ///
    /// Its first write can fail immediately with code `.busy` when another connection has
    /// written since its first read. To read and then write, use an exclusive transaction.
    ///
    /// - Throws: `.closed`; `.backingStoreError` code `.error` inside a transaction, code `.misuse`
    ///   in a transaction block.
    public func beginDeferredTransaction() throws {
        try run("BEGIN DEFERRED")
    }

    /// Commits the transaction, which makes its changes durable and visible to other connections.
    ///
    /// - Throws: `.closed`; `.backingStoreError`, code `.error` outside a transaction, code
    ///   `.misuse` in a transaction block, which commits automatically. After code `.busy` the
    ///   transaction is still open and `commit` can be retried.
    public func commit() throws {
        try session.transactionBlocks.require(.commit)
        try workingConnection().logChanges()
        try run("COMMIT")
    }

    /// Rolls back the changes of the transaction.
    ///
    /// An open result set may then end with an error.
    ///
    /// - Throws: `.closed`; `.backingStoreError`, code `.error` outside a transaction, code
    ///   `.misuse` in a transaction block, which rolls back when it throws or returns true.
    public func rollback() throws {
        try run("ROLLBACK")
    }

    /// Returns whether a transaction has begun that is neither committed nor rolled back.
    ///
    /// - Returns: The opposite of SQLite's autocommit mode.
    /// - Throws: `.closed`.
    ///
    /// The corresponding C function is
    /// [`sqlite3_get_autocommit`](https://sqlite.org/c3ref/get_autocommit.html).
    public func isInTransaction() throws -> Bool {
        try openConnection().isInTransaction
    }

    /// Runs a statement without values that the app requested by calling a dedicated method.
    func run(_ sql: String) throws {
        let statement = try openConnection().statement(for: sql)
        defer { statement.giveBack() }
        try run(statement)
    }

    /// Runs a statement of the app to completion, unless it would end the transaction of the
    /// enclosing block.
    func run(_ statement: Statement) throws {
        guard let control = statement.control else { return try statement.run() }
        try session.transactionBlocks.require(control)
        try statement.run()
        session.transactionBlocks.note(control)
    }

    /// The statement that begins a block's transaction.
    enum TransactionKind: String {
        case exclusive = "BEGIN EXCLUSIVE"
        case immediate = "BEGIN IMMEDIATE"
        case deferred = "BEGIN DEFERRED"
    }

    /// Runs `block` in a transaction, or in a savepoint when a transaction is already open.
    ///
    /// Rolls back when the block returns true, throws, or the commit fails; errors are rethrown.
    func inTransaction(
        _ kind: TransactionKind, _ block: (SecureDatabaseStore) throws -> Bool
    ) throws {
        // Nothing may begin in a block whose transaction has ended: it would be committed
        // regardless of the block's result.
        let connection = try workingConnection()
        // Interrupting the enclosing statement would also prevent the rollback.
        try connection.callbacks.requireOutside("a transaction block cannot begin")
        let isNested = connection.isInTransaction
        let open = session.resultSetCount
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
            // The first error is reported; a connection that no longer exists has nothing to roll
            // back.
            if self.connection === connection {
                try? undo(on: connection, isNested: isNested)
            }
            throw error
        }
    }

    private func inBlock(_ block: (SecureDatabaseStore) throws -> Bool) throws -> Bool {
        session.transactionBlocks.begin()
        defer { session.transactionBlocks.end() }
        return try block(self)
    }

    /// Rolls back a block's changes, also on a store that has been suspended in the meantime.
    private func undo(on connection: Connection, isNested: Bool) throws {
        try connection.uninterrupted {
            do {
                try takeBack(on: connection, isNested: isNested)
            } catch let error as SecureStorageError where error.interruption != nil {
                // The interruption was earlier, and lasts while a result set of the outer code is
                // open: that result set can only end with it.
                closeOpenResultSets()
                try takeBack(on: connection, isNested: isNested)
            }
        }
    }

    private func takeBack(on connection: Connection, isNested: Bool) throws {
        // SQLite itself rolls back after some errors, including a full disk.
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
/// Savepoints of the same name nest: the innermost one is used.
private enum BlockSavepoint {
    /// Unguessable, so no savepoint of the app can be mistaken for a block's.
    private static let name =
        "securestorage_block_\(UInt64.random(in: .min ... .max))_\(UInt64.random(in: .min ... .max))"

    static let set = "SAVEPOINT \(name)"
    static let release = "RELEASE \(name)"
    static let rollback = "ROLLBACK TO \(name)"
}
