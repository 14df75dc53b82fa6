internal import Foundation
internal import SecureStorage

/// A stored value as SQL that gives exactly this value again.
enum SQLLiteral {
    static func write(
        _ row: SecureDatabaseResultSet, _ column: Int, to output: Output
    ) throws {
        switch try row.type(forColumnIndex: column) {
        case .null: try output.write("NULL")
        case .integer: try output.write(String(row.int64(forColumnIndex: column) ?? 0))
        case .real: try output.write(real(row.double(forColumnIndex: column) ?? 0))
        case .text: try row.withUnsafeBytes(forColumnIndex: column) { try writeText($0, output) }
        case .blob:
            try row.withUnsafeBytes(forColumnIndex: column) { try writeBlob($0, output) }
        }
    }

    /// As SQLite's own `quote()`: 15 digits where they are enough, else more than enough.
    static func real(_ number: Double) -> String {
        if number.isInfinite { return number < 0 ? "-1e999" : "1e999" }
        let shortest = "\(number)"
        let digits = shortest.prefix { $0 != "e" }.count { $0.isNumber }
        return digits <= 15 ? shortest : String(format: "%.20e", number)
    }

    private static func writeBlob(_ bytes: UnsafeRawBufferPointer, _ output: Output) throws {
        try output.write("X'")
        try HexText.write(bytes, to: output)
        try output.write("'")
    }

    private static func writeText(_ bytes: UnsafeRawBufferPointer, _ output: Output) throws {
        guard isPlain(bytes) else {
            try output.write("CAST(")
            try writeBlob(bytes, output)
            try output.write(" AS TEXT)")
            return
        }
        let quote = UInt8(ascii: "'")
        try output.write(byte: quote)
        var rest = bytes
        while let position = rest.firstIndex(of: quote) {
            try output.write(UnsafeRawBufferPointer(rebasing: rest[...position]))
            try output.write(byte: quote)
            rest = UnsafeRawBufferPointer(rebasing: rest[(position + 1)...])
        }
        try output.write(rest)
        try output.write(byte: quote)
    }

    /// Whether the text survives between quotes.
    ///
    /// SQL ends at a NUL, a shell drops the carriage return of a line's end, a terminal acts on other control
    /// characters, and what is not UTF-8 would not be read as it is.
    private static func isPlain(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var isASCII = true
        for byte in bytes {
            if byte < 0x20, byte != 0x0a, byte != 0x09 { return false }
            if byte >= 0x7f {
                if byte == 0x7f { return false }
                isASCII = false
            }
        }
        return isASCII || String(decoding: bytes, as: UTF8.self).utf8.elementsEqual(bytes)
    }
}
