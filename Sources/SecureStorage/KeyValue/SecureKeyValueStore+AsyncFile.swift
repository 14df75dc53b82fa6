public import Foundation
internal import SecureStoragePlatform

// Async versions of the calls on a store's file; see `SecureKeyValueStore+Async`.

extension SecureKeyValueStore {
    /// Opens the store's file with a passphrase, and creates it if it does not exist.
    ///
    /// - Parameter encryptionKey: At least one byte.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func open(with encryptionKey: String) async throws {
        try await performOnFile { try $0.open(with: encryptionKey) }
    }

    /// Opens the store's file with a raw key, and creates it if it does not exist.
    ///
    /// - Parameter encryptionKeyData: Exactly 32 random bytes.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func open(with encryptionKeyData: Data) async throws {
        try await performOnFile { try $0.open(with: encryptionKeyData) }
    }

    /// Opens the store's file with a key that is cleared from memory, and creates it if it does not
    /// exist.
    ///
    /// - Parameter key: A passphrase or a raw key.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func open(with key: DatabaseKey) async throws {
        try await performOnFile { try $0.open(with: key) }
    }

    /// Returns whether the store is open and can be used.
    ///
    /// - Returns: Whether it is, even if the task is cancelled.
    public func isOpen() async -> Bool {
        await uncancelled { $0.isOpen() } ?? false
    }

    /// Closes the store's database in its turn, even if the task is cancelled.
    public func close() async {
        await uncancelled { $0.close() }
    }

    /// Re-encrypts the file with a new passphrase.
    ///
    /// - Parameter newEncryptionKey: At least one byte.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func changeEncryptionKey(with newEncryptionKey: String) async throws {
        try await performOnFile { try $0.changeEncryptionKey(with: newEncryptionKey) }
    }

    /// Re-encrypts the file with a new raw key.
    ///
    /// - Parameter newEncryptionKeyData: Exactly 32 random bytes.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func changeEncryptionKey(with newEncryptionKeyData: Data) async throws {
        try await performOnFile { try $0.changeEncryptionKey(with: newEncryptionKeyData) }
    }

    /// Re-encrypts the file with a new key.
    ///
    /// - Parameter newKey: A passphrase or a raw key.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func changeEncryptionKey(with newKey: DatabaseKey) async throws {
        try await performOnFile { try $0.changeEncryptionKey(with: newKey) }
    }

    /// Runs a call on the file in the queue's turn; those of a pool cannot run in one of its
    /// blocks.
    private func performOnFile<T: Sendable>(
        _ body: @escaping @Sendable (SecureKeyValueStore) throws -> T
    ) async throws -> T {
        guard queue == nil else { return try await perform(.access, body) }
        return try await onOwnThread { try body(self) }
    }

    /// Runs `body` as `performOnFile(_:)` does, in a task that is never cancelled.
    @discardableResult
    private func uncancelled<T: Sendable>(
        _ body: @escaping @Sendable (SecureKeyValueStore) -> T
    ) async -> T? {
        await Task { try? await performOnFile(body) }.value
    }
}
