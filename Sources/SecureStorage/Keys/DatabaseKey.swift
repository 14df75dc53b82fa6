public import Foundation

/// The secret that opens an encrypted file: a passphrase or a raw key.
///
/// ```swift
/// let key = SecretBytes.random(count: 32)  // keep it safe
/// let db = SecureDatabaseStore(fullDatabasePath: path, configuration: configuration)
/// try db.open(with: .raw(key))
/// ```
///
/// The library runs a passphrase through the key derivation of ``CipherConfiguration`` once
/// (PBKDF2-HMAC-SHA512 with 256,000 rounds, a tenth of a second); all connections share the result.
/// In both cases the file is an ordinary SQLCipher file.
public struct DatabaseKey: Sendable {
    enum Form: Sendable {
        case passphrase(SecretBytes)
        case raw(SecretBytes, salt: [UInt8]?)
    }

    let form: Form

    /// Creates a key from a passphrase: one or more bytes, used exactly as they are.
    ///
    /// - Parameter bytes: `x'…'` around 64 or 96 hex digits is a raw key, or a raw key with its
    ///   salt, as everywhere with SQLCipher: the same text in another program's `PRAGMA key` opens
    ///   the same file.
    /// - Returns: The key. An invalid key is reported when it is used.
    public static func passphrase(_ bytes: SecretBytes) -> DatabaseKey {
        DatabaseKey(form: .passphrase(bytes))
    }

    /// Creates a key from a passphrase: the UTF-8 bytes of a string.
    ///
    /// - Parameter text: As for ``passphrase(_:)-(SecretBytes)``. The string's own memory is not
    ///   cleared.
    /// - Returns: The key.
    public static func passphrase(_ text: String) -> DatabaseKey {
        .passphrase(SecretBytes(utf8: text))
    }

    /// Creates a key from the AES-256 key itself, without key derivation.
    ///
    /// - Parameter key: Exactly 32 random bytes; not a password.
    /// - Returns: The key. An invalid key is reported when it is used.
    public static func raw(_ key: SecretBytes) -> DatabaseKey {
        DatabaseKey(form: .raw(key, salt: nil))
    }

    /// Creates a key from the AES-256 key itself, without a key derivation.
    ///
    /// - Parameter key: Exactly 32 random bytes; not a password. The memory of the data itself is
    ///   not cleared.
    /// - Returns: The key. An error in it is reported where it is used.
    public static func raw(_ key: Data) -> DatabaseKey {
        .raw(SecretBytes(copying: key))
    }

    /// Creates a key from the AES-256 key itself and a salt that replaces the file's own.
    ///
    /// - Parameters:
    ///   - key: Exactly 32 random bytes.
    ///   - salt: Exactly 16 bytes; not secret. A new file begins with them. A key change keeps the
    ///     file's salt and refuses a different one.
    /// - Returns: The key. An invalid key is reported when it is used.
    public static func raw(_ key: SecretBytes, salt: Data) -> DatabaseKey {
        DatabaseKey(form: .raw(key, salt: Array(salt)))
    }
}
