public import Foundation
internal import SecureStorage

/// A vault's encryption, with salts that the vault's key store keeps.
///
/// AES-256-GCM ([NIST SP 800-38D](https://csrc.nist.gov/pubs/sp/800/38/d/final)). Passwords go
/// through scrypt ([RFC 7914](https://www.rfc-editor.org/rfc/rfc7914)) with a random salt for each
/// vault, made at the first run and kept with the parameters. A vault whose parameters are weaker
/// than those asked for gets the stronger ones when it is next unlocked.
public struct VaultCryptoProvider: SecureStorageCryptoProvider {
    private let keystore: any SecureStorageKeyStoreProvider
    private let parameters: ScryptParameters

    private static let derivationEntryName = "password-derivation"
    private static let previousEntryName = "password-derivation.previous"
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

    /// The encryption of the vault that has its keys in a ``VaultKeyStoreProvider`` over a key
    /// store.
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

    /// The salt of hashes: what the first run has stored; nil when the key store cannot be read, or
    /// has lost it.
    public var hashingSalt: Data? { try? storedHashingSalt() }

    /// The key that a password stands for.
    ///
    /// - Parameter password: At least one byte.
    /// - Returns: 32 bytes.
    /// - Throws: `SecureVaultError`: `.noL2Key` when the salt is lost, and a wrapped key needs it;
    ///   `.keystoreReadError`, `.invalidPassword` for an empty one.
    public func deriveKeyFromPassword(_ password: Data) throws -> Data {
        try wrappingKey(of: password) { try keystore.encryptedL2Key() }.key
    }

    /// The key that a password stands for, and how: of several derivations that are possible the
    /// one that opens what is wrapped, else the vault's own.
    ///
    /// There are several while parameters are being raised, after a crash in between, and for a
    /// moment afterwards: another process may have read the old ones, and be about to change the
    /// password with them.
    func wrappingKey(
        of password: Data, opening wrapped: () throws -> Data?
    ) throws -> (key: Data, derivation: PasswordDerivation) {
        let current = try derivation()
        var key = try current.key(of: password)
        var others = try previousDerivation().map { [$0] } ?? []
        if current.parameters.isWeaker(than: parameters) {
            others.append(PasswordDerivation(parameters: parameters, salt: current.salt))
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

    /// After an unlock: raises parameters that are weaker than asked for, or ends what a crash has
    /// interrupted.
    ///
    /// `opened` is how the password has opened; `rewrap` stores what it wraps under the key that it
    /// gets. The salt stays, so that the key of a step can be found after a crash, and so that two
    /// processes come to the same key. When something here throws, the password opens all the same,
    /// then and later.
    func settle(
        _ password: Data, _ opened: PasswordDerivation, rewrap: (_ key: Data) throws -> Void
    ) throws {
        let current = try derivation()
        if opened.parameters.isWeaker(than: parameters) {
            let stronger =
                current.parameters.isWeaker(than: parameters)
                ? PasswordDerivation(parameters: parameters, salt: current.salt) : current
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
        } else if current.parameters.isWeaker(than: opened.parameters) {
            try store(opened, Self.derivationEntryName)
        }
    }

    /// A new salt with the parameters asked for, as an entry of the key store, and the key that a
    /// password stands for with it.
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

    /// - Throws: `SecureVaultError.keystoreReadError`, rather than another salt.
    func storedHashingSalt() throws -> Data {
        try keystore.readData(named: keychainAccountName, serviceName: keychainServiceName) {
            // With another salt nothing would be found any more.
            guard try keystore.encryptedL2Key() == nil else {
                throw SecureVaultError.keystoreReadError(status: KeyStoreStatus.notFound)
            }
            return Data(RandomBytes.make(Self.hashingSaltLength))
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
