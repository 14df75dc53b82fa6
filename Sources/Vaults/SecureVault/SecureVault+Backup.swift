public import Foundation
public import SecureStorage

extension SecureVaultLevels {
    /// Makes a backup of the vault's database and of the keys of its levels: see ``VaultBackup``.
    ///
    /// Other connections can read and write while it runs.
    /// ``SecureVaultFactory/restore(from:to:unlockedBy:newPassword:replacing:keyForm:configuration:progress:)``
    /// restores it, on any machine.
    ///
    /// - Parameters:
    ///   - url: The backup's file URL; its directory must exist.
    ///   - sources: The passwords and recovery codes that unlock the backup. They need not include
    ///     the vault's password.
    ///   - password: The vault's password, required even when L2 is unlocked, because the backup
    ///     also includes L3; nil before the user has set one.
    ///   - label: Metadata that is readable without a key.
    ///   - replacing: Whether an existing file is replaced.
    ///   - progress: Called for every megabyte, on the calling thread; an error that it throws
    ///     cancels the backup.
    /// - Returns: The backup's metadata.
    /// - Throws: `SecureVaultError`: `.invalidPassword`, `.mustWait(seconds:)`, `.authRequired`
    ///   when a required password is missing, `.keystoreReadError`; ``VaultBackupError``;
    ///   `SecureStorageError`; any error that `progress` throws.
    @discardableResult
    public func makeBackup(
        at url: URL, unlockedBy sources: [any KeyEncryptionKeySource], password: SecretBytes?,
        label: VaultBackupLabel = .init(), replacing: Bool = false,
        progress: FileProgress.Handler = { _ in }
    ) throws -> VaultBackupMetadata {
        let keys = try backupKeys(password: password)
        return try VaultBackup.make(
            of: database, at: url, unlockedBy: sources, dataKeys: keys, label: label,
            replacing: replacing, progress: progress)
    }
}

extension SecureVaultFactory {
    /// Restores a backup as this device's vault, with a new device's key and a password.
    ///
    /// Call it before the first ``makeVault(reporter:)``, which then opens the restored vault. A
    /// kill at any point leaves the previous state or the restored vault: no cleanup is needed.
    ///
    /// - Parameters:
    ///   - backup: A backup made by
    ///     `SecureVaultLevels.makeBackup`.
    ///   - url: The file URL of the vault's database, as the factory's database provider uses it;
    ///     its directory must exist.
    ///   - source: The password, recovery code or key of the backup.
    ///   - newPassword: The vault's new password, at least one byte; nil means a generated one, as
    ///     after a first run.
    ///   - replacing: What the restore may replace.
    ///   - keyForm: The same as the database provider's.
    ///   - configuration: The same as the database provider's, if its cipher is not the default.
    ///   - progress: Called for every megabyte, on the calling thread; an error that it throws
    ///     cancels the restore. ``makeVault(reporter:)`` throws while the restore runs.
    /// - Returns: The backup's metadata, authenticated.
    /// - Throws: ``VaultBackupError``: `.inUse` after a vault was made, and separate cases for a
    ///   wrong password and for damage; ``SecureVaultError``: `.invalidPassword` for an empty new
    ///   password; ``/SecureKeys/KeyStoreError``; `SecureStorageError`; any error that `progress`
    ///   throws.
    @discardableResult
    public func restore(
        from backup: URL, to url: URL, unlockedBy source: any KeyEncryptionKeySource,
        newPassword: SecretBytes?, replacing: VaultReplacement = .nothing,
        keyForm: VaultDatabaseProvider.KeyForm = .raw,
        configuration: SecureDatabaseConfiguration = .init(),
        progress: FileProgress.Handler = { _ in }
    ) throws -> VaultBackupMetadata {
        guard newPassword?.count != 0 else { throw SecureVaultError.invalidPassword }
        return try restoring {
            let (crypto, keystore) = try makeEncryptionProviders(reporter: nil)
            let passwordKey = PasswordLevelKey(crypto: crypto, keystore: keystore)
            let keys = try DeviceKeys(
                VaultKeyEntries(keystore: keystore), database: keystore.l1KeyEntryName,
                keyEncryption: nil)
            return try VaultBackupError.translating(url.path, isDatabase: true) {
                try RestoreRun(
                    backup: backup, source: source, keys: keys, replacing: replacing,
                    configuration: configuration, form: keyForm.databaseKey
                ).write(
                    to: url,
                    { db, dataKeys, _, key in
                        let levels = try BackedUpLevels(keys: dataKeys)
                        try passwordKey.entries(for: levels, newPassword).put(into: db, key: key)
                    }, progress)
            }.metadata
        }
    }
}

extension PasswordLevelKey {
    /// Returns the key store's entries for restored levels.
    fileprivate func entries(
        for levels: BackedUpLevels, _ newPassword: SecretBytes?
    ) throws -> RestoredEntries {
        var restored = RestoredEntries()
        if let salt = levels.hashingSalt {
            restored.entries.append((crypto.keychainAccountName, salt))
        }
        let password: SecretBytes
        if let newPassword {
            password = newPassword
        } else {
            var generated = try crypto.generatePassword()
            password = SecretBytes(erasing: &generated)
            restored.entries.append((keystore.generatedPasswordEntryName, password))
        }
        let wrapped = try wrapped(
            levels.root, with: password, isGenerated: newPassword == nil)
        restored.entries.append((keystore.l2KeyEntryName, SecretBytes(copying: wrapped)))
        return restored
    }
}
