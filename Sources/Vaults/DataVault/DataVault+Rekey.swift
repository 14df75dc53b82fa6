internal import SecureStorage
internal import SecureStoragePlatform

extension DataVault {
    /// Gives the vault another key, and encrypts its database with it: whoever has got hold of the
    /// old key, by a password that others knew and an older copy of the key store, opens nothing
    /// that is stored from then on.
    ///
    /// Change the password first if others know it. Data that was encrypted with `encrypt(_:)`
    /// before can still be decrypted, by this vault and by who has the old key; what is encrypted
    /// afterwards, only by this vault. Streams in progress end with `.locked`. Another process that
    /// has the vault unlocked has to unlock it again.
    ///
    /// A kill leaves the old key or the new one; the next unlock finds out which.
    ///
    /// - Parameter password: The current password; empty for the default password. A wrong one
    ///   counts as a try.
    /// - Throws: `DataVaultError`: `.locked`; `.invalidPassword`, `.mustWait`; `.doesNotExist`;
    ///   `.ioReadError`, `.ioWriteError`, `.outOfMemory`.
    public func rekey(password: some DataVaultPassword) throws {
        let locks = lockCount
        let password = password.passwordBytes
        try withOpened { opened in
            try withRecord { record in
                guard record.incarnation == opened.incarnation else {
                    throw DataVaultError.doesNotExist
                }
                let records = container.records
                let old = try records.check(password, of: &record, place)
                let new = try DataVaultError.reading {
                    try DataEncryptionKey.random(name: VaultValues.keyName)
                }
                record.nextKeys = try records.wrapped(new, with: password, place)
                try records.store(&record, place)
                try opened.values.rekey(from: old, to: new)
                record.finishRekey()
                try records.store(&record, place)
                let reopened = try open(record, new)
                try publish(reopened, unlessLockedSince: locks)
                opened.close()
            }
        }
    }

    /// Gives the vault another key, like the synchronous call but on a separate thread.
    ///
    /// - Parameter password: The current password; empty for the default password.
    /// - Throws: As the synchronous call; `CancellationError` if the task was cancelled beforehand,
    ///   which does not count as a try.
    public func rekey(password: some DataVaultPassword) async throws {
        try await onOwnThread { try self.rekey(password: password) }
    }
}
