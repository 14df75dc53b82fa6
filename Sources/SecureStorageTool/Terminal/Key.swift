/// What a user pressed.
enum Key: Equatable, Sendable {
    /// Characters that came at once.
    case text(String)
    /// Text that the terminal marks as pasted, whose tabs and line feeds are not keys.
    case pasted(String)
    case control(Character)
    /// A character with Alt, or after Escape.
    case alt(Character)
    case enter, tab, backspace, delete, escape
    case up, down, left, right, home, end, pageUp, pageDown
    case wordLeft, wordRight
    /// F1 to F12.
    case function(Int)
    case unknown

    /// The key, with a key of its own for each character of a text.
    var single: [Key] {
        guard case .text(let text) = self else { return [self] }
        return text.map { .text(String($0)) }
    }
}

/// Recognises keys in the bytes of a terminal that understands
/// [ECMA-48](https://ecma-international.org/publications-and-standards/standards/ecma-48/), as
/// xterm and all others in use today.
struct KeyDecoder {
    private var bytes: [UInt8] = []
    private static let pasteEnd = Array("\u{1b}[201~".utf8)
    private static let pasteStart = Array("\u{1b}[200~".utf8)

    /// Whether an escape or a character has begun; after a short wait, ``finish()`` decides.
    var isInside: Bool { !bytes.isEmpty }

    /// Ends a sequence that does not continue: an escape alone is the key Esc.
    mutating func finish() -> [Key] {
        defer { bytes = [] }
        return bytes.first == 0x1b ? [.escape] : []
    }

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
        case 0x1b: return (.escape, 1)
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
        // The console of Linux sends `[[A` for F1.
        if end == 2, bytes[2] == UInt8(ascii: "[") {
            guard bytes.count > 3 else { return nil }
            return (0x41...0x45 ~= bytes[3] ? .function(Int(bytes[3]) - 0x40) : .unknown, 4)
        }
        // A second number says which of Shift, Alt and Ctrl is held.
        let parameters = bytes[2..<end].split(separator: UInt8(ascii: ";"))
        let number = parameters.first.flatMap { Int(String(decoding: $0, as: UTF8.self)) }
        let key =
            bytes[end] == UInt8(ascii: "~")
            ? Self.numbered(number) : Self.letter(bytes[end], modified: parameters.count > 1)
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
        case UInt8(ascii: "M"): .enter
        case UInt8(ascii: "P")...UInt8(ascii: "S"): .function(Int(byte) - 0x4f)
        default: .unknown
        }
    }

    private static func numbered(_ number: Int?) -> Key {
        switch number {
        case 1?, 7?: .home
        case 3?: .delete
        case 4?, 8?: .end
        case 5?: .pageUp
        case 6?: .pageDown
        case let number? where 11...15 ~= number: .function(number - 10)
        case let number? where 17...21 ~= number: .function(number - 11)
        case let number? where 23...24 ~= number: .function(number - 12)
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
