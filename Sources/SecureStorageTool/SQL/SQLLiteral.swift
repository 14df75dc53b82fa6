internal import Foundation
internal import SecureStorage

/// Stored values as SQL that reproduces exactly these values.
struct SQLLiteral {
    /// Returns the number that the engine reads from a text.
    private let reading: SecureDatabaseStatement

    init(in store: SecureDatabaseStore) throws {
        reading = try store.prepare("SELECT CAST(? AS REAL)")
    }

    func write(
        _ row: SecureDatabaseResultSet, _ column: Int, to output: Output
    ) throws {
        switch try row.type(forColumnIndex: column) {
        case .null: try output.write("NULL")
        case .integer: try output.write(String(row.int64(forColumnIndex: column) ?? 0))
        case .real: try output.write(try real(row.double(forColumnIndex: column) ?? 0))
        case .text:
            try row.withUnsafeBytes(forColumnIndex: column) { try Self.writeText($0, output) }
        case .blob:
            try row.withUnsafeBytes(forColumnIndex: column) { try Self.writeBlob($0, output) }
        }
    }

    /// Returns the shortest text that the engine reads as this number.
    ///
    /// SQLite's rounding is less exact than Swift's: it reads a text of 17 digits, and occasionally
    /// one of 21, as the adjacent number.
    private func real(_ number: Double) throws -> String {
        if number.isInfinite { return number < 0 ? "-1e999" : "1e999" }
        let shortest = "\(number)"
        // Numbers with so few digits are read exactly.
        let digits = shortest.prefix { $0 != "e" }.count { $0.isNumber }
        if digits <= 15, (1e-5...1e15).contains(abs(number)) { return shortest }
        if try isRead(shortest, as: number) { return shortest }
        for digits in [17, 18, 19, 20, 22, 25] {
            let text = String(format: "%.\(digits)e", number)
            if try isRead(text, as: number) { return text }
        }
        return Self.product(of: number)
    }

    /// Returns a whole number times powers of two, which every engine reads and multiplies exactly.
    ///
    /// For one number in twenty, SQLite 3.49 reads no text of any length as that number.
    private static func product(of number: Double) -> String {
        var text = "\(Int64(number.significand * 0x1p52))*1.0"
        var exponent = Int(number.exponent) - 52
        let sign = exponent < 0 ? "/" : "*"
        while exponent != 0 {
            let step = min(abs(exponent), 32)
            text += "\(sign)\(1 << step).0"
            exponent -= exponent < 0 ? -step : step
        }
        return number < 0 ? "(-\(text))" : "(\(text))"
    }

    private func isRead(_ text: String, as number: Double) throws -> Bool {
        let rows = try reading.executeQuery(values: [text])
        defer { rows.close() }
        return try rows.next() && rows.double(forColumnIndex: 0)?.bitPattern == number.bitPattern
    }

    private static func writeBlob(_ bytes: UnsafeRawBufferPointer, _ output: Output) throws {
        try output.write("X'")
        try output.write(hex: bytes)
        try output.write("'")
    }

    private static func writeText(_ bytes: UnsafeRawBufferPointer, _ output: Output) throws {
        guard isPlain(bytes) else {
            try output.write("CAST(")
            try writeBlob(bytes, output)
            try output.write(" AS TEXT)")
            return
        }
        try output.write(bytes, between: UInt8(ascii: "'"))
    }

    /// Returns whether the text survives between quotes.
    ///
    /// SQL ends at a NUL, a shell drops the carriage return at the end of a line, a terminal acts
    /// on other control characters, and bytes that are not UTF-8 would be changed.
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
