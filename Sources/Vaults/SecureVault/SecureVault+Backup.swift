public import Foundation
public import SecureStorage

extension SecureVaultLevels {
    /// Makes a backup of the vault, of its database and of the keys of its levels: see
    /// ``VaultBackup``.
    ///
    /// Others read and write meanwhile.
    /// ``SecureVaultFactory/restore(from:to:unlockedBy:newPassword:replacing:keyForm:configuration:progress:)``
    /// restores it, on any machine.
    ///
    /// - Parameters:
    ///   - url: The place of the backup, whose directory exists.
    ///   - sources: What unlocks the backup: passwords, recovery codes. It need not be the vault's
    ///     password.
    ///   - password: The vault's, also when L2 is unlocked: L3 is in the backup, too. nil before
    ///     the user has set one.
    ///   - label: What can be read without a key.
    ///   - replacing: Whether a file that is there already is replaced.
    ///   - progress: Told of every megabyte, on the calling thread; what it throws ends the work.
    /// - Returns: What the backup says about itself.
    /// - Throws: `SecureVaultError`: `.invalidPassword`, `.authRequired` without a password that is
    ///   needed, `.keystoreReadError`; ``VaultBackupError``; `SecureStorageError`; what `progress`
    ///   throws.
    @discardableResult
    public func makeBackup(
        at url: URL, unlockedBy sources: [any KeyEncryptionKeySource], password: SecretBytes?,
        label: VaultBackupLabel = .init(), replacing: Bool = false,
        progress: VaultBackupProgress.Handler = { _ in }
    ) throws -> VaultBackupMetadata {
        let keys = try backupKeys(password: password)
        return try VaultBackup.make(
            of: database, at: url, unlockedBy: sources, dataKeys: keys, label: label,
            replacing: replacing, progress: progress)
    }
}

extension SecureVaultFactory {
    /// Restores a backup as the vault of this device, under a fresh device's key and a password.
    ///
    /// Before the first ``makeVault(reporter:)``, which then opens what was restored. A kill at any
    /// point leaves what was there before, or the restored vault: there is nothing to be cleaned
    /// up.
    ///
    /// - Parameters:
    ///   - backup: As
    ///     ``SecureVaultLevels/makeBackup(at:unlockedBy:password:label:replacing:progress:)`` has
    ///     made it.
    ///   - url: The place of the vault's database, where the factory's database provider looks for
    ///     it; its directory exists.
    ///   - source: The password, recovery code or key of the backup.
    ///   - newPassword: The vault's from now on, at least one byte; nil stands for a generated one,
    ///     as after a first run.
    ///   - replacing: What may be there already.
    ///   - keyForm: As the database provider's.
    ///   - configuration: As the database provider's, where its cipher is not the default.
    ///   - progress: Told of every megabyte, on the calling thread; what it throws ends the work.
    ///     ``makeVault(reporter:)`` throws meanwhile.
    /// - Returns: What the backup says about itself, authenticated.
    /// - Throws: ``VaultBackupError``: `.inUse` after a vault was made, a wrong password is told
    ///   from damage; ``SecureVaultError``: `.invalidPassword` for an empty new one;
    ///   ``KeyStoreError``; `SecureStorageError`; what `progress` throws.
    @discardableResult
    public func restore(
        from backup: URL, to url: URL, unlockedBy source: any KeyEncryptionKeySource,
        newPassword: SecretBytes?, replacing: VaultReplacement = .nothing,
        keyForm: VaultDatabaseProvider.KeyForm = .raw,
        configuration: SecureDatabaseConfiguration = .init(),
        progress: VaultBackupProgress.Handler = { _ in }
    ) throws -> VaultBackupMetadata {
        guard newPassword?.count != 0 else { throw SecureVaultError.invalidPassword }
        return try restoring {
            let (crypto, keystore) = try makeEncryptionProviders(reporter: nil)
            let passwordKey = PasswordLevelKey(crypto: crypto, keystore: keystore)
            let keys = try DeviceKeys(
                VaultKeyEntries(keystore: keystore), database: keystore.l1KeyEntryName,
                keyEncryption: nil)
            return try VaultBackupError.translating(url.path, isDatabase: true) {
                try Restoring(
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
    /// What the key store is to hold of restored levels.
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
        for entry in try newEntries(levels.root, with: password) {
            restored.entries.append((entry.name, SecretBytes(copying: entry.data)))
        }
        return restored
    }
}
