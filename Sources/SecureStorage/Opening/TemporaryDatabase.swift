internal import Foundation

// Databases for tests and previews.

extension SecureDatabaseQueue {
    /// Opens a new, empty database that goes with the last reference to it.
    ///
    /// ```swift
    /// let queue = try SecureDatabaseQueue.temporary(migrations: migrations)
    /// ```
    ///
    /// It is an encrypted file with a random key in a private folder of the temporary directory,
    /// and behaves as the app's own, but does not wait for the disk. Its folder is removed with the
    /// last queue, key-value store, observer and loop that uses it; after a crash, when a process
    /// of the same user next makes a temporary database.
    ///
    /// - Parameters:
    ///   - migrations: The steps of the schema, if it has any.
    ///   - configuration: The settings; it is written to whatever they say.
    /// - Returns: An open queue.
    /// - Throws: As `open(with:)` and `migrate(_:)`.
    public static func temporary(
        migrations: SchemaMigrations? = nil, configuration: SecureDatabaseConfiguration = .init()
    ) throws -> SecureDatabaseQueue {
        let (url, configuration) = try configuration.temporary()
        return try open(
            at: url, with: .raw(.random(count: EncryptionKey.rawKeyLength)),
            migrations: migrations, configuration: configuration)
    }
}

extension SecureDatabasePool {
    /// Opens a new, empty database that goes with the last reference to it.
    ///
    /// ```swift
    /// let pool = try SecureDatabasePool.temporary(migrations: migrations)
    /// ```
    ///
    /// Otherwise as ``SecureDatabaseQueue/temporary(migrations:configuration:)``.
    ///
    /// - Parameters:
    ///   - migrations: The steps of the schema, if it has any.
    ///   - configuration: The settings.
    ///   - configure: As for ``init(url:configuration:configure:)``.
    /// - Returns: An open pool.
    /// - Throws: As `open(with:)` and `migrate(_:)`.
    public static func temporary(
        migrations: SchemaMigrations? = nil, configuration: SecureDatabaseConfiguration = .init(),
        configure: @escaping @Sendable (SecureDatabaseStore) throws -> Void = { _ in }
    ) throws -> SecureDatabasePool {
        let (url, configuration) = try configuration.temporary()
        return try open(
            at: url, with: .raw(.random(count: EncryptionKey.rawKeyLength)),
            migrations: migrations, configuration: configuration, configure: configure)
    }
}

extension SecureDatabaseConfiguration {
    /// Returns a place for a temporary database, and these settings, which keep it.
    fileprivate func temporary() throws -> (URL, SecureDatabaseConfiguration) {
        let folder = try TemporaryFolder()
        var configuration = self
        configuration.isReadOnly = false
        configuration.createsFile = true
        configuration.temporaryFolder = (folder.url.path, folder)
        return (folder.url.appendingPathComponent("temporary.db"), configuration)
    }
}
