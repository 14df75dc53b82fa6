public import Foundation
public import SecureStorage

/// The secrets of a key store as a `DataStoring`: settings and tokens beside keys, in the same
/// keychain.
///
/// Whether other programs see them is the key store's matter: one with an access group shares its
/// secrets, one without keeps them private. Copies as `Data` are not cleared; for keys use the key
/// store.
///
/// Narrower than other storages: a key has 1 to 255 bytes of UTF-8, a value 1 to 65,536 bytes.
public struct KeyStoreDataStorage: DataStoring, Sendable {
    private let keyStore: any KeyStore

    /// A storage over all names of a key store.
    ///
    /// - Parameter keyStore: Give the storage one of its own, such as a `service` or a directory
    ///   that holds no keys.
    public init(keyStore: some KeyStore) {
        self.keyStore = keyStore
    }

    /// Stores bytes and replaces what the key held.
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
    /// - Returns: nil for an absent key, and only then: a locked key store throws.
    /// - Throws: `KeyStoreError`
    public func data(for key: String) throws -> Data? {
        do {
            return try keyStore.read(key).withUnsafeBytes { Data($0) }
        } catch KeyStoreError.notFound {
            return nil
        }
    }

    /// Removes a key; an absent one is no error.
    ///
    /// - Parameter key: 1 to 255 bytes of UTF-8.
    /// - Throws: `KeyStoreError`
    public func removeData(for key: String) throws {
        try keyStore.remove(key)
    }

    /// Every key.
    ///
    /// - Returns: The names of the key store's secrets.
    /// - Throws: `KeyStoreError`
    public func keys() throws -> Set<String> {
        Set(try keyStore.names())
    }
}
