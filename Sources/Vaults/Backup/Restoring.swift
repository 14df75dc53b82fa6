internal import Foundation
internal import SecureStorage

/// Restores one backup.
struct Restoring {
    /// Changes the database before it has its name: gets the backup's data keys, and those wrapped for this device.
    typealias Preparation =
        (SecureDatabaseStore, [DataEncryptionKey], [WrappedKeySet]) throws -> Void

    let backup: URL
    let source: any KeyEncryptionKeySource
    let keys: DeviceKeys
    let replacing: VaultReplacement
    let configuration: SecureDatabaseConfiguration

    func write(
        to url: URL, _ preparing: Preparation, _ progress: VaultBackupProgress.Handler
    ) throws -> RestoredVault {
        guard !configuration.isReadOnly else {
            throw VaultBackupError.unacceptableContents(
                reason: "a read-only configuration; restore with one that may write")
        }
        let opened = try OpenedBackup(at: backup)
        let unlocked = try opened.unlock(with: source)
        let workspace = try BackupWorkspace(for: url)
        do {
            _ = try keys.finish(for: workspace.target, configuration)
        } catch VaultBackupError.currentUnreadable where replacing == .anything {}
        // Early, on what is only claimed: it is authentic when anything is replaced.
        try checkCurrent(at: workspace.target, opened.header.metadata)
        let database = BackupDatabase(workspace, unlocked, configuration)
        try opened.extract(to: database.url, with: unlocked, progress)
        try database.check(opened.header.metadata, progress)

        let databaseKey = SecretBytes.random(count: 32)
        let keyEncryptionKey = try keys.keyEncryption.map { try KeyEncryptionKey.random(name: $0) }
        let sets =
            try keyEncryptionKey.map { key in
                try unlocked.dataKeys.map { try WrappedKeySet(wrapping: $0, with: key) }
            } ?? []
        try database.withStore(readOnly: false) { store in
            try store.beginExclusiveTransaction()
            do {
                try preparing(store, unlocked.dataKeys, sets)
                try store.commit()
            } catch {
                try? store.rollback()
                throw error
            }
        }
        try keys.stage(database: databaseKey, keyEncryption: keyEncryptionKey?.secret())
        do {
            try database.withStore(readOnly: true) { store in
                try store.backup(
                    to: workspace.target, key: .raw(databaseKey), replacing: replacing != .nothing
                ) { try progress(VaultBackupProgress(step: .copying, fraction: $0.fraction)) }
            }
        } catch {
            // The old database may have its old keys only; what cannot be removed now goes later.
            _ = try? keys.finish(for: workspace.target, configuration)
            throw error
        }
        try keys.promote()
        return RestoredVault(metadata: opened.header.metadata, keySets: sets)
    }

    /// Whether the vault at the place, if there is one, may give way to the backup.
    private func checkCurrent(at url: URL, _ metadata: VaultBackupMetadata) throws {
        let exists = SecureDatabaseStore.exists(at: url)
        switch replacing {
        case .anything:
            return
        case .nothing:
            guard !exists else {
                throw VaultBackupError.taken(
                    reason: "there is a vault at \(KeyStoreError.quoted(url.path))")
            }
            for name in keys.names where try keys.read(name) != nil {
                throw VaultBackupError.taken(
                    reason:
                        "the key store has a key \(KeyStoreError.quoted(name)) already, which data "
                        + "elsewhere may need")
            }
        case .sameVault, .sameVaultNotNewer:
            guard exists else { return }
            let current = try identity(at: url)
            guard current.id == metadata.vaultID else {
                throw VaultBackupError.otherVault(backup: metadata.vaultID, current: current.id)
            }
            guard replacing == .sameVault || current.generation <= metadata.generation else {
                throw VaultBackupError.olderThanCurrent(
                    backup: metadata.generation, current: current.generation)
            }
        }
    }

    private func identity(at url: URL) throws -> VaultIdentity {
        guard let key = try keys.read(keys.database) else {
            throw VaultBackupError.currentUnreadable(reason: "the key store has no key for it")
        }
        var configuration = configuration
        configuration.secondInstance = .allowed
        let store = SecureDatabaseStore(url: url, configuration: configuration)
        do {
            // To write: a log that a killed app has left would be in the way of the new file.
            try store.open(with: .raw(key)) { _ in nil }
        } catch SecureStorageError.authenticationFailed {
            throw VaultBackupError.currentUnreadable(reason: "the key store's key does not open it")
        }
        defer { store.close() }
        guard let identity = try VaultIdentity.read(in: store) else {
            throw VaultBackupError.currentUnreadable(
                reason: "it has no vault id, since no backup was ever made of it")
        }
        return identity
    }
}
