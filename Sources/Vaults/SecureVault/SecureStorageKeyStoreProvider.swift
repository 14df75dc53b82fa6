public import Foundation

/// A vault's keys in a ``KeyStore``: the device's key, the wrapped key of L2, the generated
/// password.
///
/// An app names its key store; everything else has a default implementation:
///
/// - `storeL1Key(_:)` and the other `store…` calls insert or replace, in one step of the key store.
/// - What reads returns nil when there is no such entry, and only then: a key store that is locked
///   throws.
///
/// `Data` cannot be cleared by who has returned it. ``SecureVaultLevels`` and
/// ``SecureVaultFactory`` overwrite what they get.
public protocol SecureStorageKeyStoreProvider: Sendable {
    /// Where the entries are.
    var keyStore: any KeyStore { get }

    /// What tells this vault's entries from others in the key store.
    var keychainServiceName: String { get }

    /// The name of the generated password's entry.
    var generatedPasswordEntryName: String { get }

    /// The name of the entry of the device's key.
    var l1KeyEntryName: String { get }

    /// The name of the entry of the wrapped key of L2.
    var l2KeyEntryName: String { get }

    /// Stores the password that holds until the user sets one.
    ///
    /// - Parameter password: What ``SecureStorageCryptoProvider/generatePassword()`` has made.
    /// - Throws: `SecureVaultError.keystoreUpdateError`.
    func storeGeneratedPassword(_ password: Data) throws

    /// The password that holds until the user sets one.
    ///
    /// - Returns: nil when the user has set one.
    /// - Throws: `SecureVaultError.keystoreReadError`.
    func generatedPassword() throws -> Data?

    /// Removes the generated password; an absent one is no error.
    ///
    /// - Throws: `SecureVaultError.keystoreUpdateError`.
    func clearGeneratedPassword() throws

    /// Stores the device's key.
    ///
    /// - Parameter data: 32 random bytes.
    /// - Throws: `SecureVaultError.keystoreUpdateError`.
    func storeL1Key(_ data: Data) throws

    /// The device's key.
    ///
    /// - Returns: nil before the first run.
    /// - Throws: `SecureVaultError.keystoreReadError`.
    func l1Key() throws -> Data?

    /// Stores the wrapped key of L2.
    ///
    /// - Parameter data: Encrypted with a key that is derived from the password.
    /// - Throws: `SecureVaultError.keystoreUpdateError`.
    func storeEncryptedL2Key(_ data: Data) throws

    /// The wrapped key of L2.
    ///
    /// - Returns: nil before the first run.
    /// - Throws: `SecureVaultError.keystoreReadError`.
    func encryptedL2Key() throws -> Data?

    /// Reads an entry.
    ///
    /// - Parameters:
    ///   - name: The entry's name.
    ///   - serviceName: The vault's.
    /// - Returns: nil for an absent one.
    /// - Throws: `SecureVaultError.keystoreReadError`.
    func readData(named name: String, serviceName: String) throws -> Data?

    /// Reads an entry, or inserts it where there is none: all who call at once get the same.
    ///
    /// - Parameters:
    ///   - name: The entry's name.
    ///   - serviceName: The vault's.
    ///   - makeData: Makes what is inserted.
    /// - Returns: What the key store holds now.
    /// - Throws: `SecureVaultError.keystoreReadError`; what `makeData` throws.
    func readData(
        named name: String, serviceName: String, orInsert makeData: () throws -> Data
    ) throws -> Data

    /// Stores an entry, and replaces what it held.
    ///
    /// - Parameters:
    ///   - data: 1 to 65,536 bytes.
    ///   - name: The entry's name.
    ///   - serviceName: The vault's.
    /// - Throws: `SecureVaultError.keystoreUpdateError`.
    func writeData(_ data: Data, named name: String, serviceName: String) throws

    /// Removes an entry; an absent one is no error.
    ///
    /// - Parameters:
    ///   - name: The entry's name.
    ///   - serviceName: The vault's.
    /// - Throws: `SecureVaultError.keystoreUpdateError`.
    func removeData(named name: String, serviceName: String) throws
}

/// A vault's keys in a key store, under names that say what they are.
public struct VaultKeyStoreProvider: SecureStorageKeyStoreProvider {
    /// Where the entries are.
    public let keyStore: any KeyStore

    /// What tells this vault's entries from others in the key store.
    public let keychainServiceName: String

    /// The keys of one vault.
    ///
    /// - Parameters:
    ///   - keyStore: May hold other vaults' keys as well.
    ///   - serviceName: Another one for each vault of a key store; at most 200 bytes of UTF-8.
    public init(keyStore: some KeyStore, serviceName: String = "SecureVault") {
        self.keyStore = keyStore
        keychainServiceName = serviceName
    }
}
