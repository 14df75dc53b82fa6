public import Foundation
internal import SecureStoragePlatform
public import SecureStorage

/// A vault's database in a file, with its schema migrations.
///
/// A vault's own provider subclasses this class or holds an instance. A key that does not open the
/// file is an error, like damage: the file is neither moved nor changed.
///
/// Thread-safe.
open class VaultDatabaseProvider: SecureStorageDatabaseProvider, @unchecked Sendable {
    // @unchecked: a non-final class cannot be checked; nothing here is mutable.

    /// How the file is accessed.
    public enum DatabaseWriterType: Sendable {
        /// A `SecureDatabaseQueue`.
        case queue
        /// A `SecureDatabasePool`, which requires WAL mode.
        case pool
    }

    /// How the file is keyed.
    public enum KeyForm: Sendable {
        /// The 32 bytes are the key of the cipher.
        case raw
        /// The bytes are a passphrase, as in files of other SecureVaults: the derivation takes
        /// another tenth of a second.
        case passphrase

        func databaseKey(_ key: SecretBytes) -> DatabaseKey {
            switch self {
            case .raw: .raw(key)
            case .passphrase: .passphrase(key)
            }
        }
    }

    /// The open database.
    public let db: any SecureDatabaseWriter

    /// Opens the file, creates it if it does not exist, and runs its pending migrations.
    ///
    /// - Parameters:
    ///   - file: The file's URL; its directory must exist. See
    ///     ``databaseFilePath(directoryName:fileName:appGroupIdentifier:)``.
    ///   - key: The key from the factory: the device's key, 32 random bytes.
    ///   - writerType: One connection, or several. Default: ``DatabaseWriterType/queue``.
    ///   - keyForm: Default: ``KeyForm/raw``.
    ///   - configuration: Journal, durability, cipher. An app group needs
    ///     `cipher.plaintextHeaderSize = 32`.
    ///   - registerMigrationsHandler: Registers the schema migrations.
    /// - Throws: `SecureStorageError`, and any error that the handler throws.
    public init(
        file: URL, key: Data, writerType: DatabaseWriterType = .queue, keyForm: KeyForm = .raw,
        configuration: SecureDatabaseConfiguration = .init(),
        registerMigrationsHandler: (inout SchemaMigrations) throws -> Void
    ) throws {
        var migrations = SchemaMigrations()
        try registerMigrationsHandler(&migrations)
        let databaseKey = keyForm.databaseKey(SecretBytes(copying: key))
        db =
            switch writerType {
            case .queue: SecureDatabaseQueue(url: file, configuration: configuration)
            case .pool: SecureDatabasePool(url: file, configuration: configuration)
            }
        try db.open(with: databaseKey)
        try db.migrate(migrations)
    }

    /// Returns the default path of a vault's file, and creates its directory for the owner only.
    ///
    /// - Parameters:
    ///   - directoryName: A directory in the user's Application Support (on Linux `$XDG_DATA_HOME`
    ///     or `~/.local/share`), or in the container of the group.
    ///   - fileName: The name with its extension.
    ///   - appGroupIdentifier: For files that several programs share, on Apple platforms.
    /// - Returns: The file's URL.
    /// - Throws: `SecureVaultError.initFailed` when the system has no such group, or the directory
    ///   cannot be created.
    public static func databaseFilePath(
        directoryName: String, fileName: String, appGroupIdentifier: String? = nil
    ) throws -> URL {
        do {
            let directory = try parent(appGroupIdentifier).appendingPathComponent(directoryName)
            try FileManager.default.createDirectory(
                at: directory, withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
            return directory.appendingPathComponent(fileName)
        } catch {
            throw SecureVaultError.initFailed(cause: error)
        }
    }

    private static func parent(_ group: String?) throws -> URL {
        guard let group else { return StandardDirectories.applicationSupport }
        guard let container = StandardDirectories.container(ofAppGroup: group) else {
            throw KeyStoreError.refused(
                reason: "the program does not belong to the app group \(group), "
                    + "which only Apple platforms have")
        }
        return container
    }
}
