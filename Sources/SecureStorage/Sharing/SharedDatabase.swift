public import Foundation

/// A database file that several processes use at the same time: an app and its extensions, or a
/// service and its workers.
///
/// Each process opens a pool on it. WAL mode lets all of them read while one writes; a writer waits
/// for the other processes' writers as long as the busy timeout says, and then gets an error whose
/// ``SecureStorageError/isBusy`` is true. See `Docs/Sharing.md`.
///
/// Thread-safe.
public struct SharedDatabase: Sendable {
    /// The place of the file, in a directory that all processes may write, or those that write.
    public let url: URL

    /// The settings of the pools.
    public let configuration: SecureDatabaseConfiguration

    /// Settings that fit a file in a shared container.
    ///
    /// A plaintext header of 32 bytes, so that iOS recognises the file (its salt is kept beside
    /// it); the log stays when the last process closes, so that a process that may only read can;
    /// 10 seconds for the locks of others.
    public static var defaultConfiguration: SecureDatabaseConfiguration {
        var configuration = SecureDatabaseConfiguration()
        configuration.cipher.plaintextHeaderSize = 32
        configuration.keepsWriteAheadLog = true
        configuration.busyTimeout = .seconds(10)
        return configuration
    }

    /// Names the file; nothing is opened yet.
    ///
    /// - Parameters:
    ///   - url: A file URL.
    ///   - configuration: The same in every process, as far as the cipher is concerned.
    public init(
        at url: URL, configuration: SecureDatabaseConfiguration = Self.defaultConfiguration
    ) {
        self.url = url
        self.configuration = configuration
    }

    /// Opens the file for reading and writing, makes it when it does not exist, and brings its
    /// schema up to date.
    ///
    /// Any number of processes may start at once: one of them makes the file and takes the steps of
    /// `migrations`, the others wait for it. On Apple platforms inside a coordinated write
    /// ([`NSFileCoordinator`](https://developer.apple.com/documentation/foundation/nsfilecoordinator)),
    /// elsewhere behind a lock file that exists meanwhile.
    ///
    /// - Parameters:
    ///   - key: A passphrase or a raw key.
    ///   - migrations: The steps of the schema, if it has any.
    ///   - configure: As for ``SecureDatabasePool/init(url:configuration:configure:)``.
    /// - Returns: An open pool.
    /// - Throws: As `SecureDatabasePool.open(with:)` and
    ///   `migrate(_:)`; the coordinator's error.
    public func open(
        with key: DatabaseKey, migrations: SchemaMigrations? = nil,
        configure: @escaping @Sendable (SecureDatabaseStore) throws -> Void = { _ in }
    ) throws -> SecureDatabasePool {
        var configuration = configuration
        configuration.isReadOnly = false
        return try FileCoordination.writing(url) { url in
            let pool = SecureDatabasePool(
                url: url, configuration: configuration, configure: configure)
            try pool.open(with: key)
            do {
                if let migrations { try pool.migrate(migrations) }
            } catch {
                pool.close()
                throw error
            }
            return pool
        }
    }

    /// Opens the file for reading only.
    ///
    /// - Parameters:
    ///   - key: A passphrase or a raw key.
    ///   - configure: As for ``SecureDatabasePool/init(url:configuration:configure:)``.
    /// - Returns: An open pool, whose `write` throws code 8 (SQLITE_READONLY); nil while the file
    ///   does not exist.
    /// - Throws: As `SecureDatabasePool.open(with:)` for a file that is there and
    ///   cannot be opened; the coordinator's error.
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
                // Looked at afterwards: it may have come meanwhile, and then there is nothing wrong
                // with it.
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
