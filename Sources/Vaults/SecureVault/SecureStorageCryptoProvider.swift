internal import Crypto
public import Foundation
internal import SecureStorage

/// A vault's encryption, with keys and data as `Data`.
///
/// ``VaultCryptoProvider`` is the one to use. One of an app's own gives the two salts and the two
/// names; the rest has default implementations: AES-256-GCM, scrypt, SHA-256.
public protocol SecureStorageCryptoProvider: Sendable {
    /// A new key.
    ///
    /// - Returns: 32 random bytes.
    /// - Throws: `SecureVaultError`.
    func generateSecretKey() throws -> Data

    /// A password for the time until the user sets one.
    ///
    /// - Returns: 32 random bytes.
    /// - Throws: `SecureVaultError`.
    func generatePassword() throws -> Data

    /// The key that a password stands for.
    ///
    /// Takes the time and the memory of its ``ScryptParameters``.
    ///
    /// - Parameter password: At least one byte.
    /// - Returns: 32 bytes, the same each time.
    /// - Throws: `SecureVaultError`.
    func deriveKeyFromPassword(_ password: Data) throws -> Data

    /// Encrypts.
    ///
    /// - Parameters:
    ///   - data: Any number of bytes.
    ///   - key: 32 bytes.
    /// - Returns: Nonce, ciphertext and tag.
    /// - Throws: `SecureVaultError.generalCryptoError`.
    func encrypt(_ data: Data, withKey key: Data) throws -> Data

    /// Decrypts.
    ///
    /// - Parameters:
    ///   - data: What `encrypt` has returned.
    ///   - key: The same key.
    /// - Returns: The plaintext.
    /// - Throws: `SecureVaultError.invalidPassword` when the key is another one or the data was
    ///   changed.
    func decrypt(_ data: Data, withKey key: Data) throws -> Data

    /// A hash with ``hashingSalt``, for values that are looked up without being stored.
    ///
    /// - Parameter data: The value.
    /// - Returns: Base64; nil when there is no salt.
    /// - Throws: `SecureVaultError`.
    func hashData(_ data: Data) throws -> String?

    /// A hash.
    ///
    /// - Parameters:
    ///   - data: The value.
    ///   - salt: nil stands for ``hashingSalt``.
    /// - Returns: Base64; nil when there is no salt.
    /// - Throws: `SecureVaultError`.
    func hashData(_ data: Data, salt: Data?) throws -> String?

    /// The salt of passwords: at least 16 random bytes, another one in each vault; not secret.
    var passwordSalt: Data { get }

    /// The salt of hashes, the same at each run; nil when it cannot be read.
    var hashingSalt: Data? { get }

    /// The service of the entries in the key store.
    var keychainServiceName: String { get }

    /// The name of the entry of the hashing salt.
    var keychainAccountName: String { get }
}

extension SecureStorageCryptoProvider {
    /// A new key.
    ///
    /// - Returns: 32 random bytes.
    public func generateSecretKey() throws -> Data {
        SecretBytes.random(count: KeyMaterial.length).copied
    }

    /// A password for the time until the user sets one.
    ///
    /// - Returns: 32 random bytes.
    public func generatePassword() throws -> Data { try generateSecretKey() }

    /// The key that a password stands for: scrypt with ``passwordSalt`` and the default parameters.
    ///
    /// - Parameter password: At least one byte.
    /// - Returns: 32 bytes.
    /// - Throws: `SecureVaultError.invalidPassword` for an empty one, `.generalCryptoError` for a
    ///   short salt.
    public func deriveKeyFromPassword(_ password: Data) throws -> Data {
        try PasswordDerivation(parameters: .default, salt: passwordSalt).key(of: password)
    }

    /// Encrypts with AES-256-GCM and a random nonce of 96 bits: at most 2³² times with one key.
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

    /// Decrypts what `encrypt(_:withKey:)` has returned.
    ///
    /// - Parameters:
    ///   - data: Nonce, ciphertext and tag.
    ///   - key: 32 bytes.
    /// - Returns: The plaintext.
    /// - Throws: `SecureVaultError`: `.generalCryptoError` for data that is too short and a key of
    ///   another length, else `.invalidPassword`.
    public func decrypt(_ data: Data, withKey key: Data) throws -> Data {
        guard key.count == KeyMaterial.length, data.count >= AESGCM.overhead else {
            throw SecureVaultError.generalCryptoError
        }
        defer { Scrubbing.encryption() }
        guard
            let plaintext = AESGCM.open(data, key: SymmetricKey(data: key), authenticating: [])
        else { throw SecureVaultError.invalidPassword }
        return plaintext
    }

    /// Encrypts with a key as a key store provider returns it.
    ///
    /// - Parameters:
    ///   - data: Any number of bytes.
    ///   - key: 32 bytes, or nil.
    /// - Returns: As `encrypt` with a key that is there.
    /// - Throws: `SecureVaultError.noL1Key` for nil; as `encrypt` with a key that is there.
    public func encrypt(_ data: Data, withKey key: Data?) throws -> Data {
        guard let key else { throw SecureVaultError.noL1Key }
        return try encrypt(data, withKey: key)
    }

    /// Decrypts with a key as a key store provider returns it.
    ///
    /// - Parameters:
    ///   - data: What `encrypt` has returned.
    ///   - key: 32 bytes, or nil.
    /// - Returns: The plaintext.
    /// - Throws: `SecureVaultError.noL1Key` for nil; as `decrypt` with a key that is there.
    public func decrypt(_ data: Data, withKey key: Data?) throws -> Data {
        guard let key else { throw SecureVaultError.noL1Key }
        return try decrypt(data, withKey: key)
    }

    /// A hash with ``hashingSalt``.
    ///
    /// - Parameter data: The value.
    /// - Returns: Base64; nil when there is no salt.
    /// - Throws: `SecureVaultError`.
    public func hashData(_ data: Data) throws -> String? { try hashData(data, salt: nil) }

    /// SHA-256 of the salt and the value.
    ///
    /// Who knows the salt can try values: it hides none that can be guessed.
    ///
    /// - Parameters:
    ///   - data: The value.
    ///   - salt: nil stands for ``hashingSalt``.
    /// - Returns: Base64; nil when there is no salt.
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
