internal import Foundation
internal import SecureStoragePlatform

/// A `DatabaseKey` whose form has been validated.
enum EncryptionKey: Sendable {
    /// One or more bytes, input to the key derivation of the cipher configuration.
    case passphrase(Passphrase)
    /// The 32 bytes of the AES-256 key.
    case raw(SecretBytes)
    /// The 32 bytes of the key, and a 16-byte salt that replaces the file's own.
    case rawWithSalt(SecretBytes, salt: [UInt8])

    static let rawKeyLength = 32

    /// - Throws: `.authenticationFailed` for an empty passphrase or a wrong length of key or salt.
    init(_ given: DatabaseKey) throws {
        switch given.form {
        case .passphrase(let text):
            guard text.count > 0 else {
                throw SecureStorageError.authenticationFailed(
                    message: "the key is empty; an encrypted database needs a passphrase "
                        + "or a raw key")
            }
            self = Self.rawLiteral(text) ?? .passphrase(Passphrase(text))
        case .raw(let key, let salt):
            guard key.count == Self.rawKeyLength else {
                throw SecureStorageError.authenticationFailed(
                    message: "a raw key is exactly 32 bytes (256 bits) long, not \(key.count); "
                        + "use a passphrase for anything else")
            }
            guard let salt else {
                self = .raw(key)
                return
            }
            guard salt.count == CipherConfiguration.saltLength else {
                throw SecureStorageError.authenticationFailed(
                    message: "a salt is exactly 16 bytes long, not \(salt.count)")
            }
            self = .rawWithSalt(key, salt: salt)
        }
    }

    /// Parses the key and salt of SQLCipher's `x'…'` notation; nil for anything else.
    private static func rawLiteral(_ text: SecretBytes) -> EncryptionKey? {
        guard text.count == 67 || text.count == 99 else { return nil }
        return text.withUnsafeBytes { text -> EncryptionKey? in
            guard text[0] == UInt8(ascii: "x") || text[0] == UInt8(ascii: "X"),
                text[1] == UInt8(ascii: "'"), text[text.count - 1] == UInt8(ascii: "'")
            else { return nil }
            let digits = UnsafeRawBufferPointer(rebasing: text[2..<(text.count - 1)])
            guard digits.allSatisfy({ Hex.value($0) != nil }) else { return nil }
            let key = SecretBytes(count: rawKeyLength) { key in
                Hex.decode(digits[..<64], into: key)
            }
            guard digits.count == 96 else { return .raw(key) }
            var salt = [UInt8](repeating: 0, count: CipherConfiguration.saltLength)
            salt.withUnsafeMutableBytes { Hex.decode(digits[64...], into: $0) }
            return .rawWithSalt(key, salt: salt)
        }
    }
}
