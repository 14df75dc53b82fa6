public import Foundation
public import SecureStorage

/// What restoring a backup may replace.
public enum VaultReplacement: Sendable, CaseIterable {
    /// Nothing: there is no file at the place, and the key store has neither of the two keys.
    case nothing
    /// The same vault, unless it is newer: of a later generation than the backup's, or changed
    /// since the backup.
    case sameVaultNotNewer
    /// The same vault, whatever has become of it.
    case sameVault
    /// Anything: another vault, a file that no key opens, keys without a file.
    case anything
}

/// Where the two keys of a vault lie in its device's key store.
public struct VaultKeyNames: Sendable, Equatable {
    /// The name of the database's raw key, 32 bytes.
    public let database: String

    /// The name of the key-encryption key, 32 bytes, in the key store and in the sets of wrapped
    /// keys.
    public let keyEncryption: String

    /// Two names.
    ///
    /// - Parameters:
    ///   - database: 1 to 240 bytes of UTF-8.
    ///   - keyEncryption: 1 to 240 bytes of UTF-8, another one.
    public init(database: String, keyEncryption: String) {
        self.database = database
        self.keyEncryption = keyEncryption
    }
}

/// What has been restored.
public struct RestoredVault: Sendable {
    /// What the backup says about itself, authenticated.
    public let metadata: VaultBackupMetadata

    /// The data keys of the backup, in its order, each wrapped by the device's new key-encryption
    /// key.
    public let keySets: [WrappedKeySet]
}

extension VaultBackup {
    /// Puts the restored vault's wrapped keys where the app looks for them, in the database itself.
    ///
    /// Runs in a transaction of the database before it has its name: with it or not at all.
    public typealias Preparation = (SecureDatabaseStore, [WrappedKeySet]) throws -> Void

    /// Restores a backup as the vault of this device, under fresh keys.
    ///
    /// The database gets a new key, and the data keys are wrapped by a new key-encryption key. Both
    /// lie in the key store before the database has its name. The database is checked and written
    /// beside its place: a kill at any point leaves the old vault or the new one. When it comes
    /// between the name and the last of the keys,
    /// ``finishInterruptedRestore(at:keyStore:keyNames:configuration:)`` goes on, which an app
    /// calls before it opens its vault.
    ///
    /// - Parameters:
    ///   - backup: The backup.
    ///   - url: The place of the database, whose directory exists and has room for two copies. No
    ///     store has it open.
    ///   - source: The password, recovery code or key.
    ///   - keyStore: The device's.
    ///   - keyNames: Where the two keys are put.
    ///   - replacing: What may be there already.
    ///   - configuration: As the database's, where its cipher is not the default.
    ///   - preparing: Stores the wrapped keys in the database, and changes what else is to be
    ///     changed.
    ///   - progress: Told of every megabyte, on the calling thread; what it throws ends the work.
    /// - Returns: The wrapped keys. Where nothing stores them while `preparing`, a kill right now
    ///   would lose them: the backup still has them.
    /// - Throws: ``VaultBackupError``: a wrong password is told from damage; ``KeyStoreError``;
    ///   `SecureStorageError`; what `preparing` and `progress` throw.
    @discardableResult
    public static func restore(
        from backup: URL, to url: URL, unlockedBy source: any KeyEncryptionKeySource,
        keyStore: any KeyStore, keyNames: VaultKeyNames, replacing: VaultReplacement = .nothing,
        configuration: SecureDatabaseConfiguration = .init(),
        preparing: Preparation = { _, _ in }, progress: VaultBackupProgress.Handler = { _ in }
    ) throws -> RestoredVault {
        try VaultBackupError.translating(url.path, isDatabase: true) {
            try Restoring(
                backup: backup, source: source, keys: DeviceKeys(keyStore, keyNames),
                replacing: replacing, configuration: configuration
            ).write(to: url, { db, _, sets, _ in try preparing(db, sets) }, progress)
        }
    }

    /// Ends a restore that was killed between the database's name and the last of its keys.
    ///
    /// Call it before a vault is opened, when nothing else has it open; it costs two look-ups in
    /// the key store when there is nothing to do. Restoring calls it, too.
    ///
    /// - Parameters:
    ///   - url: The place of the database.
    ///   - keyStore: The device's.
    ///   - keyNames: As for restoring.
    ///   - configuration: As the database's.
    /// - Returns: Whether there was something to do.
    /// - Throws: `VaultBackupError.currentUnreadable` when neither key opens the database, and both
    ///   are kept; ``KeyStoreError``; `SecureStorageError`.
    @discardableResult
    public static func finishInterruptedRestore(
        at url: URL, keyStore: any KeyStore, keyNames: VaultKeyNames,
        configuration: SecureDatabaseConfiguration = .init()
    ) throws -> Bool {
        try VaultBackupError.translating(url.path, isDatabase: true) {
            let keys = try DeviceKeys(keyStore, keyNames)
            guard try keys.arePending() else { return false }
            let workspace = try BackupWorkspace(for: url)
            return try keys.finish(for: workspace.target, configuration)
        }
    }
}
