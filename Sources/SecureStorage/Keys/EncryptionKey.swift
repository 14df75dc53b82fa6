internal import Foundation

/// What a caller gave to open or re-key a file, checked for its form.
enum EncryptionKey: Sendable {
    /// Any number of bytes but none; goes through the key derivation of the cipher configuration.
    case passphrase(SecretBytes)
    /// 32 bytes that are the AES-256 key.
    case raw(SecretBytes)
    /// 32 bytes of key, and 16 bytes of salt that stand in for the file's own.
    case rawWithSalt(SecretBytes, salt: [UInt8])

    static let rawKeyLength = 32

    /// A key from text.
    ///
    /// `x'…'` around 64 hex digits is a raw key and around 96 a raw key with its salt, as everywhere
    /// with SQLCipher: the same text in another program's `PRAGMA key` opens the same file.
    /// - Throws: `.authenticationFailed` for the empty string.
    init(passphrase: String) throws {
        guard !passphrase.isEmpty else {
            throw SecureStorageError.authenticationFailed(
                message: "the key is empty; an encrypted database needs a passphrase or a raw key")
        }
        let bytes = SecretBytes(utf8: passphrase)
        self = Self.rawLiteral(bytes) ?? .passphrase(bytes)
    }

    /// A raw 256-bit key.
    /// - Throws: `.authenticationFailed` when `rawKey` is not exactly 32 bytes long.
    init(rawKey: Data) throws {
        guard rawKey.count == Self.rawKeyLength else {
            throw SecureStorageError.authenticationFailed(
                message: "a raw key is exactly 32 bytes (256 bits) long, not \(rawKey.count); "
                    + "use open(with: String) for a passphrase")
        }
        self = .raw(rawKey.withUnsafeBytes { SecretBytes(copying: $0) })
    }

    /// The key and salt of SQLCipher's `x'…'` notation, or nil for anything else.
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

/// Hexadecimal digits to and from bytes, without an intermediate `String` that could not be cleared.
enum Hex {
    static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// Decodes pairs of digits; `output` has half the length of `digits`, which are all valid.
    static func decode(
        _ digits: Slice<UnsafeRawBufferPointer>, into output: UnsafeMutableRawBufferPointer
    ) {
        var position = digits.startIndex
        for index in output.indices {
            let high = value(digits[position]) ?? 0
            let low = value(digits[position + 1]) ?? 0
            output[index] = high << 4 | low
            position += 2
        }
    }

    /// Writes two digits per byte; `output` has twice the length of `bytes`.
    static func encode(
        _ bytes: some Collection<UInt8>, into output: Slice<UnsafeMutableRawBufferPointer>
    ) {
        let digits = StaticString("0123456789abcdef").utf8Start
        var output = output
        var position = output.startIndex
        for byte in bytes {
            output[position] = digits[Int(byte >> 4)]
            output[position + 1] = digits[Int(byte & 0x0f)]
            position += 2
        }
    }
}
