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
}
