internal import Foundation

extension SecureDatabaseStore {
    /// Begins an exclusive transaction, as FMDB's `beginTransaction` does.
    ///
    /// - Throws: as ``beginExclusiveTransaction()``.
    public func beginTransaction() throws {
        try beginExclusiveTransaction()
    }

    /// Begins a transaction that excludes other writers at once, but never readers.
    ///
    /// In WAL mode this is what an exclusive one does too.
    ///
    /// - Throws: `.closed`; `.backingStoreError` code 5 (SQLITE_BUSY) when another connection holds
    ///   the writer lock for longer than the busy timeout, code 1 inside a transaction, code 21 in
    ///   a transaction block.
    public func beginImmediateTransaction() throws {
        try run("BEGIN IMMEDIATE")
    }

    /// Sets a [savepoint](https://sqlite.org/lang_savepoint.html), to which a transaction can
    /// return.
    ///
    /// Outside a transaction it begins one, deferred; releasing it then commits.
    ///
    /// - Parameter name: Any text without NUL that is not empty. Its case does not matter. A name
    ///   may be used again inside: the innermost is meant.
    /// - Throws: `.closed`; `.backingStoreError`, code 21 for a name that cannot be one.
    public func startSavePoint(_ name: String) throws {
        try runSavepoint("SAVEPOINT", name)
    }

    /// Keeps what was done since a savepoint, and drops it and those inside it.
    ///
    /// - Parameter name: As it was given to ``startSavePoint(_:)``, in any case.
    /// - Throws: `.closed`; `.backingStoreError`, code 1 when no savepoint has that name; when this
    ///   commits, as ``commit()``. Code 21 in a transaction block for a savepoint that was set
    ///   before it.
    public func releaseSavePoint(_ name: String) throws {
        try runSavepoint("RELEASE", name)
    }

    /// Takes back what was done since a savepoint, which stays set.
    ///
    /// - Parameter name: As it was given to ``startSavePoint(_:)``, in any case.
    /// - Throws: `.closed`; `.backingStoreError`, code 1 when no savepoint has that name, code 21
    ///   in a transaction block for one that was set before it.
    public func rollbackToSavePoint(_ name: String) throws {
        try runSavepoint("ROLLBACK TO", name)
    }

    /// Runs `block` in a savepoint of its own.
    ///
    /// Outside a transaction that is a deferred transaction, as SQLite has it. Result sets that the
    /// block leaves open are closed. Calls of queues and key-value stores on this store are part of
    /// it when the block makes them, and wait for its end when other threads do.
    ///
    /// - Parameter block: True rolls back to where it began, false keeps what it did.
    /// - Throws: What the block throws, after rolling back; `.backingStoreError` when what it did
    ///   cannot be kept, after rolling back; `.closed`.
    public func inSavePoint(_ block: (SecureDatabaseStore) throws -> Bool) throws {
        try turn.run { try inTransaction(.deferred, block) }
    }

    private func runSavepoint(_ command: String, _ name: String) throws {
        guard !name.isEmpty, !name.utf8.contains(0) else {
            throw SecureStorageError.statementFailed(
                .misuse, "the name of a savepoint is empty or holds a NUL")
        }
        // Not kept: names that never come back would drive other statements out of the cache.
        let statement = try workingConnection().statement(
            for: "\(command) \(SQLText.identifier(name))", cached: false)
        defer { statement.giveBack() }
        try run(statement)
    }
}
