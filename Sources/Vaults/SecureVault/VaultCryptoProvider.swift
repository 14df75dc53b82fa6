public import Foundation
internal import SecureStorage

/// A vault's encryption, with salts that the vault's key store keeps.
///
/// AES-256-GCM ([NIST SP 800-38D](https://csrc.nist.gov/pubs/sp/800/38/d/final)). Passwords go through scrypt
/// ([RFC 7914](https://www.rfc-editor.org/rfc/rfc7914)) with a random salt for each vault; parameters and salt are
/// made once, at the first run, and are read from then on.
public struct VaultCryptoProvider: SecureStorageCryptoProvider {
    private let keystore: any SecureStorageKeyStoreProvider
    private let parameters: ScryptParameters

    private static let derivationEntryName = "password-derivation"
    private static let hashingSaltLength = 32

    /// The encryption of one vault.
    ///
    /// - Parameters:
    ///   - keystore: The same as the vault's.
    ///   - parameters: For new vaults; one that exists has its own.
    public init(
        keystore: some SecureStorageKeyStoreProvider, parameters: ScryptParameters = .default
    ) {
        self.keystore = keystore
        self.parameters = parameters
    }

    /// The encryption of the vault that has its keys in a ``VaultKeyStoreProvider`` over a key store.
    ///
    /// - Parameters:
    ///   - keyStore: The same as the vault's.
    ///   - serviceName: The same as the vault's.
    ///   - parameters: For new vaults; one that exists has its own.
    public init(
        keyStore: some KeyStore, serviceName: String = "SecureVault",
        parameters: ScryptParameters = .default
    ) {
        self.init(
            keystore: VaultKeyStoreProvider(keyStore: keyStore, serviceName: serviceName),
            parameters: parameters)
    }

    /// The service of the key store's entries.
    public var keychainServiceName: String { keystore.keychainServiceName }

    /// `hashing-salt`.
    public var keychainAccountName: String { "hashing-salt" }

    /// The salt of passwords; empty when the key store cannot be read.
    public var passwordSalt: Data { (try? derivation().salt) ?? Data() }

    /// The salt of hashes: what the first run has stored; nil when the key store cannot be read.
    public var hashingSalt: Data? { try? storedHashingSalt() }

    /// The key that a password stands for.
    ///
    /// - Parameter password: At least one byte.
    /// - Returns: 32 bytes.
    /// - Throws: `SecureVaultError`: `.noL2Key` when the salt is lost, and a wrapped key needs it;
    ///   `.keystoreReadError`, `.invalidPassword` for an empty one.
    public func deriveKeyFromPassword(_ password: Data) throws -> Data {
        try derivation().key(of: password)
    }

    /// SHA-256 of the salt and the value.
    ///
    /// - Parameters:
    ///   - data: The value.
    ///   - salt: nil stands for ``hashingSalt``.
    /// - Returns: Base64.
    /// - Throws: `SecureVaultError.keystoreReadError` rather than a hash with another salt.
    public func hashData(_ data: Data, salt: Data?) throws -> String? {
        try SaltedHash(salt: salt ?? storedHashingSalt()).of(data)
    }

    private func storedHashingSalt() throws -> Data {
        try keystore.readData(named: keychainAccountName, serviceName: keychainServiceName) {
            Data(RandomBytes.make(Self.hashingSaltLength))
        }
    }

    private func derivation() throws -> PasswordDerivation {
        let bytes = try keystore.readData(
            named: Self.derivationEntryName, serviceName: keychainServiceName
        ) {
            // Another salt would make a wrong password of the right one.
            guard try keystore.encryptedL2Key() == nil else { throw SecureVaultError.noL2Key }
            return PasswordDerivation.random(parameters).bytes
        }
        do {
            return try PasswordDerivation(bytes: bytes)
        } catch {
            throw SecureVaultError.authError(cause: error)
        }
    }
}

extension VaultCryptoProvider: CustomReflectable {
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
