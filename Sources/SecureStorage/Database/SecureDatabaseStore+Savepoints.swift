internal import Foundation

extension SecureDatabaseStore {
    /// Begins an exclusive transaction, like FMDB's `beginTransaction`.
    ///
    /// - Throws: Same as ``beginExclusiveTransaction()``.
    public func beginTransaction() throws {
        try beginExclusiveTransaction()
    }

    /// Begins a transaction that immediately excludes other writers, but never readers.
    ///
    /// In WAL mode an exclusive transaction behaves the same.
    ///
    /// - Throws: `.closed`; `.backingStoreError` code `.busy` when another connection holds the
    ///   writer lock for longer than the busy timeout, code `.error` inside a transaction, code
    ///   `.misuse` in a transaction block.
    public func beginImmediateTransaction() throws {
        try run("BEGIN IMMEDIATE")
    }

    /// Sets a [savepoint](https://sqlite.org/lang_savepoint.html), to which a transaction can roll
    /// back.
    ///
    /// Outside a transaction, it begins a deferred one; releasing the savepoint then commits.
    ///
    /// - Parameter name: Any non-empty text without NUL, matched case-insensitively. A name may be
    ///   reused inside its savepoint; the innermost one is used.
    /// - Throws: `.closed`; `.backingStoreError`, code `.misuse` for an invalid name.
    public func startSavePoint(_ name: String) throws {
        try runSavepoint("SAVEPOINT", name)
    }

    /// Keeps the changes made since a savepoint, and removes it and those inside it.
    ///
    /// - Parameter name: The name passed to ``startSavePoint(_:)``, matched case-insensitively.
    /// - Throws: `.closed`; `.backingStoreError`, code `.error` when no savepoint has that name;
    ///   the errors of ``commit()`` when this commits. Code `.misuse` in a transaction block for a
    ///   savepoint that was set before it.
    public func releaseSavePoint(_ name: String) throws {
        try runSavepoint("RELEASE", name)
    }

    /// Rolls back the changes made since a savepoint, which stays set.
    ///
    /// - Parameter name: The name passed to ``startSavePoint(_:)``, matched case-insensitively.
    /// - Throws: `.closed`; `.backingStoreError`, code `.error` when no savepoint has that name,
    ///   code `.misuse` in a transaction block for one that was set before it.
    public func rollbackToSavePoint(_ name: String) throws {
        try runSavepoint("ROLLBACK TO", name)
    }

    /// Runs `block` in its own savepoint.
    ///
    /// Outside a transaction this is a deferred transaction, as in SQLite. Result sets that the
    /// block leaves open are closed. Calls by queues and key-value stores on this store are part of
    /// it when the block makes them, and wait for its end when other threads do.
    ///
    /// - Parameter block: Returns true to roll back its changes, false to keep them.
    /// - Throws: Any error thrown by the block, after rolling back; `.backingStoreError` when its
    ///   changes cannot be kept, after rolling back; `.closed`.
    public func inSavePoint(_ block: (SecureDatabaseStore) throws -> Bool) throws {
        try turn.run { try inTransaction(.deferred, block) }
    }

    private func runSavepoint(_ command: String, _ name: String) throws {
        guard !name.isEmpty, !name.utf8.contains(0) else {
            throw SecureStorageError.statementFailed(
                .misuse, "the name of a savepoint is empty or contains a NUL")
        }
        // Not cached: names that are never reused would evict other statements.
        let statement = try workingConnection().statement(
            for: "\(command) \(SQLText.identifier(name))", cached: false)
        defer { statement.giveBack() }
        try run(statement)
    }
}
