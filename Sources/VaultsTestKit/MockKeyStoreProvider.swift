public import Foundation
internal import SecureStorage
public import Vaults

/// A vault's keys in memory, for a test to set and inspect.
///
/// This is the real provider over an `InMemoryKeyStore`, whose `isLocked` makes every call fail.
/// Thread-safe.
public final class MockKeyStoreProvider: SecureStorageKeyStoreProvider {
    /// The key store that holds the entries.
    public let memory = InMemoryKeyStore()

    /// Creates a provider without entries.
    public init() {}

    /// The key store that holds the entries.
    public var keyStore: any KeyStore { memory }

    /// `service`.
    public var keychainServiceName: String { "service" }

    /// The device's key.
    public var _l1Key: Data? {
        get { self[l1KeyEntryName] }
        set { self[l1KeyEntryName] = newValue }
    }

    /// The wrapped key of L2.
    public var _encryptedL2Key: Data? {
        get { self[l2KeyEntryName] }
        set { self[l2KeyEntryName] = newValue }
    }

    /// The generated password.
    public var _generatedPassword: Data? {
        get { self[generatedPasswordEntryName] }
        set { self[generatedPasswordEntryName] = newValue }
    }

    private subscript(_ name: String) -> Data? {
        get { try? readData(named: name, serviceName: keychainServiceName) }
        set {
            // A value that the store refuses, such as an empty key, is not stored.
            if let newValue {
                try? writeData(newValue, named: name, serviceName: keychainServiceName)
            } else {
                try? removeData(named: name, serviceName: keychainServiceName)
            }
        }
    }
}
