internal import SecureStoragePlatform

/// Read and write access to one database from any thread, through a queue or a pool.
///
/// Code that also writes takes `any SecureDatabaseWriter`:
///
/// ```swift
/// func add(_ text: String, to database: any SecureDatabaseWriter) throws -> Int64 {
///     try database.write { db in
///         try db.executeUpdate("INSERT INTO note (text) VALUES (?)", values: [text])
///         return try db.lastInsertRowId()
///     }
/// }
/// ```
///
/// Thread-safe, as ``SecureDatabaseReader``. Only the queue and the pool conform.
public protocol SecureDatabaseWriter: SecureDatabaseReader {
    /// Runs `block` in a transaction that is committed when the block returns.
    ///
    /// The transaction is an immediate one: it excludes other writers from its beginning, but no
    /// readers. Inside a write of the same queue or pool it runs immediately, in a savepoint if
    /// there is a transaction already. Only returning or throwing ends the transaction: `COMMIT`
    /// and `ROLLBACK` are refused in it.
    ///
    /// - Parameter block: Runs on the calling thread.
    /// - Returns: What the block returns.
    /// - Throws: What the block throws, after rolling back; `.backingStoreError` if the transaction
    ///   cannot begin (code `.busy`: another connection holds the lock) or cannot be committed,
    ///   after rolling back, and with code `.misuse` inside a `read` of the same queue or pool;
    ///   `.closed`.
    @discardableResult
    func write<T>(_ block: (SecureDatabaseStore) throws -> sending T) throws -> sending T

    /// Runs `block` in a transaction that is committed when the block returns.
    ///
    /// - Parameter block: Runs on a separate thread; a synchronous call inside it is part of it.
    /// - Returns: What the block returns.
    /// - Throws: As the synchronous call, after rolling back; `CancellationError`, likewise.
    @discardableResult
    func write<T: Sendable>(
        _ block: @escaping @Sendable (SecureDatabaseStore) throws -> T
    ) async throws -> T

    /// Runs `block` with the connection that writes, without a transaction around it.
    ///
    /// For VACUUM and other statements that cannot run in one, and for a block that begins and ends
    /// several. Inside a `write` of the same queue or pool it runs immediately, in its transaction.
    ///
    /// - Parameter block: Runs on the calling thread.
    /// - Returns: What the block returns.
    /// - Throws: What the block throws; `.backingStoreError` code `.misuse` if it leaves a
    ///   transaction open, which is rolled back, and inside a `read` of the same queue or pool;
    ///   `.closed`.
    @discardableResult
    func writeWithoutTransaction<T>(
        _ block: (SecureDatabaseStore) throws -> sending T
    ) throws -> sending T

    /// Runs `block` with the connection that writes, without a transaction around it.
    ///
    /// - Parameter block: Runs on a separate thread; a synchronous call inside it is part of it.
    /// - Returns: What the block returns.
    /// - Throws: As the synchronous call; `CancellationError`.
    @discardableResult
    func writeWithoutTransaction<T: Sendable>(
        _ block: @escaping @Sendable (SecureDatabaseStore) throws -> T
    ) async throws -> T

    /// Re-encrypts the whole file with a new key.
    ///
    /// - Parameters:
    ///   - newKey: A passphrase or a raw key.
    ///   - progress: Called after every megabyte; see
    ///     ``SecureDatabaseStore/changeEncryptionKey(with:progress:)``. It cannot call the queue or
    ///     the pool.
    /// - Throws: As the store's; what `progress` throws.
    func changeEncryptionKey(with newKey: DatabaseKey, progress: FileProgress.Handler) throws
}

extension SecureDatabaseWriter {
    /// Runs `block` in a transaction; for a block that is a function or a variable.
    ///
    /// Otherwise as the `write(_:)` for a closure.
    ///
    /// - Parameter block: Runs on the calling thread.
    /// - Returns: What the block returns.
    /// - Throws: As the `write(_:)` for a closure.
    @_disfavoredOverload
    @discardableResult
    public func write<T: Sendable>(
        _ block: (SecureDatabaseStore) throws -> T
    ) throws -> T {
        try write { db -> T in try block(db) }
    }

    /// Runs `block` without a transaction; for a block that is a function or a variable.
    ///
    /// Otherwise as the `writeWithoutTransaction(_:)` for a closure.
    ///
    /// - Parameter block: Runs on the calling thread.
    /// - Returns: What the block returns.
    /// - Throws: As the `writeWithoutTransaction(_:)` for a closure.
    @_disfavoredOverload
    @discardableResult
    public func writeWithoutTransaction<T: Sendable>(
        _ block: (SecureDatabaseStore) throws -> T
    ) throws -> T {
        try writeWithoutTransaction { db -> T in try block(db) }
    }

    /// Re-encrypts the whole file with a new key.
    ///
    /// - Parameter newKey: A passphrase or a raw key.
    /// - Throws: As ``SecureDatabaseStore/changeEncryptionKey(with:progress:)``.
    public func changeEncryptionKey(with newKey: DatabaseKey) throws {
        try changeEncryptionKey(with: newKey, progress: { _ in })
    }

    /// Re-encrypts the whole file with a new key.
    ///
    /// Cancelling the task does not end it.
    ///
    /// - Parameter newKey: A passphrase or a raw key.
    /// - Throws: As the synchronous call.
    public func changeEncryptionKey(with newKey: DatabaseKey) async throws {
        try await onOwnThread(evenIfCancelled: true) {
            try self.changeEncryptionKey(with: newKey)
        }
    }

    /// Moves the write-ahead log into the file.
    ///
    /// All modes but `.passive` wait for readers, at most for the busy timeout.
    ///
    /// - Parameters:
    ///   - mode: How far to go, and what to wait for.
    ///   - database: The name of an attached database, `"main"`, or nil for all of them.
    /// - Returns: The frames of the log, and how many of them are in the file now.
    /// - Throws: As `SecureDatabaseStore.checkpoint(_:database:)`: code `.locked` inside a
    ///   transaction; code `.misuse` inside a `read`.
    @discardableResult
    public func checkpoint(
        _ mode: CheckpointMode = .passive, database: String? = nil
    ) throws -> (logFrames: Int, checkpointedFrames: Int) {
        try writeWithoutTransaction { try $0.checkpoint(mode, database: database) }
    }

    /// Moves the write-ahead log into the file.
    ///
    /// - Parameters:
    ///   - mode: How far to go, and what to wait for.
    ///   - database: The name of an attached database, `"main"`, or nil for all of them.
    /// - Returns: The frames of the log, and how many of them are in the file now.
    /// - Throws: As the synchronous call; `CancellationError`.
    @discardableResult
    public func checkpoint(
        _ mode: CheckpointMode = .passive, database: String? = nil
    ) async throws -> (logFrames: Int, checkpointedFrames: Int) {
        try await writeWithoutTransaction { try $0.checkpoint(mode, database: database) }
    }
}
