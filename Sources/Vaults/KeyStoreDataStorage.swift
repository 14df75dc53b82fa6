public import Foundation
public import SecureStorage

/// A key store as a `DataStoring`, for settings and tokens next to keys in the same keychain.
///
/// The key store decides whether other programs see the secrets: one with an access group shares
/// them, one without keeps them private. Copies as `Data` are not cleared; use the key store itself
/// for keys.
///
/// The limits are narrower than those of other storages: a key has 1 to 255 bytes of UTF-8, a value
/// 1 to 65,536 bytes.
public struct KeyStoreDataStorage: DataStoring, Sendable {
    private let keyStore: any KeyStore

    /// Creates a storage over all names of a key store.
    ///
    /// - Parameter keyStore: A key store used for this storage only, such as one with a separate
    ///   `service` or a directory that holds no keys.
    public init(keyStore: some KeyStore) {
        self.keyStore = keyStore
    }

    /// Stores bytes and replaces any existing ones for the key.
    ///
    /// - Parameters:
    ///   - data: 1 to 65,536 bytes.
    ///   - key: 1 to 255 bytes of UTF-8.
    /// - Throws: `KeyStoreError`
    public func put(data: Data, for key: String) throws {
        try keyStore.store(SecretBytes(copying: data), forName: key)
    }

    /// Reads bytes.
    ///
    /// - Parameter key: 1 to 255 bytes of UTF-8.
    /// - Returns: The bytes, or nil only when the key does not exist: a locked key store throws.
    /// - Throws: `KeyStoreError`
    public func data(for key: String) throws -> Data? {
        do {
            return try keyStore.read(key).withUnsafeBytes { Data($0) }
        } catch KeyStoreError.notFound {
            return nil
        }
    }

    /// Removes a key; a missing one is not an error.
    ///
    /// - Parameter key: 1 to 255 bytes of UTF-8.
    /// - Throws: `KeyStoreError`
    public func removeData(for key: String) throws {
        try keyStore.remove(key)
    }

    /// Returns all keys.
    ///
    /// - Returns: The names of the key store's secrets.
    /// - Throws: `KeyStoreError`
    public func keys() throws -> Set<String> {
        Set(try keyStore.names())
    }
}
