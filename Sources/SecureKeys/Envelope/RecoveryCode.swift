internal import Foundation

/// A key-encryption key on paper: 20 characters of [Crockford's base
/// 32](https://www.crockford.com/base32.html), 100 random bits, and a check character.
///
/// It is shown as `XXXXXXX-XXXXXXX-XXXXXXX`. Parsing accepts either case, O as 0, I and L as 1, and
/// any kind of space and dash anywhere. A wrong character, a missing one, and two that are swapped
/// are reported differently from a wrong code.
///
/// The key is derived by HKDF with HMAC-SHA256 and a random salt of 16 bytes, not by a slow
/// derivation: 100 random bits cannot be guessed, while a password can.
public struct RecoveryCode: KeyEncryptionKeySource {
    /// The name of the key: 1 to 255 bytes of UTF-8, not secret.
    public let name: String

    /// The characters without hyphens and check character, as ASCII.
    private let characters: SecretBytes

    static let length = 20
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
        while true {
            let random = SecretBytes.random(count: length)
            let characters = SecretBytes(count: length) { characters in
                random.withUnsafeBytes { random in
                    // 32 characters: five bits of each byte, so all are equally likely.
                    for index in characters.indices {
                        characters[index] = alphabet[Int(random[index] & 31)]
                    }
                }
            }
            // Five of 37 check characters are not in the alphabet: another code then, which costs
            // a fifth of a bit.
            if checkCharacter(of: characters) != nil {
                return RecoveryCode(name: name, characters: characters)
            }
        }
    }

    /// Returns Crockford's check character: the number that the code is, modulo 37; nil if it is
    /// not in the alphabet.
    private static func checkCharacter(of characters: SecretBytes) -> UInt8? {
        let rest = characters.withUnsafeBytes { characters in
            characters.reduce(0) { rest, character in
                (rest * 32 + (alphabet.firstIndex(of: character) ?? 0)) % 37
            }
        }
        return rest < alphabet.count ? alphabet[rest] : nil
    }

    /// Parses a code typed by a user, given as bytes.
    ///
    /// - Parameters:
    ///   - typed: UTF-8.
    ///   - name: 1 to 255 bytes of UTF-8.
    /// - Throws: `EnvelopeError.malformedRecoveryCode`.
    public init(_ typed: SecretBytes, name: String = "recovery code") throws {
        var count = 0
        var check: UInt8?
        let characters = try SecretBytes(count: Self.length) { characters in
            try typed.withUnsafeBytes { typed in
                var decoder = UTF8()
                var rest = typed.makeIterator()
                while let scalar = Self.next(&decoder, &rest) {
                    if Self.isSeparator(scalar) { continue }
                    guard let character = Self.canonical(scalar) else {
                        throw EnvelopeError.malformedRecoveryCode(
                            reason: "character \(count + 1) is not allowed in a code; "
                                + "use digits and letters except U")
                    }
                    if count < Self.length {
                        characters[count] = character
                    } else {
                        check = character
                    }
                    count += 1
                }
            }
        }
        guard count == Self.length + 1 else {
            throw EnvelopeError.malformedRecoveryCode(
                reason: "it has \(Self.length + 1) characters, not \(count)")
        }
        guard check == Self.checkCharacter(of: characters) else {
            throw EnvelopeError.malformedRecoveryCode(
                reason: "a character is wrong, or two are swapped")
        }
        self.init(name: name, characters: characters)
    }

    /// Returns the next character; U+FFFD for a byte that is not UTF-8, nil at the end.
    private static func next(
        _ decoder: inout UTF8, _ bytes: inout UnsafeRawBufferPointer.Iterator
    ) -> Unicode.Scalar? {
        switch decoder.decode(&bytes) {
        case .scalarValue(let scalar): scalar
        case .error: "\u{fffd}"
        case .emptyInput: nil
        }
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

    /// The code with its hyphens, as text, for a screen or a printer; its memory cannot be cleared.
    public var formattedText: String {
        formatted.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }

    /// The code with its hyphens, 23 bytes of ASCII, for the user to write down.
    public var formatted: SecretBytes {
        let (groups, size) = (3, 7)
        return SecretBytes(count: groups * size + groups - 1) { text in
            characters.withUnsafeBytes { characters in
                for index in text.indices {
                    let (group, place) = index.quotientAndRemainder(dividingBy: size + 1)
                    let number = group * size + place
                    text[index] =
                        place == size
                        ? UInt8(ascii: "-")
                        : number < Self.length
                            ? characters[number]
                            : Self.checkCharacter(of: self.characters) ?? UInt8(ascii: "-")
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

    /// Any space, line end or dash, also those that are pasted from a formatted text.
    private static func isSeparator(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .dashPunctuation, .spaceSeparator, .lineSeparator, .paragraphSeparator: true
        default: (9...13).contains(scalar.value) || invisible.contains(scalar.value)
        }
    }

    /// Soft hyphen, zero-width space, word joiner, minus, byte order mark.
    private static let invisible: Set<UInt32> = [0xad, 0x200b, 0x2060, 0x2212, 0xfeff]

    private static func canonical(_ scalar: Unicode.Scalar) -> UInt8? {
        guard let byte = UInt8(exactly: scalar.value), byte < 0x80 else { return nil }
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
