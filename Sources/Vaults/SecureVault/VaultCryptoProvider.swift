public import Foundation
internal import SecureStorage

/// A vault's encryption, with salts that the vault's key store holds.
///
/// Data is encrypted with AES-256-GCM ([NIST SP
/// 800-38D](https://csrc.nist.gov/pubs/sp/800/38/d/final)). Keys are derived from passwords with
/// scrypt ([RFC 7914](https://www.rfc-editor.org/rfc/rfc7914)) and a random salt per vault, created
/// at the first run and stored with the parameters. A vault with weaker parameters than those
/// requested is upgraded when it is next unlocked.
public struct VaultCryptoProvider: SecureStorageCryptoProvider {
    private let keystore: any SecureStorageKeyStoreProvider
    private let parameters: ScryptParameters

    private static let derivationEntryName = "password-derivation"
    private static let previousEntryName = "password-derivation.previous"
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

    /// The salt of passwords; empty when the key store cannot be read.
    public var passwordSalt: Data { (try? derivation().salt) ?? Data() }

    /// The salt of hashes as the first run stored it, or nil when the key store cannot be read or
    /// has lost it.
    public var hashingSalt: Data? { try? storedHashingSalt() }

    /// Derives a key from a password.
    ///
    /// - Parameter password: At least one byte.
    /// - Returns: 32 bytes.
    /// - Throws: `SecureVaultError`: `.noL2Key` when the salt is lost but a wrapped key needs it;
    ///   `.keystoreReadError`, `.invalidPassword` for an empty password.
    public func deriveKeyFromPassword(_ password: Data) throws -> Data {
        try wrappingKey(of: password) { try keystore.encryptedL2Key() }.key
    }

    /// Returns the key and the derivation that open the wrapped key, or otherwise the vault's
    /// current derivation.
    ///
    /// Several derivations are possible while parameters are being raised, after a crash during
    /// that, and for a short time afterwards: another process may have read the old parameters and
    /// be about to change the password with them.
    func wrappingKey(
        of password: Data, opening wrapped: () throws -> Data?
    ) throws -> (key: Data, derivation: PasswordDerivation) {
        let current = try derivation()
        var key = try current.key(of: password)
        var others = try previousDerivation().map { [$0] } ?? []
        // An upgrade that was killed, to the parameters of this program, or of one that requests
        // no stronger ones than the vault has.
        for wanted in [parameters, current.parameters] {
            guard let stronger = current.strengthened(to: wanted), !others.contains(stronger)
            else { continue }
            others.append(stronger)
        }
        guard !others.isEmpty, let wrapped = try? wrapped(), !opens(wrapped, key) else {
            return (key, current)
        }
        for other in others {
            guard var otherKey = try? other.key(of: password) else { continue }
            if opens(wrapped, otherKey) {
                key.erase()
                return (otherKey, other)
            }
            otherKey.erase()
        }
        return (key, current)
    }

    /// Raises parameters that are weaker than requested after an unlock, or completes an upgrade
    /// that a crash interrupted.
    ///
    /// `opened` is the derivation that the password was opened with; `rewrap` wraps and stores the
    /// same contents under the key that it receives. The salt is kept, so that the key of each step
    /// can be found after a crash and two processes derive the same key. If anything here throws,
    /// the password still opens the vault, now and later.
    func settle(
        _ password: Data, _ opened: PasswordDerivation, rewrap: (_ key: Data) throws -> Void
    ) throws {
        let current = try derivation()
        if opened.strengthened(to: parameters) != nil {
            let stronger = current.strengthened(to: parameters) ?? current
            var key = try stronger.key(of: password)
            defer { key.erase() }
            try rewrap(key)
            guard stronger != current else { return }
            try store(current, Self.previousEntryName)
            try store(stronger, Self.derivationEntryName)
        } else if opened == current {
            guard try previousDerivation() != nil else { return }
            try keystore.removeData(
                named: Self.previousEntryName, serviceName: keychainServiceName)
        } else if current.isWeaker(than: opened) {
            try store(opened, Self.derivationEntryName)
        }
    }

    /// Returns a new salt with the requested parameters as a key store entry, and the key derived
    /// from the password with them.
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

    private func store(_ derivation: PasswordDerivation, _ name: String) throws {
        try keystore.writeData(
            derivation.bytes, named: name, serviceName: keychainServiceName)
    }

    private func previousDerivation() throws -> PasswordDerivation? {
        try keystore.readData(named: Self.previousEntryName, serviceName: keychainServiceName)
            .flatMap { try? PasswordDerivation(bytes: $0) }
    }

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
                throw SecureVaultError.keystoreReadError(
                    status: KeyStoreStatus.notFound,
                    cause: KeyStoreError.notFound(
                        name: "\(keychainServiceName).\(keychainAccountName)"))
            }
            return Data(RandomBytes.make(Self.hashingSaltLength))
        }
    }

    private func derivation() throws -> PasswordDerivation {
        let bytes = try keystore.readData(
            named: Self.derivationEntryName, serviceName: keychainServiceName
        ) {
            // Another salt would make the right password wrong.
            guard try keystore.encryptedL2Key() == nil else { throw SecureVaultError.noL2Key }
            return PasswordDerivation.random(parameters).bytes
        }
        do {
            return try PasswordDerivation(bytes: bytes)
        } catch EnvelopeError.damaged(let reason) {
            let cause = KeyStoreError.damaged(
                name: "\(keychainServiceName).\(Self.derivationEntryName)", reason: reason)
            throw SecureVaultError.keystoreReadError(
                status: KeyStoreStatus.of(cause), cause: cause)
        } catch {
            throw SecureVaultError.authError(cause: error)
        }
    }
}

extension VaultCryptoProvider: CustomReflectable {
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
