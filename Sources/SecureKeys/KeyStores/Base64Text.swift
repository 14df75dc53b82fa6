/// Base64 (RFC 4648, section 4) to and from memory that is cleared, for services that store text.
enum Base64Text {
    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let padding = UInt8(ascii: "=")

    /// Encodes `secret` as NUL-terminated Base64 text for C.
    static func cString(_ secret: SecretBytes) -> SecretBytes {
        SecretBytes(count: (secret.count + 2) / 3 * 4 + 1) { text in
            secret.withUnsafeBytes { bytes in
                var position = 0
                for start in stride(from: 0, to: bytes.count, by: 3) {
                    let group = (0..<3).reduce(0) { value, index in
                        value << 8 | (start + index < bytes.count ? Int(bytes[start + index]) : 0)
                    }
                    for (index, shift) in [18, 12, 6, 0].enumerated() {
                        text[position] =
                            start + index <= bytes.count ? alphabet[group >> shift & 63] : padding
                        position += 1
                    }
                }
            }
        }
    }

    /// Decodes Base64 text; returns nil for text that ``cString(_:)`` would not produce.
    static func bytes(_ text: UnsafeRawBufferPointer) -> SecretBytes? {
        guard text.count % 4 == 0 else { return nil }
        let paddings = text.suffix(2).reversed().prefix { $0 == padding }.count
        var isValid = true
        let secret = SecretBytes(count: text.count / 4 * 3 - paddings) { bytes in
            var position = 0
            var group = 0
            for (index, character) in text.enumerated() {
                let value = index >= text.count - paddings ? 0 : Self.value(character)
                guard let value else {
                    isValid = false
                    return
                }
                group = group << 6 | value
                guard index % 4 == 3 else { continue }
                for shift in [16, 8, 0] {
                    if position < bytes.count {
                        bytes[position] = UInt8(group >> shift & 255)
                        position += 1
                    } else if group >> shift & 255 != 0 {
                        // The padding excludes these bits. If they are set, this is a second
                        // encoding of the same bytes.
                        isValid = false
                    }
                }
                group = 0
            }
        }
        return isValid ? secret : nil
    }

    private static func value(_ character: UInt8) -> Int? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): Int(character) - 65
        case UInt8(ascii: "a")...UInt8(ascii: "z"): Int(character) - 97 + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(character) - 48 + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
