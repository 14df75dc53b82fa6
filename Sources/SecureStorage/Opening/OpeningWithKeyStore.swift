public import Foundation
public import protocol SecureKeys.KeyStore
internal import SecureStoragePlatform

// A file together with its key in a key store.

extension SecureDatabaseQueue {
    /// Opens a file with a key of a key store; creates both if neither exists.
    ///
    /// The key is made before the file. If the file cannot be created then, the key stays and the
    /// next call uses it: another process may be creating the file with it.
    ///
    /// - Parameters:
    ///   - url: A file URL.
    ///   - keyStore: Holds the key, 32 random bytes.
    ///   - name: The key's name in the key store.
    ///   - migrations: The steps of the schema, if it has any.
    ///   - configuration: The settings.
    /// - Returns: An open queue.
    /// - Throws: As ``open(at:with:migrations:configuration:)-ldj7``; `KeyStoreError`, which is
    ///   `.notFound` for a file whose key is gone.
    public static func open(
        at url: URL, keyIn keyStore: some KeyStore, named name: String,
        migrations: SchemaMigrations? = nil, configuration: SecureDatabaseConfiguration = .init()
    ) throws -> SecureDatabaseQueue {
        try open(
            at: url, with: DatabaseKey(of: url, in: keyStore, named: name, configuration),
            migrations: migrations, configuration: configuration)
    }

    /// Opens a file with a key of a key store; creates both if neither exists.
    ///
    /// Otherwise as the synchronous call. Cancelling the task does not end it.
    public static func open(
        at url: URL, keyIn keyStore: some KeyStore, named name: String,
        migrations: SchemaMigrations? = nil, configuration: SecureDatabaseConfiguration = .init()
    ) async throws -> SecureDatabaseQueue {
        try await onOwnThread(evenIfCancelled: true) {
            try open(
                at: url, keyIn: keyStore, named: name, migrations: migrations,
                configuration: configuration)
        }
    }
}

extension SecureDatabasePool {
    /// Opens a file with a key of a key store; creates both if neither exists.
    ///
    /// ```swift
    /// let pool = try await SecureDatabasePool.open(
    ///     at: databaseURL, keyIn: keyStore, named: "notes.db", migrations: migrations)
    /// ```
    ///
    /// Otherwise as ``SecureDatabaseQueue/open(at:keyIn:named:migrations:configuration:)-44jjo``.
    ///
    /// - Parameters:
    ///   - url: A file URL.
    ///   - keyStore: Holds the key, 32 random bytes.
    ///   - name: The key's name in the key store.
    ///   - migrations: The steps of the schema, if it has any.
    ///   - configuration: The settings.
    ///   - configure: As for ``init(url:configuration:configure:)``.
    /// - Returns: An open pool.
    /// - Throws: As the queue's.
    public static func open(
        at url: URL, keyIn keyStore: some KeyStore, named name: String,
        migrations: SchemaMigrations? = nil, configuration: SecureDatabaseConfiguration = .init(),
        configure: @escaping @Sendable (SecureDatabaseStore) throws -> Void = { _ in }
    ) throws -> SecureDatabasePool {
        try open(
            at: url, with: DatabaseKey(of: url, in: keyStore, named: name, configuration),
            migrations: migrations, configuration: configuration, configure: configure)
    }

    /// Opens a file with a key of a key store; creates both if neither exists.
    ///
    /// Otherwise as the synchronous call. Cancelling the task does not end it.
    public static func open(
        at url: URL, keyIn keyStore: some KeyStore, named name: String,
        migrations: SchemaMigrations? = nil, configuration: SecureDatabaseConfiguration = .init(),
        configure: @escaping @Sendable (SecureDatabaseStore) throws -> Void = { _ in }
    ) async throws -> SecureDatabasePool {
        try await onOwnThread(evenIfCancelled: true) {
            try open(
                at: url, keyIn: keyStore, named: name, migrations: migrations,
                configuration: configuration, configure: configure)
        }
    }
}

extension DatabaseKey {
    /// The key of a file, made if neither of them exists.
    ///
    /// The file is looked for first: who finds none, and then a key, has found that of a file that
    /// another process is creating, or that of an earlier attempt.
    fileprivate init(
        of url: URL, in keyStore: some KeyStore, named name: String,
        _ configuration: SecureDatabaseConfiguration
    ) throws {
        func random() -> SecretBytes { .random(count: EncryptionKey.rawKeyLength) }
        if try DatabaseFile.existing(at: url, for: .open)?.status() != nil {
            self = .raw(try keyStore.read(name))
        } else if configuration.createsFile, !configuration.isReadOnly {
            self = .raw(try keyStore.read(name, orInsert: random))
        } else {
            // Opening says that there is no file.
            self = .raw(random())
        }
    }
}
