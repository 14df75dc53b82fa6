public import Foundation

/// A vault's keys in a ``/SecureKeys/KeyStore``: the device's key, the wrapped key of L2, the
/// generated password.
///
/// An app supplies its key store; everything else has a default implementation:
///
/// - `storeL1Key(_:)` and the other `store…` calls insert or replace, in a single operation of the
///   key store.
/// - Calls that read return nil only when the entry does not exist; a locked key store throws.
///
/// Code that returns a `Data` cannot clear it. ``SecureVaultLevels`` and ``SecureVaultFactory``
/// overwrite the values that they receive.
public protocol SecureStorageKeyStoreProvider: Sendable {
    /// The key store that holds the entries.
    var keyStore: any KeyStore { get }

    /// The name that distinguishes this vault's entries from others in the key store.
    var keychainServiceName: String { get }

    /// The name of the generated password's entry.
    var generatedPasswordEntryName: String { get }

    /// The name of the device key's entry.
    var l1KeyEntryName: String { get }

    /// The name of the wrapped L2 key's entry.
    var l2KeyEntryName: String { get }

    /// Stores the password that is valid until the user sets one.
    ///
    /// - Parameter password: The result of ``SecureStorageCryptoProvider/generatePassword()``.
    /// - Throws: `SecureVaultError.keystoreUpdateError`.
    func storeGeneratedPassword(_ password: Data) throws

    /// Returns the password that is valid until the user sets one.
    ///
    /// - Returns: The password, or nil when the user has set one.
    /// - Throws: `SecureVaultError.keystoreReadError`.
    func generatedPassword() throws -> Data?

    /// Removes the generated password; a missing one is not an error.
    ///
    /// - Throws: `SecureVaultError.keystoreUpdateError`.
    func clearGeneratedPassword() throws

    /// Stores the device's key.
    ///
    /// - Parameter data: 32 random bytes.
    /// - Throws: `SecureVaultError.keystoreUpdateError`.
    func storeL1Key(_ data: Data) throws

    /// Returns the device's key.
    ///
    /// - Returns: The key, or nil before the first run.
    /// - Throws: `SecureVaultError.keystoreReadError`.
    func l1Key() throws -> Data?

    /// Stores the wrapped key of L2.
    ///
    /// - Parameter data: Encrypted with a key that is derived from the password.
    /// - Throws: `SecureVaultError.keystoreUpdateError`.
    func storeEncryptedL2Key(_ data: Data) throws

    /// Returns the wrapped key of L2.
    ///
    /// - Returns: The wrapped key, or nil before the first run.
    /// - Throws: `SecureVaultError.keystoreReadError`.
    func encryptedL2Key() throws -> Data?

    /// Reads an entry.
    ///
    /// - Parameters:
    ///   - name: The entry's name.
    ///   - serviceName: The vault's service name.
    /// - Returns: The entry, or nil when it does not exist.
    /// - Throws: `SecureVaultError.keystoreReadError`.
    func readData(named name: String, serviceName: String) throws -> Data?

    /// Reads an entry, or inserts it if it does not exist; concurrent callers all get the same
    /// data.
    ///
    /// - Parameters:
    ///   - name: The entry's name.
    ///   - serviceName: The vault's service name.
    ///   - makeData: Creates the data to insert.
    /// - Returns: The data that the key store now holds.
    /// - Throws: `SecureVaultError.keystoreReadError`; any error that `makeData` throws.
    func readData(
        named name: String, serviceName: String, orInsert makeData: () throws -> Data
    ) throws -> Data

    /// Stores an entry and replaces any existing one.
    ///
    /// - Parameters:
    ///   - data: 1 to 65,536 bytes.
    ///   - name: The entry's name.
    ///   - serviceName: The vault's service name.
    /// - Throws: `SecureVaultError.keystoreUpdateError`.
    func writeData(_ data: Data, named name: String, serviceName: String) throws

    /// Removes an entry; a missing one is not an error.
    ///
    /// - Parameters:
    ///   - name: The entry's name.
    ///   - serviceName: The vault's service name.
    /// - Throws: `SecureVaultError.keystoreUpdateError`.
    func removeData(named name: String, serviceName: String) throws
}

/// A vault's keys in a key store, under descriptive names.
public struct VaultKeyStoreProvider: SecureStorageKeyStoreProvider {
    /// The key store that holds the entries.
    public let keyStore: any KeyStore

    /// The name that distinguishes this vault's entries from others in the key store.
    public let keychainServiceName: String

    /// Creates a provider for the keys of one vault.
    ///
    /// - Parameters:
    ///   - keyStore: The key store, which may also hold other vaults' keys.
    ///   - serviceName: A name unique to each vault of a key store, at most 200 bytes of UTF-8.
    public init(keyStore: some KeyStore, serviceName: String = "SecureVault") {
        self.keyStore = keyStore
        keychainServiceName = serviceName
    }
}
