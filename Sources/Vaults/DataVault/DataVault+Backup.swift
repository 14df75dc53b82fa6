public import Foundation
internal import SecureStoragePlatform
public import SecureStorage

extension DataVault {
    /// Makes a backup of all values in one encrypted file: see ``VaultBackup``.
    ///
    /// The file holds the values, the policy, and the key of `encrypt(_:)`. The vault counts as
    /// used for the duration; a lock ends the call with `.locked`, and then no backup is left. A
    /// kill at any point leaves the previous file.
    ///
    /// - Parameters:
    ///   - url: The backup's file URL; its directory must exist, and have room for two copies.
    ///   - sources: What unlocks the backup, each on its own: a ``/SecureKeys/RecoveryCode``, a
    ///     ``/SecureKeys/PasswordKey``, or several with different names. The vault's password does
    ///     not.
    ///   - label: Text that can be read without a key.
    ///   - replacing: Whether an existing file is replaced.
    ///   - progress: Called on the calling thread for every megabyte; an error it throws ends the
    ///     work.
    /// - Returns: The backup's metadata.
    /// - Throws: `DataVaultError`: `.locked`, `.doesNotExist`, `.ioReadError`; `VaultBackupError`;
    ///   `SecureStorageError`; errors of `progress`.
    @discardableResult
    public func makeBackup(
        at url: URL, unlockedBy sources: [any KeyEncryptionKeySource],
        label: VaultBackupLabel = .init(), replacing: Bool = false,
        progress: FileProgress.Handler = { _ in }
    ) throws -> VaultBackupMetadata {
        try withOpened { opened in
            let policy = try record.policy
            do {
                return try VaultBackupError.translating(url.path, isDatabase: false) {
                    try BackupRun(
                        database: opened.values.queue, sources: sources,
                        dataKeys: [.key(opened.key)], label: label, replacing: replacing,
                        preparing: { try UnpackedBackup.put(policy, in: $0) }
                    ).write(to: url) {
                        guard openedNow === opened else { throw DataVaultError.locked }
                        try progress($0)
                    }
                }
            } catch  where openedNow !== opened {
                throw DataVaultError.locked
            }
        }
    }

    /// Makes a backup, like the synchronous call but on a separate thread.
    ///
    /// - Parameters:
    ///   - url: The backup's file URL; its directory must exist, and have room for two copies.
    ///   - sources: What unlocks the backup, each on its own.
    ///   - label: Text that can be read without a key.
    ///   - replacing: Whether an existing file is replaced.
    ///   - progress: Called on that thread for every megabyte; an error it throws ends the work.
    /// - Returns: The backup's metadata.
    /// - Throws: As the synchronous call; `CancellationError`, and then no backup is left.
    @discardableResult
    public func makeBackup(
        at url: URL, unlockedBy sources: [any KeyEncryptionKeySource],
        label: VaultBackupLabel = .init(), replacing: Bool = false,
        progress: @escaping @Sendable (FileProgress) throws -> Void = { _ in }
    ) async throws -> VaultBackupMetadata {
        try await onOwnThread(reporting: progress) {
            try self.makeBackup(
                at: url, unlockedBy: sources, label: label, replacing: replacing,
                progress: $0)
        }
    }
}

extension DataVault {
    /// Restores a backup as a vault of the current container: see
    /// `DataVaultContainer.restore(from:id:unlockedBy:password:policy:progress:)`.
    ///
    /// - Parameters:
    ///   - backup: A backup made by `makeBackup`.
    ///   - id: The id of the vault, which must not exist.
    ///   - source: The password, recovery code or key of the backup.
    ///   - password: Empty for the default password.
    ///   - policy: The vault's policy; nil for that of the vault when the backup was made.
    ///   - progress: Called on the calling thread for every megabyte; an error it throws ends the
    ///     work.
    /// - Returns: The vault, unlocked.
    /// - Throws: As the call of the container.
    public static func restore(
        from backup: URL, id: String, unlockedBy source: any KeyEncryptionKeySource,
        password: some DataVaultPassword, policy: DataVaultPasswordPolicy? = nil,
        progress: FileProgress.Handler = { _ in }
    ) throws -> DataVault {
        try CurrentContainer.shared.value.restore(
            from: backup, id: id, unlockedBy: source, password: password, policy: policy,
            progress: progress)
    }

