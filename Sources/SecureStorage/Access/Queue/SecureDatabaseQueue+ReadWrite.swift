// A pool's `read` and `write`, on the single connection of a queue.

extension SecureDatabaseQueue {
    /// Runs `block` with exclusive access to the store, in a read-only transaction.
    ///
    /// All its statements see the database as of one moment. Inside a transaction of this queue,
    /// the block is part of that transaction.
    ///
    /// - Parameter block: Runs on the calling thread. A statement that writes throws code
    ///   `.readOnly` (SQLITE_READONLY), except inside a transaction.
    /// - Returns: What the block returns.
    /// - Throws: What the block throws; `.closed`.
    public func read<T>(
        _ block: (SecureDatabaseStore) throws -> sending T
    ) throws -> sending T {
        try perform(.read) { try $0.inReadBlock(block) }
    }

    /// Runs `block` with exclusive access to the store, in a read-only transaction.
    ///
    /// - Parameter block: Runs on a separate thread; a synchronous call inside it is part of it.
    /// - Returns: What the block returns.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func read<T: Sendable>(
        _ block: @escaping @Sendable (SecureDatabaseStore) throws -> T
    ) async throws -> T {
        try await perform(.read) { db in try db.inReadBlock { try block($0) } }
    }

    /// Runs `block` in an immediate transaction that is committed when the block returns.
    ///
    /// Inside a block of this queue that has begun a transaction, it becomes a savepoint. Only
    /// returning or throwing ends the transaction: `commit()`, `rollback()` and their SQL are
    /// refused in it.
    ///
    /// - Parameter block: Runs on the calling thread.
    /// - Returns: What the block returns.
    /// - Throws: What the block throws, after rolling back; `.backingStoreError` if the transaction
    ///   cannot begin (code `.busy`: another connection holds the lock) or cannot be committed,
    ///   after rolling back, and with code `.misuse` inside a `read` of this queue; `.closed`.
    @discardableResult
    public func write<T>(
        _ block: (SecureDatabaseStore) throws -> sending T
    ) throws -> sending T {
        try perform(.write, groups: true) { db in
            try db.requireOutsideReadBlock()
            return try db.inImmediateTransaction(block)
        }
    }

    /// Runs `block` in an immediate transaction that is committed when the block returns.
    ///
    /// - Parameter block: Runs on a separate thread; a synchronous call inside it is part of it.
    /// - Returns: What the block returns.
    /// - Throws: As the synchronous call, after rolling back; `CancellationError`, likewise.
    @discardableResult
    public func write<T: Sendable>(
        _ block: @escaping @Sendable (SecureDatabaseStore) throws -> T
    ) async throws -> T {
        try await perform(.write, groups: true) { db in
            try db.requireOutsideReadBlock()
            return try db.inImmediateTransaction { try block($0) }
        }
    }

    /// Runs `block` with exclusive access to the store: `inDatabase(_:)` under a pool's name for
    /// it.
    ///
    /// - Parameter block: Runs on the calling thread.
    /// - Returns: What the block returns.
    /// - Throws: As `inDatabase(_:)`; `.backingStoreError` code `.misuse` inside a `read` of this
    ///   queue.
    @discardableResult
    public func writeWithoutTransaction<T>(
        _ block: (SecureDatabaseStore) throws -> sending T
    ) throws -> sending T {
        try inDatabase { db in
            try db.requireOutsideReadBlock()
            return try block(db)
        }
    }

    /// Runs `block` with exclusive access to the store: `inDatabase(_:)` under a pool's name for
    /// it.
    ///
    /// - Parameter block: Runs on a separate thread; a synchronous call inside it is part of it.
    /// - Returns: What the block returns.
    /// - Throws: As the synchronous call; `CancellationError`.
    @discardableResult
    public func writeWithoutTransaction<T: Sendable>(
        _ block: @escaping @Sendable (SecureDatabaseStore) throws -> T
    ) async throws -> T {
        try await inDatabase { db in
            try db.requireOutsideReadBlock()
            return try block(db)
        }
    }
}
