internal import SecureStoragePlatform
internal import SecureStorage

/// Reads a JSON object as column names and values ([RFC
/// 8259](https://www.rfc-editor.org/rfc/rfc8259)).
///
/// Integers of 64 bits remain integers; true and false become 1 and 0; a nested array or object
/// becomes its JSON text.
struct JSONObjectReader {
    private let bytes: [UInt8]
    /// What the bytes are, for errors.
    private let place: String
    private var next = 0
    private static let deepest = 100

    /// Returns the members of the object in `bytes`, which are a `place`.
    static func members(
        of bytes: [UInt8], _ place: String
    ) throws -> [(name: String, value: SQLiteValue)] {
        var reader = JSONObjectReader(bytes: bytes, place: place)
        let members = try reader.object()
        reader.skipBlanks()
        guard reader.next == bytes.count else {
            throw reader.wrong("unexpected text after the object")
        }
        return members
    }

    private init(bytes: [UInt8], place: String) { (self.bytes, self.place) = (bytes, place) }

    private func wrong(_ what: String) -> Failure {
        Failure("\(what) (at byte \(next + 1) of the \(place))")
    }

    private mutating func skipBlanks() {
        while next < bytes.count, [0x20, 0x09, 0x0a, 0x0d].contains(bytes[next]) { next += 1 }
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        skipBlanks()
        guard next < bytes.count, bytes[next] == UInt8(ascii: character) else { return false }
        next += 1
        return true
    }

    private mutating func object() throws -> [(name: String, value: SQLiteValue)] {
        guard take("{") else { throw wrong("a line must be a JSON object") }
        var members: [(name: String, value: SQLiteValue)] = []
        var names: Set<String> = []
        if take("}") { return members }
        repeat {
            skipBlanks()
            let name = try string()
            guard names.insert(name).inserted else { throw wrong("duplicate name") }
            guard take(":") else { throw wrong("missing colon") }
            members.append((name, try value()))
        } while take(",")
        guard take("}") else { throw wrong("unterminated object") }
        return members
    }

    private mutating func value() throws -> SQLiteValue {
        skipBlanks()
        guard next < bytes.count else { throw wrong("missing value") }
        switch bytes[next] {
        case UInt8(ascii: "\""): return .text(try string())
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            let start = next
            try skipNested(depth: 1)
            return .text(String(decoding: bytes[start..<next], as: UTF8.self))
        case UInt8(ascii: "t"): return try word("true", .integer(1))
        case UInt8(ascii: "f"): return try word("false", .integer(0))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return try number()
        }
    }

    private mutating func word(_ word: String, _ value: SQLiteValue) throws -> SQLiteValue {
        guard bytes[next...].starts(with: word.utf8) else { throw wrong("invalid JSON value") }
        next += word.utf8.count
        return value
    }

    private mutating func number() throws -> SQLiteValue {
        let start = next
        while next < bytes.count, Self.isInNumber(bytes[next]) { next += 1 }
        let text = String(decoding: bytes[start..<next], as: UTF8.self)
        let digits = text.utf8.drop { $0 == UInt8(ascii: "-") }
        guard let first = digits.first, first >= UInt8(ascii: "0"), first <= UInt8(ascii: "9"),
            first != UInt8(ascii: "0") || digits.count == 1
                || !Self.isDigit(digits.dropFirst().first)
        else { throw wrong("invalid JSON value") }
        if let number = Int64(text) { return .integer(number) }
        guard let number = Double(text) else { throw wrong("invalid JSON number") }
        return .real(number)
    }

    private static func isDigit(_ byte: UInt8?) -> Bool {
        byte.map { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") } ?? false
    }

    private static func isInNumber(_ byte: UInt8) -> Bool {
        isDigit(byte) || "+-.eE".utf8.contains(byte)
    }

    private mutating func skipNested(depth: Int) throws {
        guard depth < Self.deepest else { throw wrong("the value is nested too deeply") }
        let isObject = take("{")
        if !isObject { _ = take("[") }
        let end: Unicode.Scalar = isObject ? "}" : "]"
        if take(end) { return }
        repeat {
            if isObject {
                skipBlanks()
                _ = try string()
                guard take(":") else { throw wrong("missing colon") }
            }
            skipBlanks()
            if next < bytes.count, [UInt8(ascii: "{"), UInt8(ascii: "[")].contains(bytes[next]) {
                try skipNested(depth: depth + 1)
            } else {
                _ = try value()
            }
        } while take(",")
        guard take(end) else { throw wrong("unterminated value") }
    }

    private mutating func string() throws -> String {
        guard next < bytes.count, bytes[next] == UInt8(ascii: "\"") else {
            throw wrong("missing string")
        }
        next += 1
        var result: [UInt8] = []
        while next < bytes.count {
            let byte = bytes[next]
            next += 1
            switch byte {
            case UInt8(ascii: "\""):
                let text = String(decoding: result, as: UTF8.self)
                guard text.utf8.elementsEqual(result) else {
                    throw wrong("a string is not valid UTF-8")
                }
                return text
            case UInt8(ascii: "\\"): result += Array(String(try escape()).utf8)
            case 0..<0x20: throw wrong("unescaped control character in a string")
            default: result.append(byte)
            }
        }
        throw wrong("unterminated string")
    }

    private mutating func escape() throws -> Unicode.Scalar {
        guard next < bytes.count else { throw wrong("unterminated escape sequence") }
        let byte = bytes[next]
        next += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{c}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): break
        default: throw wrong("unknown escape sequence")
        }
        let first = try fourDigits()
        if let scalar = Unicode.Scalar(first) { return scalar }
        // A high surrogate: the low one has to follow.
        guard first < 0xdc00, bytes[next...].starts(with: "\\u".utf8) else {
            throw wrong("unpaired surrogate")
        }
        next += 2
        let second = try fourDigits()
        guard (0xdc00...0xdfff).contains(second),
            let scalar = Unicode.Scalar(0x10000 + (first - 0xd800) << 10 + (second - 0xdc00))
        else { throw wrong("unpaired surrogate") }
        return scalar
    }

    private mutating func fourDigits() throws -> UInt32 {
        var number: UInt32 = 0
        for _ in 0..<4 {
            guard next < bytes.count, let digit = Hex.value(bytes[next]) else {
                throw wrong("escape sequence without four hex digits")
            }
            number = number << 4 | UInt32(digit)
            next += 1
        }
        return number
    }
}
