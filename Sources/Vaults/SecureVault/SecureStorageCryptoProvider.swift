internal import Crypto
public import Foundation
internal import SecureStorage

/// A vault's encryption, with keys and data as `Data`.
///
/// Use ``VaultCryptoProvider``. A custom provider supplies the two salts and the two names;
/// everything else has default implementations: AES-256-GCM, scrypt, SHA-256.
public protocol SecureStorageCryptoProvider: Sendable {
    /// Generates a key.
    ///
    /// - Returns: 32 random bytes.
    /// - Throws: `SecureVaultError`.
    func generateSecretKey() throws -> Data

    /// Generates a password that is valid until the user sets one.
    ///
    /// - Returns: 32 random bytes.
    /// - Throws: `SecureVaultError`.
    func generatePassword() throws -> Data

    /// Derives a key from a password.
    ///
    /// Costs the time and the memory of its ``/SecureKeys/ScryptParameters``.
    ///
    /// - Parameter password: At least one byte.
    /// - Returns: 32 bytes, the same for every call.
    /// - Throws: `SecureVaultError`.
    func deriveKeyFromPassword(_ password: Data) throws -> Data

    /// Encrypts data.
    ///
    /// - Parameters:
    ///   - data: Any number of bytes.
    ///   - key: 32 bytes.
    /// - Returns: Nonce, ciphertext and tag.
    /// - Throws: `SecureVaultError.generalCryptoError`.
    func encrypt(_ data: Data, withKey key: Data) throws -> Data

    /// Decrypts data.
    ///
    /// - Parameters:
    ///   - data: The result of `encrypt`.
    ///   - key: The same key.
    /// - Returns: The plaintext.
    /// - Throws: `SecureVaultError.invalidPassword` when the key is wrong or the data was changed.
    func decrypt(_ data: Data, withKey key: Data) throws -> Data

    /// Hashes a value with ``hashingSalt``, for lookups of values that are not stored.
    ///
    /// - Parameter data: The value.
    /// - Returns: Base64, or nil when no salt is available.
    /// - Throws: `SecureVaultError`.
    func hashData(_ data: Data) throws -> String?

    /// Hashes a value.
    ///
    /// - Parameters:
    ///   - data: The value.
    ///   - salt: The salt; nil means ``hashingSalt``.
    /// - Returns: Base64, or nil when no salt is available.
    /// - Throws: `SecureVaultError`.
    func hashData(_ data: Data, salt: Data?) throws -> String?

    /// The salt of passwords: at least 16 random bytes, different in each vault; not secret.
    var passwordSalt: Data { get }

    /// The salt of hashes, the same in every run, or nil when it cannot be read.
    var hashingSalt: Data? { get }

    /// The service name of the entries in the key store.
    var keychainServiceName: String { get }

    /// The name of the hashing salt's entry.
    var keychainAccountName: String { get }
}

extension SecureStorageCryptoProvider {
    /// Generates a key.
    ///
    /// - Returns: 32 random bytes.
    public func generateSecretKey() throws -> Data {
        SecretBytes.random(count: KeyMaterial.length).copied
    }

    /// Generates a password that is valid until the user sets one.
    ///
    /// - Returns: 32 random bytes.
    public func generatePassword() throws -> Data { try generateSecretKey() }

    /// Derives a key from a password: scrypt with ``passwordSalt`` and the default parameters.
    ///
    /// - Parameter password: At least one byte.
    /// - Returns: 32 bytes.
    /// - Throws: `SecureVaultError.invalidPassword` for an empty password, `.generalCryptoError`
    ///   for a short salt.
    public func deriveKeyFromPassword(_ password: Data) throws -> Data {
        // Without a record of its own, so it cannot change.
        try PasswordDerivation(parameters: .default, salt: passwordSalt)
            .key(of: password)
    }

