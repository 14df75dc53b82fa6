public import Foundation
public import SecureStorage

/// Backups of a vault: its database and the keys that its data needs, in one encrypted file.
///
/// A backup is made under a ``PasswordKey``, a ``RecoveryCode``, or both; either opens it, on any
/// machine. It is of one moment, made while others write, with constant memory, and never lies on
/// the disk in plain. It gets its name only after it has been read back and its database checked: a
/// kill or a full disk leaves what was there before.
///
/// While it is made, beside the file and in a hidden directory of mode 0700, there is room for two
/// encrypted copies of the database. What a kill leaves there is removed by the next call for the
/// same file.
///
/// Calls block their thread for about half a second per password (see ``ScryptParameters``), and
/// then as long as the database takes. The `async` ones have a thread of their own. The bytes are
/// in `Docs/FileFormats.md`.
public enum VaultBackup {
    /// Makes a backup of a queue's or a pool's database, while its other calls continue.
    ///
    /// - Parameters:
    ///   - database: Open, and not read-only: its vault's ``VaultIdentity`` counts on. Not from
    ///     inside a transaction of the queue or the pool.
    ///   - url: The location of the backup, whose directory exists.
    ///   - sources: What unlocks it, at least one, each of another name. A password may ask for 256
    ///     MiB of memory and for twice the work of the default at most.
    ///   - dataKeys: The keys of sealed values in the database, at most 64.
    ///   - label: What can be read without a key.
    ///   - replacing: Whether an existing file is replaced.
    ///   - progress: Called after every megabyte, on the calling thread; what it throws ends the
    ///     work.
    /// - Returns: What the backup says about itself.
    /// - Throws: ``VaultBackupError``; `SecureStorageError` of the database; what `progress`
    ///   throws.
    @discardableResult
    public static func make(
        of database: any SecureDatabaseWriter, at url: URL,
        unlockedBy sources: [any KeyEncryptionKeySource],
        dataKeys: [VaultBackupKey] = [], label: VaultBackupLabel = .init(), replacing: Bool = false,
        progress: VaultBackupProgress.Handler = { _ in }
    ) throws -> VaultBackupMetadata {
        let making = BackupMaking(
            database: database, sources: sources, dataKeys: dataKeys, label: label,
            replacing: replacing)
        return try VaultBackupError.translating(url.path, isDatabase: false) {
            try making.write(to: url, progress)
        }
    }

    /// Reads what a file says about itself, without a key.
    ///
    /// - Parameter url: The backup.
    /// - Returns: What is not authenticated yet: anyone may have written it.
    /// - Throws: ``VaultBackupError``.
    public static func metadata(at url: URL) throws -> UnauthenticatedVaultBackupMetadata {
        let header = try OpenedBackup(at: url).header
        return UnauthenticatedVaultBackupMetadata(
            claimed: header.metadata, keyRecords: header.keySet.records)
    }

    /// Checks a backup as restoring it would: every byte of it, its keys, and the database in it.
    ///
    /// - Parameters:
    ///   - url: The backup. Its directory has room for the database, which is unpacked there,
    ///     encrypted.
    ///   - source: The password, recovery code or key.
    ///   - configuration: As the database's, where its cipher is not the default.
    ///   - progress: Told of every megabyte, on the calling thread; what it throws ends the work.
    /// - Returns: What the backup says about itself, authenticated.
    /// - Throws: ``VaultBackupError``: a wrong password is told from damage; what `progress`
    ///   throws.
    @discardableResult
    public static func verify(
        at url: URL, unlockedBy source: any KeyEncryptionKeySource,
        configuration: SecureDatabaseConfiguration = .init(),
        progress: VaultBackupProgress.Handler = { _ in }
    ) throws -> VaultBackupMetadata {
        try VaultBackupError.translating(url.path, isDatabase: false) {
            try verify(url, [source], nil, configuration, progress)
        }
    }

    /// Unlocks with each of `sources`, and checks the rest once.
    static func verify(
        _ url: URL, _ sources: [any KeyEncryptionKeySource], _ workspace: BackupWorkspace?,
        _ configuration: SecureDatabaseConfiguration, _ progress: VaultBackupProgress.Handler
    ) throws -> VaultBackupMetadata {
        let backup = try OpenedBackup(at: url)
        var unlocked: BackupKeys?
        for source in sources { unlocked = try backup.unlock(with: source) }
        guard let unlocked else { throw VaultBackupError.noSuchKey(name: "") }
        let workspace = try workspace ?? BackupWorkspace(for: url)
        let database = BackupDatabase(workspace, unlocked, configuration)
        try backup.extract(to: database.url, with: unlocked, progress)
        try database.check(backup.header.metadata, progress)
        return backup.header.metadata
    }
}
