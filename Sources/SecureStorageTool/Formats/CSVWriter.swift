internal import SecureStorage

/// Rows in the format of [RFC 4180](https://www.rfc-editor.org/rfc/rfc4180).
///
/// NULL is an empty field, the empty text is `""`: `import --empty-as-null` reads both back. A BLOB
/// is `X'…'` with its hexadecimal digits. Text is written byte for byte as it is stored.
struct CSVWriter: RowWriter {
    private let output: Output
    private let showsHeaders: Bool
    private var count = 0

    init(to output: Output, showsHeaders: Bool = true) {
        self.output = output
        self.showsHeaders = showsHeaders
    }

    mutating func begin(_ columns: [String]) throws {
        count = columns.count
        guard showsHeaders else { return }
        for (index, name) in columns.enumerated() {
            if index > 0 { try output.write(byte: UInt8(ascii: ",")) }
            var name = name
            try name.withUTF8 { try writeText(UnsafeRawBufferPointer($0)) }
        }
        try endLine()
    }

    mutating func write(_ row: SecureDatabaseResultSet) throws {
        for column in 0..<count {
            if column > 0 { try output.write(byte: UInt8(ascii: ",")) }
            switch try row.type(forColumnIndex: column) {
            case .null: break
            case .integer: try output.write(row.int64(forColumnIndex: column) ?? 0)
            case .real:
                try output.write(ValueText.real(row.double(forColumnIndex: column) ?? 0))
            case .text: try row.withUnsafeBytes(forColumnIndex: column) { try writeText($0) }
            case .blob:
                try output.write("X'")
                try row.withUnsafeBytes(forColumnIndex: column) {
                    try output.write(hex: $0)
                }
                try output.write("'")
            }
        }
        try endLine()
    }

    mutating func end() {}

    private func endLine() throws {
        // A terminal would show the carriage return.
        try output.write(output.isTerminal ? "\n" : "\r\n")
    }

    private func writeText(_ bytes: UnsafeRawBufferPointer) throws {
        let needsQuotes =
            bytes.isEmpty
            || bytes.contains { $0 == 0x22 || $0 == 0x2c || $0 == 0x0d || $0 == 0x0a }
            || bytes.first == 0x20 || bytes.last == 0x20
        guard needsQuotes else {
            try output.write(bytes)
            return
        }
        try output.write(bytes, between: UInt8(ascii: "\""))
    }
}
