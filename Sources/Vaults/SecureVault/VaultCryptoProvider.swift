public import Foundation
internal import SecureStorage

/// A vault's encryption, with salts that the vault's key store holds.
///
/// Data is encrypted with AES-256-GCM ([NIST SP
/// 800-38D](https://csrc.nist.gov/pubs/sp/800/38/d/final)). Keys are derived from passwords with
/// scrypt ([RFC 7914](https://www.rfc-editor.org/rfc/rfc7914)) and a random salt per password, stored
/// with the parameters and the wrapped key. A vault with weaker parameters than those requested is
/// upgraded when it is next unlocked.
public struct VaultCryptoProvider: SecureStorageCryptoProvider {
    let keystore: any SecureStorageKeyStoreProvider
    let parameters: ScryptParameters

    private static let hashingSaltLength = 32

    /// Creates the encryption of one vault.
    ///
    /// - Parameters:
    ///   - keystore: The vault's key store provider.
    ///   - parameters: The minimum cost of a guess; a vault with stronger parameters keeps them.
    public init(
        keystore: some SecureStorageKeyStoreProvider, parameters: ScryptParameters = .default
    ) {
        self.keystore = keystore
        self.parameters = parameters
    }

    /// Creates the encryption of a vault whose keys are in a ``VaultKeyStoreProvider`` over a key
    /// store.
    ///
    /// - Parameters:
    ///   - keyStore: The vault's key store.
    ///   - serviceName: The vault's service name.
    ///   - parameters: The minimum cost of a guess; a vault with stronger parameters keeps them.
    public init(
        keyStore: some KeyStore, serviceName: String = "SecureVault",
        parameters: ScryptParameters = .default
    ) {
        self.init(
            keystore: VaultKeyStoreProvider(keyStore: keyStore, serviceName: serviceName),
            parameters: parameters)
    }

    /// The service name of the entries in the key store.
    public var keychainServiceName: String { keystore.keychainServiceName }

    /// `hashing-salt`.
    public var keychainAccountName: String { "hashing-salt" }

    /// The salt of the password; empty when the key store cannot be read.
    public var passwordSalt: Data { (try? currentDerivation().salt) ?? Data() }

    /// The salt of hashes as the first run stored it, or nil when the key store cannot be read or
    /// has lost it.
    public var hashingSalt: Data? { try? storedHashingSalt() }

    /// Returns the SHA-256 of the salt and the value.
    ///
    /// - Parameters:
    ///   - data: The value.
    ///   - salt: The salt; nil means ``hashingSalt``.
    /// - Returns: Base64.
    /// - Throws: `SecureVaultError.keystoreReadError` instead of using another salt.
    public func hashData(_ data: Data, salt: Data?) throws -> String? {
        try SaltedHash(salt: salt ?? storedHashingSalt()).of(data)
    }

    /// - Throws: `SecureVaultError.keystoreReadError` instead of returning another salt.
    func storedHashingSalt() throws -> Data {
        try keystore.readData(named: keychainAccountName, serviceName: keychainServiceName) {
            // With another salt, existing values would no longer be found.
            guard try keystore.encryptedL2Key() == nil else {
                throw SecureVaultError.keystoreUnreadable(
                    KeyStoreError.notFound(name: keystore.entry(keychainAccountName)))
            }
            return Data(RandomBytes.make(Self.hashingSaltLength))
        }
    }
}

extension VaultCryptoProvider: CustomReflectable {
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
