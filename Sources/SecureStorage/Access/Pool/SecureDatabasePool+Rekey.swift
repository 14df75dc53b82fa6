extension SecureDatabasePool {
    /// Re-encrypts the whole file with a new key.
    ///
    /// Waits for its turn among the writers and for the running `read` blocks. Reads that arrive
    /// later wait for as long as reading and writing the whole file once takes, and then use the
    /// new key. If it fails, the pool continues with the key that the file has: the old one, unless
    /// the error is `.encryptionKeyChangeUnknown`.
    ///
    /// - Parameters:
    ///   - newKey: A passphrase or a raw key.
    ///   - progress: As for ``SecureDatabaseStore/changeEncryptionKey(with:progress:)``; it cannot
    ///     call the pool.
    /// - Throws: As the store's; `.encryptionKeyChangeFailed` code `.misuse` inside a block of this
    ///   pool; what `progress` throws.
    public func changeEncryptionKey(
        with newKey: DatabaseKey, progress: FileProgress.Handler
    ) throws {
        try requireHome()
        guard PoolBlock.current(of: self) == nil else {
            throw SecureStorageError.encryptionKeyChangeFailed(
                code: ResultCode.misuse.rawValue,
                message:
                    "a key change waits for all blocks of the pool, so it would wait for the "
                    + "enclosing one; end the block first")
        }
        try connections.withWriter { writer in
            try connections.withoutReaders {
                connections.rows.endForKeyChange()
                writer.session.hasReaders = false
                defer { writer.session.hasReaders = true }
                // Calls of the pool in `progress` would wait for this change.
                try PoolBlock.run(.setup, of: self, on: writer) {
                    try writer.changeEncryptionKey(with: newKey, progress: progress)
                }
            }
        }
    }
}
