public import Foundation
internal import SecureStoragePlatform
public import SecureStorage

// These calls take too long to block one of Swift's or Dispatch's threads.

extension VaultBackup {
    /// Makes a backup of a queue's or a pool's database, like the synchronous call but on a
    /// separate thread.
    ///
    /// - Parameters:
    ///   - database: Open, and not read-only.
    ///   - url: The location of the backup.
    ///   - sources: The keys, passwords or codes that unlock it.
    ///   - dataKeys: The keys of sealed values in the database.
    ///   - label: Text that can be read without a key.
    ///   - replacing: Whether an existing file is replaced.
    ///   - progress: Called on that thread for every megabyte; an error it throws ends the work.
    /// - Returns: The backup's metadata.
    /// - Throws: As the synchronous call; `CancellationError`, and then no backup is left.
    @discardableResult
    public static func make(
        of database: any SecureDatabaseWriter, at url: URL,
        unlockedBy sources: [any KeyEncryptionKeySource],
        dataKeys: [VaultBackupKey] = [], label: VaultBackupLabel = .init(), replacing: Bool = false,
        progress: @escaping @Sendable (FileProgress) throws -> Void = { _ in }
    ) async throws -> VaultBackupMetadata {
        try await onOwnThread(reporting: progress) {
            try make(
                of: database, at: url, unlockedBy: sources, dataKeys: dataKeys, label: label,
                replacing: replacing,
                progress: $0)
        }
    }

    /// Checks a backup, like the synchronous call but on a separate thread.
    ///
    /// - Parameters:
    ///   - url: The backup.
    ///   - source: The password, recovery code or key.
    ///   - configuration: The database's, if its cipher is not the default.
    ///   - progress: Called on that thread for every megabyte; an error it throws ends the work.
    /// - Returns: The backup's metadata, authenticated.
    /// - Throws: As the synchronous call; `CancellationError`.
    @discardableResult
    public static func verify(
        at url: URL, unlockedBy source: any KeyEncryptionKeySource,
        configuration: SecureDatabaseConfiguration = .init(),
        progress: @escaping @Sendable (FileProgress) throws -> Void = { _ in }
    ) async throws -> VaultBackupMetadata {
        try await onOwnThread(reporting: progress) {
            try verify(
                at: url, unlockedBy: source, configuration: configuration,
                progress: $0)
        }
    }

    /// Restores a backup, like the synchronous call but on a separate thread.
    ///
    /// - Parameters:
    ///   - backup: The backup.
    ///   - url: The place of the database.
    ///   - source: The password, recovery code or key.
    ///   - keyStore: The device's key store.
    ///   - keyNames: The names that the two keys are stored under.
    ///   - replacing: What the restore may replace.
    ///   - configuration: The database's, if its cipher is not the default.
    ///   - preparing: Stores the wrapped keys in the database.
    ///   - progress: Called on that thread for every megabyte; an error it throws ends the work.
    /// - Returns: The wrapped keys.
    /// - Throws: As the synchronous call; `CancellationError`, and then everything is unchanged.
    @discardableResult
    public static func restore(
        from backup: URL, to url: URL, unlockedBy source: any KeyEncryptionKeySource,
        keyStore: any KeyStore, keyNames: VaultKeyNames, replacing: VaultReplacement = .nothing,
        configuration: SecureDatabaseConfiguration = .init(),
        preparing: @escaping @Sendable (SecureDatabaseStore, [WrappedKeySet]) throws -> Void = {
            _, _ in
        },
        progress: @escaping @Sendable (FileProgress) throws -> Void = { _ in }
    ) async throws -> RestoredVault {
        try await onOwnThread(reporting: progress) {
            try restore(
                from: backup, to: url, unlockedBy: source, keyStore: keyStore, keyNames: keyNames,
                replacing: replacing, configuration: configuration, preparing: preparing,
                progress: $0)
        }
    }
}
