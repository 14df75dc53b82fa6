public import Foundation
internal import SecureStorage

/// A vault's encryption, with salts that the vault's key store keeps.
///
/// AES-256-GCM ([NIST SP 800-38D](https://csrc.nist.gov/pubs/sp/800/38/d/final)). Passwords go through scrypt
/// ([RFC 7914](https://www.rfc-editor.org/rfc/rfc7914)) with a random salt for each vault, made at the first run and kept with
/// the parameters. A vault whose parameters are weaker than those asked for gets the stronger ones when it is next unlocked.
public struct VaultCryptoProvider: SecureStorageCryptoProvider {
    private let keystore: any SecureStorageKeyStoreProvider
    private let parameters: ScryptParameters

    private static let derivationEntryName = "password-derivation"
    private static let hashingSaltLength = 32

    /// The encryption of one vault.
    ///
    /// - Parameters:
    ///   - keystore: The same as the vault's.
    ///   - parameters: The least that a guess costs; a vault that has stronger ones keeps them.
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
    ///   - parameters: The least that a guess costs; a vault that has stronger ones keeps them.
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
        let derivation = try derivation()
        var key = try derivation.key(of: password)
        guard derivation.parameters.isWeaker(than: parameters),
            let wrapped = try keystore.encryptedL2Key(), !opens(wrapped, key)
        else { return key }
        // Another password, or a crash between the two steps of `strengthen`.
        let stronger = PasswordDerivation(parameters: parameters, salt: derivation.salt)
        var strongerKey = try stronger.key(of: password)
        guard opens(wrapped, strongerKey) else {
            strongerKey.erase()
            return key
        }
        key.erase()
        try store(stronger)
        return strongerKey
    }

    // Raises the parameters of a vault that has weaker ones than asked for. Two steps, after each of which the password
    // opens: the salt stays, so that the key of the second step can be found after a crash between them, and so that
    // two processes at once come to the same key.
    func strengthen(_ password: Data, rewrap: (_ key: Data) throws -> Void) throws {
        let derivation = try derivation()
        guard derivation.parameters.isWeaker(than: parameters) else { return }
        let stronger = PasswordDerivation(parameters: parameters, salt: derivation.salt)
        var key = try stronger.key(of: password)
        defer { key.erase() }
        try rewrap(key)
        try store(stronger)
    }

    /// A new salt with the parameters asked for, as an entry of the key store, and the key that a password stands for with it.
    func newDerivation(
        for password: Data
    ) throws -> (entry: (name: String, data: Data), key: Data) {
        let derivation = PasswordDerivation.random(parameters)
        return (
            (Self.derivationEntryName, derivation.bytes), try derivation.key(of: password)
        )
    }

    private func opens(_ wrapped: Data, _ key: Data) -> Bool {
        guard var plaintext = try? decrypt(wrapped, withKey: key) else { return false }
        plaintext.erase()
        return true
    }

    private func store(_ derivation: PasswordDerivation) throws {
        try keystore.writeData(
            derivation.bytes, named: Self.derivationEntryName, serviceName: keychainServiceName)
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
