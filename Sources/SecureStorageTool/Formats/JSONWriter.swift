internal import Foundation
internal import SecureStorage

/// Rows as JSON objects, in one array or one per line.
///
/// A BLOB is base64 text. Infinities are `9e999`, as in SQLite's own JSON functions. Invalid UTF-8
/// in text is replaced with U+FFFD.
struct JSONWriter: RowWriter {
    private let output: Output
    private let isLines: Bool
    private var names: [String] = []
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
            names.append(name)
        }
    }

    mutating func write(_ row: SecureDatabaseResultSet) throws {
        // Not before the first row, so that a failed query leaves no array.
        if !isLines { try output.write(isFirst ? "[\n" : ",\n") }
        isFirst = false
        try output.write("{")
        for (column, name) in names.enumerated() {
            if column > 0 { try output.write(",") }
            try JSONText.write(name, to: output)
            try output.write(":")
            switch try row.type(forColumnIndex: column) {
            case .text:
                try row.withUnsafeBytes(forColumnIndex: column) {
                    try JSONText.write(String(decoding: $0, as: UTF8.self), to: output)
                }
            default: try JSONText.write(row.stored(column), to: output)
            }
        }
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

    /// Returns the text in quotes, and also escapes characters that a terminal would act on.
    static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x22: result += "\\\""
            case 0x5c: result += "\\\\"
            case 0x0a: result += "\\n"
            case 0x0d: result += "\\r"
            case 0x09: result += "\\t"
            case 0..<0x20, 0x7f..<0xa0, 0x061c, 0x200e, 0x200f, 0x2028...0x202e, 0x2066...0x2069,
                0xfeff:
                let hex = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
