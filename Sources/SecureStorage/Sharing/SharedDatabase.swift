public import Foundation
internal import SecureStoragePlatform

/// A database file that several processes use at the same time: an app and its extensions, or a
/// service and its workers.
///
/// Each process opens a pool on it. WAL mode lets all of them read while one writes. A writer waits
/// for the writers of other processes up to the busy timeout, and then gets an error for which
/// ``SecureStorageError/isBusy`` is true. See `Docs/Sharing.md`.
///
/// Thread-safe.
public struct SharedDatabase: Sendable {
    /// The location of the file, in a directory that all processes, or those that write, can write
    /// to.
    public let url: URL

    /// The settings of the pools.
    public let configuration: SecureDatabaseConfiguration

    /// Settings suited to a file in a shared container.
    ///
    /// A plaintext header of 32 bytes lets iOS recognise the file (its salt is kept beside it). The
    /// log stays when the last process closes, so that a process with read permission only can read
    /// the file. The busy timeout is 10 seconds.
    public static var defaultConfiguration: SecureDatabaseConfiguration {
        var configuration = SecureDatabaseConfiguration()
        configuration.cipher.plaintextHeaderSize = 32
        configuration.keepsWriteAheadLog = true
        configuration.busyTimeout = .seconds(10)
        return configuration
    }

    /// Names the file; opens nothing yet.
    ///
    /// - Parameters:
    ///   - url: A file URL.
    ///   - configuration: The cipher settings must be the same in every process.
    public init(
        at url: URL, configuration: SecureDatabaseConfiguration = Self.defaultConfiguration
    ) {
        self.url = url
        self.configuration = configuration
    }

    /// Opens the file for reading and writing, creates it if it does not exist, and brings its
    /// schema up to date.
    ///
    /// Any number of processes may start at the same time: one of them creates the file and runs
    /// the steps of `migrations`, while the others wait. On Apple platforms this happens inside a
    /// coordinated write
    /// ([`NSFileCoordinator`](https://developer.apple.com/documentation/foundation/nsfilecoordinator));
    /// elsewhere a temporary lock file protects the creation.
    ///
    /// - Parameters:
    ///   - key: A passphrase or a raw key.
    ///   - migrations: The steps of the schema, if it has any.
    ///   - configure: As for ``SecureDatabasePool/init(url:configuration:configure:)``.
    /// - Returns: An open pool.
    /// - Throws: As `SecureDatabasePool.open(with:)` and `migrate(_:)`; the coordinator's error.
    public func open(
        with key: DatabaseKey, migrations: SchemaMigrations? = nil,
        configure: @escaping @Sendable (SecureDatabaseStore) throws -> Void = { _ in }
    ) throws -> SecureDatabasePool {
        var configuration = configuration
        configuration.isReadOnly = false
        return try FileCoordination.writing(url) { url in
            let pool = SecureDatabasePool(
                url: url, configuration: configuration, configure: configure)
            // Others wait for one step, not for all of a new file's.
            try pool.open(with: key)
            try pool.migrateOrClose(migrations)
            return pool
        }
    }

    /// Opens the file for reading and writing, creates it if it does not exist, and brings its
    /// schema up to date.
    ///
    /// Otherwise as the synchronous call. Cancelling the task does not end it.
    public func open(
        with key: DatabaseKey, migrations: SchemaMigrations? = nil,
        configure: @escaping @Sendable (SecureDatabaseStore) throws -> Void = { _ in }
    ) async throws -> SecureDatabasePool {
        try await onOwnThread(evenIfCancelled: true) {
            try open(with: key, migrations: migrations, configure: configure)
        }
    }

    /// Opens the file for reading only.
    ///
    /// - Parameters:
    ///   - key: A passphrase or a raw key.
    ///   - configure: As for ``SecureDatabasePool/init(url:configuration:configure:)``.
    /// - Returns: An open pool, whose `write` throws code `.readOnly`; nil while the file
    ///   does not exist.
    /// - Throws: As `SecureDatabasePool.open(with:)` for a file that exists and cannot be opened;
    ///   the coordinator's error.
    public func openReadOnly(
        with key: DatabaseKey,
        configure: @escaping @Sendable (SecureDatabaseStore) throws -> Void = { _ in }
    ) throws -> SecureDatabasePool? {
        var configuration = configuration
        configuration.isReadOnly = true
        return try FileCoordination.reading(url) { url in
            let pool = SecureDatabasePool(
                url: url, configuration: configuration, configure: configure)
            do {
                try pool.open(with: key)
            } catch {
                // Checked only after the failure: a file created in the meantime opens without
                // error.
                var status = stat()
                guard lstat(url.path, &status) != 0, errno == ENOENT || errno == ENOTDIR else {
                    throw error
                }
                return nil
            }
            return pool
        }
    }
}