    /// Restores a backup, like the synchronous call but on a separate thread.
    ///
    /// - Parameters:
    ///   - backup: A backup made by `makeBackup`.
    ///   - id: The id of the vault, which must not exist.
    ///   - source: The password, recovery code or key of the backup.
    ///   - password: Empty for the default password.
    ///   - policy: The vault's policy; nil for that of the vault when the backup was made.
    ///   - progress: Called on that thread for every megabyte; an error it throws ends the work.
    /// - Returns: The vault, unlocked.
    /// - Throws: As the synchronous call; `CancellationError`, and then there is no vault.
    public static func restore(
        from backup: URL, id: String, unlockedBy source: any KeyEncryptionKeySource,
        password: some DataVaultPassword, policy: DataVaultPasswordPolicy? = nil,
        progress: @escaping @Sendable (FileProgress) throws -> Void = { _ in }
    ) async throws -> DataVault {
        try await CurrentContainer.shared.value.restore(
            from: backup, id: id, unlockedBy: source, password: password, policy: policy,
            progress: progress)
    }
}

extension DataVaultContainer {
    /// Restores a backup as a vault of this container, with a new password.
    ///
    /// A kill at any time leaves the whole vault or none. To replace a vault, check the backup
    /// first with `VaultBackup.verify(at:unlockedBy:)`, then delete the vault.
    ///
    /// - Parameters:
    ///   - backup: A backup made by `DataVault.makeBackup`.
    ///   - id: The id of the vault, which must not exist. Data that was encrypted with
    ///     `DataVault.encrypt(_:)` can be decrypted if it is the id that the vault had.
    ///   - source: The password, recovery code or key of the backup.
    ///   - password: Empty for the default password.
    ///   - policy: The vault's policy, which the password must satisfy; nil for that of the vault
    ///     when the backup was made.
    ///   - progress: Called on the calling thread for every megabyte; an error it throws ends the
    ///     work.
    /// - Returns: The vault, unlocked.
    /// - Throws: `VaultBackupError`, with separate cases for a wrong password and for damage;
    ///   `DataVaultError` as `create(id:password:policy:)`; `SecureStorageError`; errors of
    ///   `progress`.
    public func restore(
        from backup: URL, id: String, unlockedBy source: any KeyEncryptionKeySource,
        password: some DataVaultPassword, policy: DataVaultPasswordPolicy? = nil,
        progress: FileProgress.Handler = { _ in }
    ) throws -> DataVault {
        let vault = LiveVaults.vault(try place(id), in: self)
        let locks = vault.lockCount
        guard try !exists(id: id) else { throw DataVaultError.alreadyExists }
        try VaultBackupError.translating(backup.path, isDatabase: false) {
            let workspace = try BackupWorkspace(for: vault.place.restoring)
            // Before any lock is taken, since it takes time and calls the app.
            let unpacked = try UnpackedBackup(backup, unlockedBy: source, in: workspace, progress)
            try create(
                vault, password.passwordBytes, policy ?? unpacked.policy, unpacked,
                unlessLockedSince: locks)
        }
        return vault
    }

    /// Restores a backup, like the synchronous call but on a separate thread.
    ///
    /// - Parameters:
    ///   - backup: A backup made by `DataVault.makeBackup`.
    ///   - id: The id of the vault, which must not exist.
    ///   - source: The password, recovery code or key of the backup.
    ///   - password: Empty for the default password.
    ///   - policy: The vault's policy; nil for that of the vault when the backup was made.
    ///   - progress: Called on that thread for every megabyte; an error it throws ends the work.
    /// - Returns: The vault, unlocked.
    /// - Throws: As the synchronous call; `CancellationError`, and then there is no vault.
    public func restore(
        from backup: URL, id: String, unlockedBy source: any KeyEncryptionKeySource,
        password: some DataVaultPassword, policy: DataVaultPasswordPolicy? = nil,
        progress: @escaping @Sendable (FileProgress) throws -> Void = { _ in }
    ) async throws -> DataVault {
        try await onOwnThread(reporting: progress) {
            try self.restore(
                from: backup, id: id, unlockedBy: source, password: password, policy: policy,
                progress: $0)
        }
    }
}
