public import Foundation

// Names of earlier releases, kept for one more.

extension SecureDatabasePool {
    /// Opens the file with a passphrase.
    ///
    /// - Parameters:
    ///   - encryptionKey: The passphrase.
    ///   - initializationHandler: As for `open(with:initializationHandler:)` with a `DatabaseKey`.
    /// - Throws: As `open(with:initializationHandler:)` with a `DatabaseKey`.
    @available(*, deprecated, message: "use open(with: .passphrase(…))")
    public func open(
        with encryptionKey: String,
        initializationHandler: (SecureDatabaseStore) -> (any Error)? =
            SecureDatabaseStore.defaultInitializationHandler
    ) throws {
        try open(with: .passphrase(encryptionKey), initializationHandler: initializationHandler)
    }

    /// Opens the file with a raw key.
    ///
    /// - Parameters:
    ///   - encryptionKeyData: Exactly 32 bytes.
    ///   - initializationHandler: As for `open(with:initializationHandler:)` with a `DatabaseKey`.
    /// - Throws: As `open(with:initializationHandler:)` with a `DatabaseKey`.
    @available(*, deprecated, message: "use open(with: .raw(…))")
    public func open(
        with encryptionKeyData: Data,
        initializationHandler: (SecureDatabaseStore) -> (any Error)? =
            SecureDatabaseStore.defaultInitializationHandler
    ) throws {
        try open(
            with: .raw(SecretBytes(copying: encryptionKeyData)),
            initializationHandler: initializationHandler)
    }

    /// Opens the file with a passphrase.
    ///
    /// - Parameters:
    ///   - encryptionKey: The passphrase.
    ///   - initializationHandler: As for `open(with:initializationHandler:)` with a `DatabaseKey`.
    /// - Throws: As `open(with:initializationHandler:)` with a `DatabaseKey`.
    @available(*, deprecated, message: "use open(with: .passphrase(…))")
    public func open(
        with encryptionKey: String,
        initializationHandler: @escaping @Sendable (SecureDatabaseStore) -> (any Error)? =
            SecureDatabaseStore.defaultInitializationHandler
    ) async throws {
        try await open(
            with: .passphrase(encryptionKey), initializationHandler: initializationHandler)
    }

    /// Opens the file with a raw key.
    ///
    /// - Parameters:
    ///   - encryptionKeyData: Exactly 32 bytes.
    ///   - initializationHandler: As for `open(with:initializationHandler:)` with a `DatabaseKey`.
    /// - Throws: As `open(with:initializationHandler:)` with a `DatabaseKey`.
    @available(*, deprecated, message: "use open(with: .raw(…))")
    public func open(
        with encryptionKeyData: Data,
        initializationHandler: @escaping @Sendable (SecureDatabaseStore) -> (any Error)? =
            SecureDatabaseStore.defaultInitializationHandler
    ) async throws {
        try await open(
            with: .raw(SecretBytes(copying: encryptionKeyData)),
            initializationHandler: initializationHandler)
    }

    /// Re-encrypts the whole file with a new passphrase.
    ///
    /// - Parameter newEncryptionKey: At least one byte.
    /// - Throws: As `changeEncryptionKey(with:)` with a `DatabaseKey`.
    @available(*, deprecated, message: "use changeEncryptionKey(with: .passphrase(…))")
    public func changeEncryptionKey(with newEncryptionKey: String) throws {
        try changeEncryptionKey(with: .passphrase(newEncryptionKey))
    }

    /// Re-encrypts the whole file with a new raw key.
    ///
    /// - Parameter newEncryptionKeyData: Exactly 32 random bytes.
    /// - Throws: As `changeEncryptionKey(with:)` with a `DatabaseKey`.
    @available(*, deprecated, message: "use changeEncryptionKey(with: .raw(…))")
    public func changeEncryptionKey(with newEncryptionKeyData: Data) throws {
        try changeEncryptionKey(with: .raw(SecretBytes(copying: newEncryptionKeyData)))
    }

    /// Re-encrypts the whole file with a new passphrase.
    ///
    /// - Parameter newEncryptionKey: At least one byte.
    /// - Throws: As `changeEncryptionKey(with:)` with a `DatabaseKey`.
    @available(*, deprecated, message: "use changeEncryptionKey(with: .passphrase(…))")
    public func changeEncryptionKey(with newEncryptionKey: String) async throws {
        try await changeEncryptionKey(with: .passphrase(newEncryptionKey))
    }

    /// Re-encrypts the whole file with a new raw key.
    ///
    /// - Parameter newEncryptionKeyData: Exactly 32 random bytes.
    /// - Throws: As `changeEncryptionKey(with:)` with a `DatabaseKey`.
    @available(*, deprecated, message: "use changeEncryptionKey(with: .raw(…))")
    public func changeEncryptionKey(with newEncryptionKeyData: Data) async throws {
        try await changeEncryptionKey(with: .raw(SecretBytes(copying: newEncryptionKeyData)))
    }
}
