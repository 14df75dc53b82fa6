extension SecureDatabaseQueue {
    /// Runs `block` in an exclusive transaction, as FMDB's `inTransaction` does.
    ///
    /// - Parameter block: Runs on the calling thread; true rolls back, false commits.
    /// - Throws: as `inExclusiveTransaction(_:)`.
    public func inTransaction(_ block: (SecureDatabaseStore) throws -> Bool) throws {
        try inExclusiveTransaction(block)
    }

    /// Runs `block` in a transaction that excludes other writers at once, but never readers.
    ///
    /// Otherwise as `inExclusiveTransaction(_:)`.
    ///
    /// - Parameter block: Runs on the calling thread; true rolls back, false commits.
    /// - Throws: as `inExclusiveTransaction(_:)`.
    public func inImmediateTransaction(_ block: (SecureDatabaseStore) throws -> Bool) throws {
        try inDatabase { try $0.inTransaction(.immediate, block) }
    }

    /// Runs `block` in a savepoint of its own; outside a transaction that is a deferred one.
    ///
    /// - Parameter block: Runs on the calling thread; true rolls back, false keeps what it did.
    /// - Throws: as ``SecureDatabaseStore/inSavePoint(_:)``.
    public func inSavePoint(_ block: (SecureDatabaseStore) throws -> Bool) throws {
        try inDatabase { try $0.inSavePoint(block) }
    }

    /// Moves the write-ahead log into the file.
    ///
    /// - Parameters:
    ///   - mode: How far to go, and for whom to wait.
    ///   - database: The name of an attached database, `"main"`, or nil for all of them.
    /// - Returns: The frames of the log, and those of them that are in the file now.
    /// - Throws: as `SecureDatabaseStore.checkpoint(_:database:)`; so inside a transaction of this
    ///   queue code 6.
    @discardableResult
    public func checkpoint(
        _ mode: CheckpointMode = .passive, database: String? = nil
    ) throws -> (logFrames: Int, checkpointedFrames: Int) {
        try inDatabase { try $0.checkpoint(mode, database: database) }
    }
}
