public import SecureStorage

/// A vault's view of its database: an app refines it with the calls that its vault needs.
public protocol SecureStorageDatabaseProvider {
    /// The open database.
    var db: SecureVaultDatabase { get }
}

extension SecureStorageDatabaseProvider {
    /// Runs `block` in one transaction: for batches, since each commit waits for the disk.
    ///
    /// - Parameter block: Runs on the calling thread; what it throws takes back all that it has
    ///   written.
    /// - Throws: `SecureVaultError` as it is; other errors as `.databaseError(cause:)`.
    public func inDatabaseTransaction(
        _ block: (SecureDatabaseStore) throws -> Void
    ) throws {
        do {
            try db.write { try block($0) }
        } catch {
            throw SecureVaultError.make(of: error) { .databaseError(cause: $0) }
        }
    }
}

/// One open database of a vault, behind a queue or a pool.
///
/// Thread-safe.
public enum SecureVaultDatabase: Sendable {
    /// One connection, one thread at a time.
    case queue(SecureDatabaseQueue)

    /// Several readers beside one writer.
    case pool(SecureDatabasePool)

    /// Reads, as of one moment.
    ///
    /// - Parameter block: Runs on the calling thread. With a queue it is not kept from writing.
    /// - Returns: What the block returns.
    /// - Throws: What the block throws; `SecureStorageError`.
    public func read<T: Sendable>(
        _ block: (SecureDatabaseStore) throws -> T
    ) throws -> T {
        switch self {
        case .queue(let queue):
            var outcome: T?
            try queue.inDeferredTransaction { db in
                outcome = try block(db)
                return false
            }
            return try Self.require(outcome)
        case .pool(let pool):
            return try pool.read { try block($0) }
        }
    }

    /// Writes, in one transaction; inside another one, in a savepoint.
    ///
    /// - Parameter block: Runs on the calling thread; what it throws rolls back.
    /// - Returns: What the block returns.
    /// - Throws: What the block throws; `SecureStorageError`.
    public func write<T: Sendable>(
        _ block: (SecureDatabaseStore) throws -> T
    ) throws -> T {
        switch self {
        case .queue(let queue):
            var outcome: T?
            try queue.inImmediateTransaction { db in
                outcome = try block(db)
                return false
            }
            return try Self.require(outcome)
        case .pool(let pool):
            return try pool.write { try block($0) }
        }
    }

    /// Closes the file; the next call throws `.closed`.
    ///
    /// - Throws: `SecureStorageError`.
    public func close() throws {
        switch self {
        case .queue(let queue): try queue.inDatabase { $0.close() }
        case .pool(let pool): pool.close()
        }
    }

    private static func require<T>(_ outcome: T?) throws -> T {
        guard let outcome else { throw SecureStorageError.closed }
        return outcome
    }
}
