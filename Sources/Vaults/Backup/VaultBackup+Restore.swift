public import Foundation
public import SecureStorage

/// What restoring a backup may replace.
public enum VaultReplacement: Sendable, CaseIterable {
    /// Nothing: no file exists at the place, and the key store has neither of the two keys.
    case nothing
    /// The same vault, unless it is newer: of a later generation than the backup's, or changed
    /// since the backup.
    case sameVaultNotNewer
    /// The same vault, even if it is newer.
    case sameVault
    /// Anything: another vault, a file that no key opens, keys without a file.
    case anything
}

/// The names of a vault's two keys in its device's key store.
public struct VaultKeyNames: Sendable, Equatable {
    /// The name of the database's raw key, 32 bytes.
    public let database: String

    /// The name of the key-encryption key, 32 bytes, in the key store and in the sets of wrapped
    /// keys.
    public let keyEncryption: String

    /// Creates a pair of names.
    ///
    /// - Parameters:
    ///   - database: 1 to 240 bytes of UTF-8.
    ///   - keyEncryption: 1 to 240 bytes of UTF-8, different from `database`.
    public init(database: String, keyEncryption: String) {
        self.database = database
        self.keyEncryption = keyEncryption
    }
}

/// The result of restoring a backup.
public struct RestoredVault: Sendable {
    /// The backup's metadata, authenticated.
    public let metadata: VaultBackupMetadata

    /// The data keys of the backup, in its order, each wrapped by the device's new key-encryption
    /// key.
    public let keySets: [WrappedKeySet]
}

extension VaultBackup {
    /// Stores the restored vault's wrapped keys where the app expects them, in the database itself.
    ///
    /// Runs in a transaction of the database before it is put in place, so both or neither take
    /// effect.
    public typealias Preparation = (SecureDatabaseStore, [WrappedKeySet]) throws -> Void

    /// Restores a backup as the vault of this device, under fresh keys.
    ///
    /// The database gets a new key, and the data keys are wrapped by a new key-encryption key. Both
    /// are in the key store before the database is put in place. The database is checked and
    /// written beside its place: a kill at any point leaves the old vault or the new one. After a
    /// kill between placing the database and storing the last key,
    /// ``finishInterruptedRestore(at:keyStore:keyNames:configuration:)`` completes the restore; an
    /// app calls it before it opens its vault.
    ///
    /// - Parameters:
    ///   - backup: The backup.
    ///   - url: The place of the database, in an existing directory with room for two copies. No
    ///     store has it open.
    ///   - source: The password, recovery code or key.
    ///   - keyStore: The device's key store.
    ///   - keyNames: The names that the two keys are stored under.
    ///   - replacing: What the restore may replace.
    ///   - configuration: The database's, if its cipher is not the default.
    ///   - preparing: Stores the wrapped keys in the database, and makes any other changes.
    ///   - progress: Called on the calling thread for every megabyte; an error it throws ends the
    ///     work.
    /// - Returns: The wrapped keys. If `preparing` does not store them, a kill right now would lose
    ///   them; the backup still has them.
    /// - Throws: ``VaultBackupError``, which distinguishes a wrong password from damage;
    ///   ``/SecureKeys/KeyStoreError``; `SecureStorageError`; errors of `preparing` and `progress`.
    @discardableResult
    public static func restore(
        from backup: URL, to url: URL, unlockedBy source: any KeyEncryptionKeySource,
        keyStore: any KeyStore, keyNames: VaultKeyNames, replacing: VaultReplacement = .nothing,
        configuration: SecureDatabaseConfiguration = .init(),
        preparing: Preparation = { _, _ in }, progress: FileProgress.Handler = { _ in }
    ) throws -> RestoredVault {
        try VaultBackupError.translating(url.path, isDatabase: true) {
            try RestoreRun(
                backup: backup, source: source, keys: DeviceKeys(keyStore, keyNames),
                replacing: replacing, configuration: configuration
            ).write(to: url, { db, _, sets, _ in try preparing(db, sets) }, progress)
        }
    }

    /// Completes a restore that was killed between placing the database and storing the last key.
    ///
    /// Call it before opening a vault, while nothing else has it open. If no restore was
    /// interrupted, it costs two look-ups in the key store. Restoring calls it, too.
    ///
    /// - Parameters:
    ///   - url: The place of the database.
    ///   - keyStore: The device's key store.
    ///   - keyNames: The same as for restoring.
    ///   - configuration: The database's.
    /// - Returns: Whether an interrupted restore was found.
    /// - Throws: `VaultBackupError.currentUnreadable` if neither key opens the database; both are
    ///   then kept; ``/SecureKeys/KeyStoreError``; `SecureStorageError`.
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
