public import Foundation
public import SecureStorage

/// Backups of a vault: its database and the keys that its data needs, in one encrypted file.
///
/// A backup is made under a ``/SecureKeys/PasswordKey``, a ``/SecureKeys/RecoveryCode``, or both;
/// either opens it, on any machine. It captures one moment, is made with constant memory while
/// other calls write, and is never on the disk in plaintext. It gets its name only after it was
/// read back and its database checked: a kill or a full disk leaves the place as it was.
///
/// While a backup is made, a hidden directory of mode 0700 beside the file needs room for two
/// encrypted copies of the database. The next call for the same file removes anything a kill leaves
/// there.
///
/// Calls block their thread for about half a second per password (see
/// ``/SecureKeys/ScryptParameters``), and then for as long as the database takes. The `async` calls
/// use a separate thread. The byte format is in `Docs/FileFormats.md`.
public enum VaultBackup {
    /// Makes a backup of a queue's or a pool's database, while its other calls continue.
    ///
    /// - Parameters:
    ///   - database: Open, and not read-only: the vault's ``VaultIdentity`` is incremented. Do not
    ///     call this inside a transaction of the queue or the pool.
    ///   - url: The location of the backup, in an existing directory.
    ///   - sources: The keys, passwords or codes that unlock it: at least one, each with a
    ///     different name. A password may require at most 256 MiB of memory and twice the work of
    ///     the default.
    ///   - dataKeys: The keys of sealed values in the database, at most 64.
    ///   - label: Text that can be read without a key.
    ///   - replacing: Whether an existing file is replaced.
    ///   - progress: Called on the calling thread for every megabyte; an error it throws ends the
    ///     work.
    /// - Returns: The backup's metadata.
    /// - Throws: ``VaultBackupError``; `SecureStorageError` of the database; errors of `progress`.
    @discardableResult
    public static func make(
        of database: any SecureDatabaseWriter, at url: URL,
        unlockedBy sources: [any KeyEncryptionKeySource],
        dataKeys: [VaultBackupKey] = [], label: VaultBackupLabel = .init(), replacing: Bool = false,
        progress: FileProgress.Handler = { _ in }
    ) throws -> VaultBackupMetadata {
        let making = BackupRun(
            database: database, sources: sources, dataKeys: dataKeys, label: label,
            replacing: replacing)
        return try VaultBackupError.translating(url.path, isDatabase: false) {
            try making.write(to: url, progress)
        }
    }

    /// Reads a backup's metadata without a key.
    ///
    /// - Parameter url: The backup.
    /// - Returns: Metadata that is not authenticated yet: anyone may have written it.
    /// - Throws: ``VaultBackupError``.
    public static func metadata(at url: URL) throws -> UnauthenticatedVaultBackupMetadata {
        let header = try OpenedBackup(at: url).header
        return UnauthenticatedVaultBackupMetadata(
            claimed: header.metadata, keyRecords: header.keySet.records)
    }

    /// Checks a backup as restoring it would: every byte, its keys, and the database in it.
    ///
    /// - Parameters:
    ///   - url: The backup. Its directory needs room for the database, which is unpacked there,
    ///     encrypted.
    ///   - source: The password, recovery code or key.
    ///   - configuration: The database's, if its cipher is not the default.
    ///   - progress: Called on the calling thread for every megabyte; an error it throws ends the
    ///     work.
    /// - Returns: The backup's metadata, authenticated.
    /// - Throws: ``VaultBackupError``, which distinguishes a wrong password from damage; errors of
    ///   `progress`.
    @discardableResult
    public static func verify(
        at url: URL, unlockedBy source: any KeyEncryptionKeySource,
        configuration: SecureDatabaseConfiguration = .init(),
        progress: FileProgress.Handler = { _ in }
    ) throws -> VaultBackupMetadata {
        try VaultBackupError.translating(url.path, isDatabase: false) {
            try verify(url, [source], nil, configuration, progress)
        }
    }

    /// Unlocks with each of `sources`, and checks the rest once.
    static func verify(
        _ url: URL, _ sources: [any KeyEncryptionKeySource], _ workspace: BackupWorkspace?,
        _ configuration: SecureDatabaseConfiguration, _ progress: FileProgress.Handler
    ) throws -> VaultBackupMetadata {
        let backup = try OpenedBackup(at: url)
        var unlocked: BackupKeys?
        for source in sources { unlocked = try backup.unlock(with: source) }
        guard let unlocked else { throw VaultBackupError.key(.noSuchKey(name: "")) }
        let workspace = try workspace ?? BackupWorkspace(for: url)
        let database = BackupDatabase(workspace, unlocked, configuration)
        try backup.extract(to: database.url, with: unlocked, progress)
        try database.check(backup.header.metadata, progress)
        return backup.header.metadata
    }
}

/// A data key stored in a backup, so that the values it sealed in the database can be opened again.
public enum VaultBackupKey: Sendable {
    /// The key itself; the backup wraps it.
    case key(DataEncryptionKey)

    /// A set of the vault that stays wrapped, for background backups while the key is locked.
    ///
    /// For each password or recovery code that the backup is made under, it needs a record with the
    /// same name.
    case wrapped(WrappedKeySet)

    /// The name of the data key.
    public var name: String {
        switch self {
        case .key(let key): key.name
        case .wrapped(let set): set.dataKeyName
        }
    }
}
