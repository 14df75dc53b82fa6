public import SecureStorage

/// A vault's view of its database; an app refines it with the calls that its vault needs.
public protocol SecureStorageDatabaseProvider {
    /// The open database: a queue or a pool.
    var db: any SecureDatabaseWriter { get }
}

extension SecureStorageDatabaseProvider {
    /// Runs `block` in one transaction; use it for batches, since each commit waits for the disk.
    ///
    /// - Parameter block: Runs on the calling thread; an error that it throws rolls back its
    ///   writes.
    /// - Throws: `SecureVaultError` unchanged; other errors as `.databaseError(cause:)`.
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
