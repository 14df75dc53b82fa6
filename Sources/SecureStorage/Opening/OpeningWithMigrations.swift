public import Foundation
internal import SecureStoragePlatform

// A file, its key and its schema in one call, which returns an open database or leaves none open.

extension SecureDatabaseQueue {
    /// Opens a file and brings its schema up to date; creates the file if it does not exist.
    ///
    /// ```swift
    /// let queue = try SecureDatabaseQueue.open(at: url, with: .raw(key), migrations: migrations)
    /// ```
    ///
    /// A new file appears only when all migrations have run; another process that opens it waits
    /// for at most the busy timeout.
    ///
    /// - Parameters:
    ///   - url: A file URL.
    ///   - key: A passphrase or a raw key.
    ///   - migrations: The steps of the schema, if it has any.
    ///   - configuration: The settings.
    /// - Returns: An open queue.
    /// - Throws: As `open(with:)` and `migrate(_:)`; nothing is open then.
    public static func open(
        at url: URL, with key: DatabaseKey, migrations: SchemaMigrations? = nil,
        configuration: SecureDatabaseConfiguration = .init()
    ) throws -> SecureDatabaseQueue {
        let queue = SecureDatabaseQueue(url: url, configuration: configuration)
        try queue.open(with: key, migrations)
        return queue
    }

    /// Opens a file and brings its schema up to date; creates the file if it does not exist.
    ///
    /// Otherwise as the synchronous call. Cancelling the task does not end it.
    public static func open(
        at url: URL, with key: DatabaseKey, migrations: SchemaMigrations? = nil,
        configuration: SecureDatabaseConfiguration = .init()
    ) async throws -> SecureDatabaseQueue {
        let queue = SecureDatabaseQueue(url: url, configuration: configuration)
        try await onOwnThread(evenIfCancelled: true) { try queue.open(with: key, migrations) }
        return queue
    }
}

extension SecureDatabasePool {
    /// Opens a file and brings its schema up to date; creates the file if it does not exist.
    ///
    /// ```swift
    /// let pool = try await SecureDatabasePool.open(
    ///     at: url, with: .passphrase(typed), migrations: migrations)
    /// ```
    ///
    /// A new file appears only when all migrations have run; another process that opens it waits
    /// for at most the busy timeout.
    ///
    /// - Parameters:
    ///   - url: A file URL.
    ///   - key: A passphrase or a raw key.
    ///   - migrations: The steps of the schema, if it has any.
    ///   - configuration: The settings.
    ///   - configure: As for ``init(url:configuration:configure:)``.
    /// - Returns: An open pool.
    /// - Throws: As `open(with:)` and `migrate(_:)`; nothing is open then.
    public static func open(
        at url: URL, with key: DatabaseKey, migrations: SchemaMigrations? = nil,
        configuration: SecureDatabaseConfiguration = .init(),
        configure: @escaping @Sendable (SecureDatabaseStore) throws -> Void = { _ in }
    ) throws -> SecureDatabasePool {
        let pool = SecureDatabasePool(url: url, configuration: configuration, configure: configure)
        try pool.open(with: key, migrations)
        return pool
    }

    /// Opens a file and brings its schema up to date; creates the file if it does not exist.
    ///
    /// Otherwise as the synchronous call. Cancelling the task does not end it.
    public static func open(
        at url: URL, with key: DatabaseKey, migrations: SchemaMigrations? = nil,
        configuration: SecureDatabaseConfiguration = .init(),
        configure: @escaping @Sendable (SecureDatabaseStore) throws -> Void = { _ in }
    ) async throws -> SecureDatabasePool {
        let pool = SecureDatabasePool(url: url, configuration: configuration, configure: configure)
        try await onOwnThread(evenIfCancelled: true) { try pool.open(with: key, migrations) }
        return pool
    }
}

extension SecureDatabaseWriter {
    /// Opens the file and runs its migrations, those of a new file before it has its name.
    ///
    /// - Throws: As `open(with:)` and `migrate(_:)`; nothing is open then.
    func open(with key: DatabaseKey, _ migrations: SchemaMigrations?) throws {
        try open(with: key) { db in
            do {
                try migrations?.apply(to: db)
                return nil
            } catch {
                return error
            }
        }
        try migrateOrClose(migrations)
    }

    /// Runs migrations, and closes the database if one fails.
    func migrateOrClose(_ migrations: SchemaMigrations?) throws {
        do {
            if let migrations { try migrate(migrations) }
        } catch {
            close()
            throw error
        }
    }
}
