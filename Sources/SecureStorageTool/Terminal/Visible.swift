/// Text that is safe for a terminal: characters that would control it or change the text's
/// direction are escaped.
enum Visible {
    /// Returns `text` with control characters as `\n`, `\t` or `\x1b`, and invisible changes of
    /// direction as `\u{202e}`.
    ///
    /// - Parameters:
    ///   - text: Any text.
    ///   - keepsLines: Whether line feeds and tabs are kept.
    /// - Returns: The text itself if it needs no escapes.
    static func text(_ text: String, keepsLines: Bool = false) -> String {
        guard text.unicodeScalars.contains(where: { isUnsafe($0, keepsLines) }) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            guard isUnsafe(scalar, keepsLines) else {
                result.unicodeScalars.append(scalar)
                continue
            }
            switch scalar {
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            default:
                let hex = String(scalar.value, radix: 16)
                let isByte = scalar.value < 0x80
                result += isByte ? "\\x" + (hex.count < 2 ? "0" : "") + hex : "\\u{\(hex)}"
            }
        }
        return result
    }

    private static func isUnsafe(_ scalar: Unicode.Scalar, _ keepsLines: Bool) -> Bool {
        switch scalar.value {
        case 0x09, 0x0a: !keepsLines
        case 0..<0x20, 0x7f..<0xa0: true
        // Directional marks, embeddings and isolates; line and paragraph separators.
        case 0x061c, 0x200e, 0x200f, 0x2028...0x202e, 0x2066...0x2069, 0xfeff: true
        default: false
        }
    }

    /// Returns the number of bytes at the end that begin an incomplete UTF-8 character.
    static func incompleteSuffix(of bytes: [UInt8]) -> Int {
        for length in 1...3 where length <= bytes.count {
            let byte = bytes[bytes.count - length]
            guard byte & 0xc0 != 0x80 else { continue }
            let needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
            return needed > length ? length : 0
        }
        return 0
    }
}
