internal import Foundation

/// A key-encryption key on paper: 20 characters of Crockford's base 32, 100 random bits.
///
/// It is shown as `XXXXX-XXXXX-XXXXX-XXXXX`. Parsing accepts either case, O as 0, I and L as 1, and
/// spaces and hyphens anywhere. A missing character, or one outside the alphabet, is reported
/// differently from a wrong code.
///
/// The key is derived by HKDF with HMAC-SHA256 and a random salt of 16 bytes, not by a slow
/// derivation: 100 random bits cannot be guessed, while a password can.
public struct RecoveryCode: KeyEncryptionKeySource {
    /// The name of the key: 1 to 255 bytes of UTF-8, not secret.
    public let name: String

    /// The characters without hyphens, as ASCII.
    private let characters: SecretBytes

    static let length = 20
    private static let group = 5
    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
    private static let info = Array("SecureStorage recovery code 1".utf8)

    private init(name: String, characters: SecretBytes) {
        self.name = name
        self.characters = characters
    }

    /// Returns a new code from the system's random number generator.
    ///
    /// - Parameter name: 1 to 255 bytes of UTF-8.
    /// - Returns: A unique code.
    public static func random(name: String = "recovery code") -> RecoveryCode {
        let random = SecretBytes.random(count: length)
        let characters = SecretBytes(count: length) { characters in
            random.withUnsafeBytes { random in
                // 32 characters: five bits of each byte, so all are equally likely.
                for index in characters.indices {
                    characters[index] = alphabet[Int(random[index] & 31)]
                }
            }
        }
        return RecoveryCode(name: name, characters: characters)
    }

    /// Parses a code typed by a user, given as bytes.
    ///
    /// - Parameters:
    ///   - typed: ASCII.
    ///   - name: 1 to 255 bytes of UTF-8.
    /// - Throws: `EnvelopeError.malformedRecoveryCode`.
    public init(_ typed: SecretBytes, name: String = "recovery code") throws {
        var count = 0
        let characters = try SecretBytes(count: Self.length) { characters in
            try typed.withUnsafeBytes { typed in
                for byte in typed where !Self.isSeparator(byte) {
                    guard let character = Self.canonical(byte) else {
                        throw EnvelopeError.malformedRecoveryCode(
                            reason: "character \(count + 1) is not allowed in a code; "
                                + "use digits and letters except U")
                    }
                    if count < Self.length { characters[count] = character }
                    count += 1
                }
            }
        }
        guard count == Self.length else {
            throw EnvelopeError.malformedRecoveryCode(
                reason: "it has \(Self.length) characters, not \(count)")
        }
        self.init(name: name, characters: characters)
    }

    /// Parses a code typed by a user.
    ///
    /// - Parameters:
    ///   - typed: Its own memory cannot be cleared.
    ///   - name: 1 to 255 bytes of UTF-8.
    /// - Throws: `EnvelopeError.malformedRecoveryCode`.
    public init(_ typed: String, name: String = "recovery code") throws {
        try self.init(SecretBytes(utf8: typed), name: name)
    }

    /// The code with its hyphens, 23 bytes of ASCII, for the user to write down.
    public var formatted: SecretBytes {
        let groups = Self.length / Self.group
        return SecretBytes(count: Self.length + groups - 1) { text in
            characters.withUnsafeBytes { characters in
                for index in text.indices {
                    let (group, place) = index.quotientAndRemainder(dividingBy: Self.group + 1)
                    text[index] =
                        place == Self.group
                        ? UInt8(ascii: "-") : characters[group * Self.group + place]
                }
            }
        }
    }

    /// Derives a key for a new record, with a fresh salt.
    ///
    /// - Returns: The key.
    /// - Throws: `EnvelopeError.unacceptableKey` for the name.
    public func makeKey() throws -> KeyEncryptionKey {
        try derive(salt: RandomBytes.make(WrappedKey.saltLength))
    }

    /// Derives the key for an existing record.
    ///
    /// - Parameter record: A record that was wrapped with a recovery code.
    /// - Returns: The key; only unwrapping shows whether the code was right.
    /// - Throws: `EnvelopeError.noSuchKey` for a record of another kind.
    public func key(for record: WrappedKey) throws -> KeyEncryptionKey {
        guard case .recoveryCode(let salt) = record.origin else {
            throw EnvelopeError.noSuchKey(name: name)
        }
        return try derive(salt: Array(salt))
    }

    private func derive(salt: [UInt8]) throws -> KeyEncryptionKey {
        let key = KeyDerivation.hkdf(characters, salt: salt, info: Self.info)
        return try KeyEncryptionKey(
            name: name, bytes: SecretBytes(copying: key), origin: .recoveryCode(salt: Data(salt)))
    }

    private static func isSeparator(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "-") || byte == UInt8(ascii: " ") || (9...13).contains(byte)
    }

    private static func canonical(_ byte: UInt8) -> UInt8? {
        let upper = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) ? byte - 32 : byte
        return switch upper {
        case UInt8(ascii: "O"): UInt8(ascii: "0")
        case UInt8(ascii: "I"), UInt8(ascii: "L"): UInt8(ascii: "1")
        default: alphabet.contains(upper) ? upper : nil
        }
    }
}

extension RecoveryCode: CustomStringConvertible, CustomReflectable {
    /// Always `<redacted>`; ``formatted`` has the characters.
    public var description: String { "<redacted>" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
