extension SQLText {
    /// Whether the first statement of `sql` is a PRAGMA, or an EXPLAIN of one, which acts as well.
    static func isPragma(_ sql: String) -> Bool {
        var text = Substring(sql).utf8
        while let word = nextWord(&text) {
            switch word {
            case "PRAGMA": return true
            case "EXPLAIN", "QUERY", "PLAN": continue
            default: return false
            }
        }
        return false
    }

    /// Returns the next word, in capitals, after blanks, semicolons and comments; nil for anything
    /// else and at the end.
    private static func nextWord(_ text: inout Substring.UTF8View) -> String? {
        while let first = text.first {
            switch first {
            case UInt8(ascii: " "), UInt8(ascii: ";"), 0x09...0x0d:
                text = text.dropFirst()
            case 0xef where text.starts(with: [0xef, 0xbb, 0xbf]):
                text = text.dropFirst(3)  // a byte-order mark is a blank to SQLite
            case UInt8(ascii: "-") where text.starts(with: "--".utf8):
                text = text.drop { $0 != UInt8(ascii: "\n") }
            case UInt8(ascii: "/") where text.starts(with: "/*".utf8):
                text = text.dropFirst(2)
                while !text.isEmpty, !text.starts(with: "*/".utf8) { text = text.dropFirst() }
                text = text.dropFirst(2)
            default:
                let word = text.prefix { isLetter($0) }
                text = text[word.endIndex...]
                return word.isEmpty ? nil : String(Substring(word)).uppercased()
            }
        }
        return nil
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (byte | 0x20) >= UInt8(ascii: "a") && (byte | 0x20) <= UInt8(ascii: "z")
    }
}