    /// Encrypts with AES-256-GCM and a random 96-bit nonce: at most 2³² times with one key.
    ///
    /// - Parameters:
    ///   - data: Any number of bytes.
    ///   - key: 32 bytes.
    /// - Returns: 28 bytes more than the plaintext.
    /// - Throws: `SecureVaultError.generalCryptoError` for a key of another length.
    public func encrypt(_ data: Data, withKey key: Data) throws -> Data {
        guard key.count == KeyMaterial.length else { throw SecureVaultError.generalCryptoError }
        defer { Scrubbing.encryption() }
        do {
            return try AESGCM.seal(
                data, key: SymmetricKey(data: key),
                nonce: RandomBytes.make(AESGCM.nonceLength), authenticating: [])
        } catch {
            throw SecureVaultError.generalCryptoError
        }
    }

    /// Decrypts the result of `encrypt(_:withKey:)`.
    ///
    /// - Parameters:
    ///   - data: Nonce, ciphertext and tag.
    ///   - key: 32 bytes.
    /// - Returns: The plaintext.
    /// - Throws: `SecureVaultError`: `.generalCryptoError` for data that is too short or a key of
    ///   another length, otherwise `.invalidPassword`.
    public func decrypt(_ data: Data, withKey key: Data) throws -> Data {
        try Self.open(data, withKey: key)
    }

    /// Opens a box.
    static func open(_ data: Data, withKey key: Data) throws -> Data {
        guard key.count == KeyMaterial.length, data.count >= AESGCM.overhead else {
            throw SecureVaultError.generalCryptoError
        }
        defer { Scrubbing.encryption() }
        guard
            let plaintext = AESGCM.open(data, key: SymmetricKey(data: key), authenticating: [])
        else { throw SecureVaultError.invalidPassword }
        return plaintext
    }

    /// Encrypts with an optional key, as a key store provider returns it.
    ///
    /// - Parameters:
    ///   - data: Any number of bytes.
    ///   - key: 32 bytes, or nil.
    /// - Returns: As `encrypt` with a non-nil key.
    /// - Throws: `SecureVaultError.noL1Key` for nil; otherwise as `encrypt` with a non-nil key.
    public func encrypt(_ data: Data, withKey key: Data?) throws -> Data {
        guard let key else { throw SecureVaultError.noL1Key }
        return try encrypt(data, withKey: key)
    }

    /// Decrypts with an optional key, as a key store provider returns it.
    ///
    /// - Parameters:
    ///   - data: The result of `encrypt`.
    ///   - key: 32 bytes, or nil.
    /// - Returns: The plaintext.
    /// - Throws: `SecureVaultError.noL1Key` for nil; otherwise as `decrypt` with a non-nil key.
    public func decrypt(_ data: Data, withKey key: Data?) throws -> Data {
        guard let key else { throw SecureVaultError.noL1Key }
        return try decrypt(data, withKey: key)
    }

    /// Hashes a value with ``hashingSalt``.
    ///
    /// - Parameter data: The value.
    /// - Returns: Base64, or nil when no salt is available.
    /// - Throws: `SecureVaultError`.
    public func hashData(_ data: Data) throws -> String? { try hashData(data, salt: nil) }

    /// Returns the SHA-256 of the salt and the value.
    ///
    /// Anyone who knows the salt can try values, so the hash does not hide values that can be
    /// guessed.
    ///
    /// - Parameters:
    ///   - data: The value.
    ///   - salt: The salt; nil means ``hashingSalt``.
    /// - Returns: Base64, or nil when no salt is available.
    /// - Throws: Nothing.
    public func hashData(_ data: Data, salt: Data?) throws -> String? {
        guard let salt = salt ?? hashingSalt else { return nil }
        return SaltedHash(salt: salt).of(data)
    }
}

/// SHA-256 of a salt and a value, as Base64.
struct SaltedHash {
    let salt: Data

    func of(_ data: Data) -> String {
        var hash = SHA256()
        hash.update(data: salt)
        hash.update(data: data)
        return Data(hash.finalize()).base64EncodedString()
    }
}
