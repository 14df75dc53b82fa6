internal import SecureStorage

/// Rows with a character between the fields, one per line, for other programs and for copying.
///
/// Control characters in values are escaped, so that each row is one line, but the separator is
/// not: CSV is the format that every value survives.
struct SeparatedWriter: RowWriter {
    private let output: Output
    private let separator: String
    private let options: RowOptions
    private var count = 0

    init(to output: Output, separator: String, _ options: RowOptions) {
        self.output = output
        self.separator = separator
        self.options = options
    }

    mutating func begin(_ columns: [String]) throws {
        count = columns.count
        guard options.showsHeaders else { return }
        try output.write(line: columns.map { Visible.text($0) }.joined(separator: separator))
    }

    mutating func write(_ row: SecureDatabaseResultSet) throws {
        for column in 0..<count {
            if column > 0 { try output.write(separator) }
            try output.write(ValueText.shown(row.stored(column), nullText: options.nullText))
        }
        try output.write(byte: UInt8(ascii: "\n"))
    }

    mutating func end() {}
}

/// Rows as SQL that inserts them.
struct InsertWriter: RowWriter {
    private let output: Output
    private let table: String
    private let literal: SQLLiteral
    private var start = ""
    private var count = 0

    init(to output: Output, table: String, in store: SecureDatabaseStore) throws {
        self.output = output
        self.table = table
        literal = try SQLLiteral(in: store)
    }

    mutating func begin(_ columns: [String]) {
        count = columns.count
        let names = columns.map { SQLName.quoted($0) }.joined(separator: ",")
        start = "INSERT INTO \(SQLName.quoted(table))(\(names)) VALUES("
    }

    mutating func write(_ row: SecureDatabaseResultSet) throws {
        try output.write(start)
        for column in 0..<count {
            if column > 0 { try output.write(byte: UInt8(ascii: ",")) }
            try literal.write(row, column, to: output)
        }
        try output.write(");\n")
    }

    mutating func end() {}
}

/// Rows as SQL literals with commas between them.
struct QuoteWriter: RowWriter {
    private let output: Output
    private let options: RowOptions
    private let literal: SQLLiteral
    private var count = 0

    init(to output: Output, _ options: RowOptions, in store: SecureDatabaseStore) throws {
        self.output = output
        self.options = options
        literal = try SQLLiteral(in: store)
    }

    mutating func begin(_ columns: [String]) throws {
        count = columns.count
        guard options.showsHeaders else { return }
        try output.write(line: columns.map { SQLName.literal($0) }.joined(separator: ","))
    }

    mutating func write(_ row: SecureDatabaseResultSet) throws {
        for column in 0..<count {
            if column > 0 { try output.write(byte: UInt8(ascii: ",")) }
            try literal.write(row, column, to: output)
        }
        try output.write(byte: UInt8(ascii: "\n"))
    }

    mutating func end() {}
}
