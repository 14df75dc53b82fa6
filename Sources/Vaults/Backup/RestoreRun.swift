internal import Crypto
internal import Foundation
internal import SecureStorage

/// Restores one backup.
struct RestoreRun {
    /// Changes the database before it is put in place.
    ///
    /// Receives the backup's data keys, the same keys wrapped for this device, and the database's
    /// new key.
    typealias Preparation =
        (SecureDatabaseStore, [DataEncryptionKey], [WrappedKeySet], SecretBytes) throws -> Void

    let backup: URL
    let source: any KeyEncryptionKeySource
    let keys: DeviceKeys
    let replacing: VaultReplacement
    let configuration: SecureDatabaseConfiguration
    /// Maps the raw key to the form that opens the database.
    var form: (SecretBytes) -> DatabaseKey = { .raw($0) }

    func write(
        to url: URL, _ preparing: Preparation, _ progress: FileProgress.Handler
    ) throws -> RestoredVault {
        guard !configuration.isReadOnly else {
            throw VaultBackupError.unacceptableContents(
                reason: "the configuration is read-only; restore with a writable one")
        }
        let opened = try OpenedBackup(at: backup)
        let unlocked = try opened.unlock(with: source)
        let workspace = try BackupWorkspace(for: url)
        do {
            _ = try keys.finish(for: workspace.target, configuration, form)
        } catch VaultBackupError.currentUnreadable where replacing == .anything {}
        // Fail before unpacking if possible; checked again before anything is replaced.
        _ = try checkCurrent(at: workspace.target, opened.header.metadata)
        let database = BackupDatabase(workspace, unlocked, configuration)
        try opened.extract(to: database.url, with: unlocked, progress)
        try database.check(opened.header.metadata, progress)
        let content =
            replacing == .sameVaultNotNewer
            ? try database.withStore(readOnly: true, ContentDigest.of) : nil

        let databaseKey = SecretBytes.random(count: 32)
        let keyEncryptionKey = try keys.keyEncryption.map { try KeyEncryptionKey.random(name: $0) }
        let sets =
            try keyEncryptionKey.map { key in
                try unlocked.dataKeys.map { try WrappedKeySet(wrapping: $0, with: key) }
            } ?? []
        try database.withStore(readOnly: false) { store in
            // In a block: `preparing` cannot end its transaction, and key-value stores on the store
            // take part in it.
            try SecureDatabaseQueue(databaseStore: store).inExclusiveTransaction { store in
                try preparing(store, unlocked.dataKeys, sets, databaseKey)
                return false
            }
        }
        // Check again: unpacking takes time.
        let isReplacing = try checkCurrent(at: workspace.target, opened.header.metadata, content)
        try keys.stage(database: databaseKey, keyEncryption: keyEncryptionKey?.secret())
        do {
            try database.withStore(readOnly: true, isLasting: true) { store in
                try store.backup(
                    to: workspace.target, key: form(databaseKey), replacing: isReplacing
                ) { try progress(FileProgress($0.completed, of: $0.total, step: .copying)) }
            }
        } catch {
            // The old database must keep only its old keys; entries that cannot be removed now are
            // removed later.
            _ = try? keys.finish(for: workspace.target, configuration, form)
            throw error
        }
        try keys.promote(databaseKey)
        return RestoredVault(metadata: opened.header.metadata, keySets: sets)
    }

    /// Returns whether the place holds a vault, and throws if the backup may not replace it.
    ///
    /// `content` is the digest of the backup's content, once it is known.
    private func checkCurrent(
        at url: URL, _ metadata: VaultBackupMetadata, _ content: SHA256.Digest? = nil
    ) throws -> Bool {
        let exists = SecureDatabaseStore.exists(at: url)
        guard replacing != .anything else { return exists }
        guard exists else {
            for name in keys.names where try keys.entries.read(name) != nil {
                throw VaultBackupError.taken(
                    reason:
                        "the key store already has a key \(KeyStoreError.quoted(name)), which data "
                        + "elsewhere may need")
            }
            return false
        }
        guard replacing != .nothing else {
            throw VaultBackupError.taken(
                reason: "a vault already exists at \(KeyStoreError.quoted(url.path))")
        }
        try withCurrent(at: url) { current, identity in
            guard identity.id == metadata.vaultID else {
                throw VaultBackupError.otherVault(backup: metadata.vaultID, current: identity.id)
            }
            guard replacing == .sameVaultNotNewer else { return }
            // At the same generation, the vault is in the backup's own state or a later one.
            let isChanged =
                try content.map {
                    try identity.generation == metadata.generation
                        && ContentDigest.of(current) != $0
                } ?? false
            guard identity.generation <= metadata.generation, !isChanged else {
                throw VaultBackupError.olderThanCurrent(
                    backup: metadata.generation, current: identity.generation)
            }
        }
        return true
    }

    private func withCurrent(
        at url: URL, _ body: (SecureDatabaseStore, VaultIdentity) throws -> Void
    ) throws {
        guard let key = try keys.entries.read(keys.database) else {
            throw VaultBackupError.currentUnreadable(reason: "the key store has no key for it")
        }
        var configuration = configuration
        configuration.secondInstance = .allowed
        let store = SecureDatabaseStore(url: url, configuration: configuration)
        do {
            // Open for writing: a log left by a killed app would obstruct the new file.
            try store.open(with: form(key)) { _ in nil }
        } catch SecureStorageError.authenticationFailed {
            throw VaultBackupError.currentUnreadable(reason: "the key store's key does not open it")
        }
        defer { store.close() }
        guard let identity = try VaultIdentity.read(in: store) else {
            throw VaultBackupError.currentUnreadable(
                reason: "it has no vault id because it was never backed up")
        }
        try body(store, identity)
    }
}
