public import Foundation

/// What opens an encrypted file: a passphrase, or the key itself.
///
/// ```swift
/// let key = SecretBytes.random(count: 32)  // keep it safe
/// let db = SecureDatabaseStore(fullDatabasePath: path, configuration: configuration)
/// try db.open(with: .raw(key))
/// ```
///
/// A passphrase is run through the key derivation of ``CipherConfiguration`` once, by the library
/// (PBKDF2-HMAC-SHA512 with 256,000 rounds, a tenth of a second); all connections get its result.
/// The file is an ordinary SQLCipher file either way.
public struct DatabaseKey: Sendable {
    enum Form: Sendable {
        case passphrase(SecretBytes)
        case raw(SecretBytes, salt: [UInt8]?)
    }

    let form: Form

    /// A passphrase: any number of bytes but none, used exactly as they are.
    ///
    /// - Parameter bytes: `x'…'` around 64 or 96 hex digits stands for a raw key, or a raw key with
    ///   its salt, as everywhere with SQLCipher: the same text in another program's `PRAGMA key`
    ///   opens the same file.
    /// - Returns: The key. What is wrong with it is reported where it is used.
    public static func passphrase(_ bytes: SecretBytes) -> DatabaseKey {
        DatabaseKey(form: .passphrase(bytes))
    }

    /// A passphrase: the UTF-8 bytes of a string.
    ///
    /// - Parameter text: As ``passphrase(_:)-(SecretBytes)``. The string's own memory is not
    ///   cleared.
    /// - Returns: The key.
    public static func passphrase(_ text: String) -> DatabaseKey {
        .passphrase(SecretBytes(utf8: text))
    }

    /// The AES-256 key itself, without a key derivation.
    ///
    /// - Parameter key: Exactly 32 random bytes; not a password.
    /// - Returns: The key. What is wrong with it is reported where it is used.
    public static func raw(_ key: SecretBytes) -> DatabaseKey {
        DatabaseKey(form: .raw(key, salt: nil))
    }

    /// The AES-256 key itself, without a key derivation.
    ///
    /// - Parameter key: Exactly 32 random bytes; not a password. The memory of the data itself is
    ///   not cleared.
    /// - Returns: The key. What is wrong with it is reported where it is used.
    public static func raw(_ key: Data) -> DatabaseKey {
        .raw(SecretBytes(copying: key))
    }

    /// The AES-256 key itself, and the salt that stands in for the file's own.
    ///
    /// - Parameters:
    ///   - key: Exactly 32 random bytes.
    ///   - salt: Exactly 16 bytes; not secret. A new file begins with them. A key change keeps the
    ///     file's salt and refuses another one.
    /// - Returns: The key. What is wrong with it is reported where it is used.
    public static func raw(_ key: SecretBytes, salt: Data) -> DatabaseKey {
        DatabaseKey(form: .raw(key, salt: Array(salt)))
    }
}
