/// A key that was pressed, as the terminal reports it.
enum Key: Equatable, Sendable {
    case character(Character)
    case enter, escape, backspace, delete, tab
    case up, down, left, right, pageUp, pageDown, home, end
    /// F1 to F12.
    case function(Int)
    /// Such as `c` for Ctrl-C.
    case control(Character)
}

/// Recognises keys in the bytes of a terminal: characters in UTF-8 and the escape sequences of
/// xterm, which other terminals share.
struct KeyReader {
    private var bytes: [UInt8] = []

    /// Whether an escape or a character has begun; after a short wait, ``finish()`` decides.
    var isInside: Bool { !bytes.isEmpty }

    mutating func take(_ new: some Sequence<UInt8>) -> [Key] {
        bytes.append(contentsOf: new)
        var keys: [Key] = []
        while let (key, length) = first() {
            bytes.removeFirst(length)
            if let key { keys.append(key) }
        }
        return keys
    }

    /// Ends a sequence that has not gone on: an escape alone is the key Esc.
    mutating func finish() -> [Key] {
        defer { bytes = [] }
        return bytes.first == 0x1b ? [.escape] : []
    }

    /// Returns the first key, nil for bytes that are none, and its length; nil when more bytes are
    /// needed.
    private func first() -> (Key?, Int)? {
        guard let byte = bytes.first else { return nil }
        switch byte {
        case 0x1b: return sequence()
        case 0x09: return (.tab, 1)
        case 0x0a, 0x0d: return (.enter, 1)
        case 0x08, 0x7f: return (.backspace, 1)
        case 0x01...0x1a: return (.control(Character(Unicode.Scalar(byte + 0x60))), 1)
        case 0..<0x20, 0x80..<0xc0: return (nil, 1)
        case 0x20..<0x7f: return (.character(Character(Unicode.Scalar(byte))), 1)
        default: return character(byte)
        }
    }

    private func character(_ byte: UInt8) -> (Key?, Int)? {
        let length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2
        guard bytes.count >= length else { return nil }
        guard let text = String(validating: bytes[..<length], as: UTF8.self), text.count == 1 else {
            return (nil, 1)
        }
        return (text.first.map { .character($0) }, length)
    }

    private func sequence() -> (Key?, Int)? {
        guard bytes.count > 1 else { return nil }
        switch bytes[1] {
        case UInt8(ascii: "O"):
            guard bytes.count > 2 else { return nil }
            return (Self.letter(bytes[2]), 3)
        case UInt8(ascii: "["):
            guard let end = bytes.dropFirst(2).firstIndex(where: { 0x40...0x7e ~= $0 }) else {
                // No key has a sequence that long.
                return bytes.count > 32 ? (nil, bytes.count) : nil
            }
            // The console of Linux sends `[[A` for F1.
            if end == 2, bytes[2] == UInt8(ascii: "[") {
                guard bytes.count > 3 else { return nil }
                return (.function(Int(bytes[3]) - 0x40), 4)
            }
            // A second number says which of Shift, Alt and Ctrl is held.
            let parameters = bytes[2..<end].split(separator: UInt8(ascii: ";"))
            let number = parameters.first.flatMap { Int(String(decoding: $0, as: UTF8.self)) }
            let key =
                bytes[end] == UInt8(ascii: "~")
                ? number.flatMap { Self.numbered($0) } : Self.letter(bytes[end])
            return (key, end + 1)
        case 0x1b: return (.escape, 1)
        // Alt with a key.
        default: return (nil, 2)
        }
    }

    private static func letter(_ byte: UInt8) -> Key? {
        switch Character(Unicode.Scalar(byte)) {
        case "A": .up
        case "B": .down
        case "C": .right
        case "D": .left
        case "F": .end
        case "H": .home
        case "M": .enter
        case "P": .function(1)
        case "Q": .function(2)
        case "R": .function(3)
        case "S": .function(4)
        default: nil
        }
    }

    private static func numbered(_ number: Int) -> Key? {
        switch number {
        case 1, 7: .home
        case 3: .delete
        case 4, 8: .end
        case 5: .pageUp
        case 6: .pageDown
        case 11...15: .function(number - 10)
        case 17...21: .function(number - 11)
        case 23...24: .function(number - 12)
        default: nil
        }
    }
}
