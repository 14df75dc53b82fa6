internal import Foundation
internal import SecureStorage

/// The key of L2 and L3 in the key store, wrapped by a password: the bytes of a `WrappedKey`, whose
/// names say whether the password is the user's.
///
/// Records that an app makes with its crypto provider, as in the reference's code, are boxes
/// without a header: see `VaultCryptoProvider.wrappingKey`.
struct PasswordLevelRecord {
    let key: WrappedKey

    private static let userPassword = "password"
    private static let generatedPassword = "generated password"
    /// A box of 32 bytes; the first bytes of one are random.
    private static let boxLength = 60

    /// Whether bytes begin as a record does.
    static func isOne(_ bytes: Data) -> Bool {
        bytes.count != boxLength && bytes.starts(with: Data("SSWK".utf8))
    }

    /// nil for a box without a header.
    ///
    /// - Throws: `SecureVaultError`: `.keystoreReadError` for damage, otherwise `.authError`.
    init?(_ bytes: Data, in keystore: any SecureStorageKeyStoreProvider) throws {
        guard bytes.count != Self.boxLength else { return nil }
        self.key = try keystore.record(in: bytes, named: keystore.l2KeyEntryName) {
            let key = try WrappedKey(bytes: $0)
            guard key.dataKeyName == BackedUpLevels.rootName else {
                throw EnvelopeError.damaged(reason: "it is another key")
            }
            return key
        }
    }

    init(
        wrapping root: SecretBytes, with password: SecretBytes, isGenerated: Bool,
        _ parameters: ScryptParameters
    ) throws {
        let source = PasswordKey(
            password, name: Self.name(isGenerated), parameters: parameters)
        try self.init(wrapping: root, with: source.makeKey())
    }

    /// Wraps with a key that was derived from the password as text.
    init(
        wrapping root: SecretBytes, withDerived bytes: SecretBytes, isGenerated: Bool,
        _ derivation: PasswordDerivation
    ) throws {
        try self.init(
            wrapping: root,
            with: KeyEncryptionKey(
                name: Self.name(isGenerated), bytes: bytes,
                origin: .password(derivation.parameters, salt: derivation.salt)))
    }

    private init(wrapping root: SecretBytes, with key: KeyEncryptionKey) throws {
        let root = try DataEncryptionKey(name: BackedUpLevels.rootName, bytes: root)
        self.key = try WrappedKey(wrapping: root, with: key)
    }

    private static func name(_ isGenerated: Bool) -> String {
        isGenerated ? generatedPassword : userPassword
    }

    var bytes: Data { key.bytes }

    var isOfGeneratedPassword: Bool { key.keyEncryptionKeyName == Self.generatedPassword }

    /// - Throws: `SecureVaultError.invalidPassword`; `EnvelopeError` when memory is insufficient.
    func unwrap(with password: SecretBytes) throws -> SecretBytes {
        try unwrap(with: PasswordKey(password, name: key.keyEncryptionKeyName))
    }

    /// Unwraps with a key that was derived from the password.
    ///
    /// - Throws: `SecureVaultError.invalidPassword`.
    func unwrap(withDerived bytes: SecretBytes) throws -> SecretBytes {
        try unwrap(
            with: KeyEncryptionKey(
                name: key.keyEncryptionKeyName, bytes: bytes, origin: key.origin))
    }

    private func unwrap(with source: some KeyEncryptionKeySource) throws -> SecretBytes {
        do {
            return try key.unwrap(with: source).material.secret()
        } catch EnvelopeError.wrongPassword {
            throw SecureVaultError.invalidPassword
        }
    }
}

extension SecureStorageKeyStoreProvider {
    /// Returns an entry's contents.
    ///
    /// - Throws: `SecureVaultError`: `.keystoreReadError` for damage, otherwise `.authError`.
    func record<Record>(
        in bytes: Data, named name: String, _ decode: (Data) throws -> Record
    ) throws -> Record {
        do {
            return try decode(bytes)
        } catch EnvelopeError.damaged(let reason) {
            throw SecureVaultError.keystoreUnreadable(
                KeyStoreError.damaged(name: entry(name), reason: reason))
        } catch {
            throw SecureVaultError.authError(cause: error)
        }
    }
}
