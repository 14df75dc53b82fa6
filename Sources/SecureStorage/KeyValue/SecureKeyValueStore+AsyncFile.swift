public import Foundation

// The file of a store, for tasks; see `SecureKeyValueStore+Async`.

extension SecureKeyValueStore {
    /// Opens the store's file with a passphrase, and makes it when it does not exist.
    ///
    /// - Parameter encryptionKey: At least one byte.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func open(with encryptionKey: String) async throws {
        try await perform { try $0.open(with: encryptionKey) }
    }

    /// Opens the store's file with a raw key, and makes it when it does not exist.
    ///
    /// - Parameter encryptionKeyData: Exactly 32 random bytes.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func open(with encryptionKeyData: Data) async throws {
        try await perform { try $0.open(with: encryptionKeyData) }
    }

    /// Opens the store's file with a key that is cleared from memory, and makes it when it does not
    /// exist.
    ///
    /// - Parameter key: A passphrase or a raw key.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func open(with key: DatabaseKey) async throws {
        try await perform { try $0.open(with: key) }
    }

    /// Whether the store is open and can be used.
    ///
    /// - Returns: The same when the task is cancelled.
    public func isOpen() async -> Bool {
        await uncancelled { $0.isOpen() } ?? false
    }

    /// Closes the store's database in its turn, also when the task is cancelled.
    public func close() async {
        await uncancelled { $0.close() }
    }

    /// Re-encrypts the file with a new passphrase.
    ///
    /// - Parameter newEncryptionKey: At least one byte.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func changeEncryptionKey(with newEncryptionKey: String) async throws {
        try await perform { try $0.changeEncryptionKey(with: newEncryptionKey) }
    }

    /// Re-encrypts the file with a new raw key.
    ///
    /// - Parameter newEncryptionKeyData: Exactly 32 random bytes.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func changeEncryptionKey(with newEncryptionKeyData: Data) async throws {
        try await perform { try $0.changeEncryptionKey(with: newEncryptionKeyData) }
    }

    /// Re-encrypts the file with a new key.
    ///
    /// - Parameter newKey: A passphrase or a raw key.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func changeEncryptionKey(with newKey: DatabaseKey) async throws {
        try await perform { try $0.changeEncryptionKey(with: newKey) }
    }

    /// As `perform(_:)`, in a task that nobody cancels.
    @discardableResult
    private func uncancelled<T: Sendable>(
        _ body: @escaping @Sendable (SecureKeyValueStore) -> T
    ) async -> T? {
        await Task { try? await perform(body) }.value
    }
}
