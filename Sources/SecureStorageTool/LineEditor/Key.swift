/// What a user pressed.
enum Key: Equatable {
    case text(String)
    /// Text that the terminal marks as pasted, whose tabs and line feeds are no keys.
    case pasted(String)
    case control(Character)
    /// A character with Alt, or after Escape.
    case alt(Character)
    case enter, tab, backspace, delete
    case up, down, left, right, home, end
    case wordLeft, wordRight
    case unknown
}

/// Recognises keys in the bytes of a terminal that understands
/// [ECMA-48](https://ecma-international.org/publications-and-standards/standards/ecma-48/), as
/// xterm and all that are in use today.
struct KeyDecoder {
    private var bytes: [UInt8] = []
    private static let pasteEnd = Array("\u{1b}[201~".utf8)
    private static let pasteStart = Array("\u{1b}[200~".utf8)

    /// Adds bytes, and returns the keys that they complete.
    mutating func take(_ more: some Sequence<UInt8>) -> [Key] {
        bytes += more
        var keys: [Key] = []
        while let (key, length) = next() {
            bytes.removeFirst(length)
            keys.append(key)
        }
        return keys
    }

    /// Returns the first key and its number of bytes; nil if it is incomplete.
    private func next() -> (Key, Int)? {
        guard let first = bytes.first else { return nil }
        switch first {
        case 0x1b: return escape()
        case 0x09: return (.tab, 1)
        case 0x0a, 0x0d: return (.enter, 1)
        case 0x08, 0x7f: return (.backspace, 1)
        case 0..<0x20: return (.control(Character(Unicode.Scalar(first | 0x60))), 1)
        default: return text()
        }
    }

    /// Returns all text up to the next control character, so that it is drawn at once.
    private func text() -> (Key, Int)? {
        let run = Array(bytes.prefix { $0 >= 0x20 && $0 != 0x7f })
        let whole = run.count == bytes.count ? Visible.incompleteSuffix(of: run) : 0
        guard run.count > whole else { return nil }
        let count = run.count - whole
        return (.text(String(decoding: run.prefix(count), as: UTF8.self)), count)
    }

    private func escape() -> (Key, Int)? {
        guard bytes.count > 1 else { return nil }
        switch bytes[1] {
        case UInt8(ascii: "["): return sequence()
        case UInt8(ascii: "O"):
            guard bytes.count > 2 else { return nil }
            return (Self.letter(bytes[2], modified: false), 3)
        case 0x7f, 0x08: return (.alt("\u{7f}"), 2)
        case 0x1b: return (.unknown, 1)
        case 0x20..<0x7f: return (.alt(Character(Unicode.Scalar(bytes[1]))), 2)
        default: return (.unknown, 2)
        }
    }

    /// A control sequence: parameters, then a byte from `@` to `~`.
    private func sequence() -> (Key, Int)? {
        if bytes.starts(with: Self.pasteStart) { return pasted() }
        guard let end = bytes[2...].firstIndex(where: { 0x40...0x7e ~= $0 }) else {
            // No terminal sends such a long one.
            return bytes.count > 32 ? (.unknown, bytes.count) : nil
        }
        let parameters = String(decoding: bytes[2..<end], as: UTF8.self)
        let key: Key
        if bytes[end] == UInt8(ascii: "~") {
            key =
                switch parameters {
                case "1", "7": .home
                case "4", "8": .end
                case "3": .delete
                default: .unknown
                }
        } else {
            key = Self.letter(bytes[end], modified: parameters.contains(";"))
        }
        return (key, end + 1)
    }

    private static func letter(_ byte: UInt8, modified: Bool) -> Key {
        switch byte {
        case UInt8(ascii: "A"): .up
        case UInt8(ascii: "B"): .down
        case UInt8(ascii: "C"): modified ? .wordRight : .right
        case UInt8(ascii: "D"): modified ? .wordLeft : .left
        case UInt8(ascii: "H"): .home
        case UInt8(ascii: "F"): .end
        default: .unknown
        }
    }

    private func pasted() -> (Key, Int)? {
        let start = Self.pasteStart.count
        var end = start
        while end + Self.pasteEnd.count <= bytes.count {
            if bytes[end] == 0x1b, bytes[end...].starts(with: Self.pasteEnd) {
                let text = String(decoding: bytes[start..<end], as: UTF8.self)
                    .replacing("\r\n", with: "\n").replacing("\r", with: "\n")
                return (.pasted(text), end + Self.pasteEnd.count)
            }
            end += 1
        }
        return nil
    }
}
