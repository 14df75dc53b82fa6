internal import Foundation
internal import SecureStorage

/// Rows as JSON objects, in one array or one per line.
///
/// A BLOB is base64 text. Infinities are `9e999`, as in SQLite's own JSON functions. Invalid UTF-8
/// in text is replaced with U+FFFD.
struct JSONWriter: RowWriter {
    private let output: Output
    private let isLines: Bool
    /// What precedes each value: a brace or a comma, the name and a colon.
    private var starts: [[UInt8]] = []
    private var isFirst = true

    init(to output: Output, isLines: Bool) {
        self.output = output
        self.isLines = isLines
    }

    mutating func begin(_ columns: [String]) {
        // An object has each name only once; SQLite numbers duplicates in the same way.
        var used: Set<String> = []
        for column in columns {
            var name = column
            var number = 0
            while !used.insert(name).inserted {
                number += 1
                name = "\(column):\(number)"
            }
            starts.append(Array(((starts.isEmpty ? "{" : ",") + JSONText.quoted(name) + ":").utf8))
        }
    }

    mutating func write(_ row: SecureDatabaseResultSet) throws {
        // Not before the first row, so that a failed query leaves no array.
        if !isLines { try output.write(isFirst ? "[\n" : ",\n") }
        isFirst = false
        for (column, start) in starts.enumerated() {
            try start.withUnsafeBytes { try output.write($0) }
            switch try row.type(forColumnIndex: column) {
            case .text:
                try row.withUnsafeBytes(forColumnIndex: column) {
                    try JSONText.write($0, to: output)
                }
            case .integer: try output.write(row.int64(forColumnIndex: column) ?? 0)
            default: try JSONText.write(row.stored(column), to: output)
            }
        }
        if starts.isEmpty { try output.write("{") }
        try output.write(isLines ? "}\n" : "}")
    }

    mutating func end() throws {
        if !isLines { try output.write(isFirst ? "[]\n" : "\n]\n") }
    }
}

/// Values as JSON text.
enum JSONText {
    static func write(_ value: SQLiteValue, to output: Output) throws {
        switch value {
        case .null: try output.write("null")
        case .integer(let number): try output.write(String(number))
        case .real(let number):
            try output.write(
                number.isInfinite ? (number < 0 ? "-9e999" : "9e999") : "\(number)")
        case .text(let text): try write(text, to: output)
        case .blob(let bytes): try write(bytes.base64EncodedString(), to: output)
        }
    }

    static func write(_ text: String, to output: Output) throws {
        try output.write(quoted(text))
    }

    /// Writes a text, whose invalid UTF-8 is replaced.
    static func write(_ bytes: UnsafeRawBufferPointer, to output: Output) throws {
        guard bytes.allSatisfy({ 0x20..<0x7f ~= $0 && $0 != 0x22 && $0 != 0x5c }) else {
            return try write(String(decoding: bytes, as: UTF8.self), to: output)
        }
        try output.write(byte: 0x22)
        try output.write(bytes)
        try output.write(byte: 0x22)
    }

    /// Returns the text in quotes, and also escapes characters that a terminal would act on.
    static func quoted(_ text: String) -> String {
        var text = text
        var result: [UInt8] = [0x22]
        text.withUTF8 { bytes in
            result.reserveCapacity(bytes.count + 16)
            var next = 0
            while next < bytes.count {
                let length = escapedLength(bytes, at: next)
                guard length > 0 else {
                    result.append(bytes[next])
                    next += 1
                    continue
                }
                let character = UnsafeBufferPointer(rebasing: bytes[next..<next + length])
                result += escape(String(decoding: character, as: UTF8.self)).utf8
                next += length
            }
        }
        result.append(0x22)
        return String(decoding: result, as: UTF8.self)
    }

    /// Returns the length of the character at `next` if it is to be escaped, else 0.
    private static func escapedLength(_ bytes: UnsafeBufferPointer<UInt8>, at next: Int) -> Int {
        switch bytes[next] {
        case 0..<0x20, 0x22, 0x5c, 0x7f: return 1
        // The first bytes of those that a terminal would act on.
        case 0xc2: return bytes[next + 1] < 0xa0 ? 2 : 0
        case 0xd8: return bytes[next + 1] == 0x9c ? 2 : 0
        case 0xe2:
            switch (bytes[next + 1], bytes[next + 2]) {
            case (0x80, 0x8e...0x8f), (0x80, 0xa8...0xae), (0x81, 0xa6...0xa9): return 3
            default: return 0
            }
        case 0xef: return bytes[next + 1] == 0xbb && bytes[next + 2] == 0xbf ? 3 : 0
        default: return 0
        }
    }

    private static func escape(_ character: String) -> String {
        switch character {
        case "\"": return "\\\""
        case "\\": return "\\\\"
        case "\n": return "\\n"
        case "\r": return "\\r"
        case "\t": return "\\t"
        default:
            let hex = String(character.unicodeScalars.first?.value ?? 0, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
        }
    }
}
