public import Foundation

extension SecureDatabasePool {
    /// Re-encrypts the whole file with a new passphrase.
    ///
    /// Waits for its turn among the writers and for the `read` blocks that are running. Those that
    /// come meanwhile wait, as long as reading and writing the whole file once takes, and then read
    /// with the new key. When it fails, everything goes on with the key that the file has: the old
    /// one, unless the error is `.encryptionKeyChangeUnknown`.
    ///
    /// - Parameter newEncryptionKey: As for `SecureDatabaseStore.changeEncryptionKey(with:)`.
    /// - Throws: As there; `.encryptionKeyChangeFailed` code 21 inside a block of this pool.
    public func changeEncryptionKey(with newEncryptionKey: String) throws {
        try changeEncryptionKey(with: .passphrase(newEncryptionKey))
    }

    /// Re-encrypts the whole file with a new raw key.
    ///
    /// - Parameter newEncryptionKeyData: Exactly 32 random bytes.
    /// - Throws: As `changeEncryptionKey(with:)` with a passphrase.
    public func changeEncryptionKey(with newEncryptionKeyData: Data) throws {
        try changeEncryptionKey(with: .raw(SecretBytes(copying: newEncryptionKeyData)))
    }

    /// Re-encrypts the whole file with a new key.
    ///
    /// - Parameters:
    ///   - newKey: A passphrase or a raw key.
    ///   - progress: As for ``SecureDatabaseStore/changeEncryptionKey(with:progress:)``; it cannot
    ///     call the pool.
    /// - Throws: As `changeEncryptionKey(with:)` with a passphrase; what `progress` throws.
    public func changeEncryptionKey(
        with newKey: DatabaseKey, progress: FileProgress.Handler = { _ in }
    ) throws {
        try requireHome()
        guard PoolBlock.current(of: self) == nil else {
            throw SecureStorageError.encryptionKeyChangeFailed(
                code: ResultCode.misuse.rawValue,
                message:
                    "a change of the key waits for all blocks of the pool, so it would wait for "
                    + "the one around it; end the block first")
        }
        try connections.withWriter { writer in
            try connections.withoutReaders {
                writer.hasReaders = false
                defer { writer.hasReaders = true }
                // What `progress` asked of the pool would wait for this change.
                try PoolBlock.run(.setup, of: self, on: writer) {
                    try writer.changeEncryptionKey(with: newKey, progress: progress)
                }
            }
        }
    }
}
