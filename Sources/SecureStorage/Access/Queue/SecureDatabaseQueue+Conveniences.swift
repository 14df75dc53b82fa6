extension SecureDatabaseQueue {
    /// Runs `block` in an exclusive transaction, as FMDB's `inTransaction` does.
    ///
    /// - Parameter block: Runs on the calling thread; true rolls back, false commits.
    /// - Throws: As `inExclusiveTransaction(_:)`.
    public func inTransaction(_ block: (SecureDatabaseStore) throws -> Bool) throws {
        try inExclusiveTransaction(block)
    }

    /// Runs `block` in a transaction that excludes other writers immediately, but never readers.
    ///
    /// Otherwise as `inExclusiveTransaction(_:)`.
    ///
    /// - Parameter block: Runs on the calling thread; true rolls back, false commits.
    /// - Throws: As `inExclusiveTransaction(_:)`.
    public func inImmediateTransaction(_ block: (SecureDatabaseStore) throws -> Bool) throws {
        try perform(.write) { try $0.inTransaction(.immediate, block) }
    }

    /// Runs `block` in a separate savepoint, which outside a transaction begins a deferred one.
    ///
    /// - Parameter block: Runs on the calling thread; true rolls back, false keeps the changes.
    /// - Throws: As ``SecureDatabaseStore/inSavePoint(_:)``.
    public func inSavePoint(_ block: (SecureDatabaseStore) throws -> Bool) throws {
        try inDatabase { try $0.inSavePoint(block) }
    }
}
