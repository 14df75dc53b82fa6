internal import SecureStorage

/// The rows of a query as text.
protocol RowWriter {
    mutating func begin(_ columns: [String]) throws
    mutating func write(_ row: SecureDatabaseResultSet) throws
    mutating func end() throws
}

/// The forms of a query's rows.
enum OutputFormat: String, CaseIterable {
    case table, csv, json, line
    case jsonLines = "json-lines"

    /// Whether the form is for people: then what was done stands among the rows.
    var isForPeople: Bool { self == .table || self == .line }

    func writer(to output: Output, showsHeaders: Bool = true) -> any RowWriter {
        switch self {
        case .table: TableWriter(to: output, showsHeaders: showsHeaders)
        case .csv: CSVWriter(to: output, showsHeaders: showsHeaders)
        case .json: JSONWriter(to: output, isLines: false)
        case .jsonLines: JSONWriter(to: output, isLines: true)
        case .line: LineWriter(to: output)
        }
    }

    /// Writes all rows; nothing but the beginning and the end when there is none.
    func write(
        _ rows: SecureDatabaseResultSet, to output: Output, showsHeaders: Bool = true
    ) throws {
        defer { rows.close() }
        var writer = writer(to: output, showsHeaders: showsHeaders)
        let columns = (0..<rows.columnCount).map { rows.columnName(forIndex: $0) ?? "" }
        try writer.begin(columns)
        while try rows.next() { try writer.write(rows) }
        try writer.end()
    }
}

/// A value as people get to see it.
enum ValueText {
    /// NULL and texts that look like it are told apart by quotes.
    static let null = "NULL"

    /// On one line, with nothing in it that a terminal would act on.
    static func shown(_ value: SQLiteValue) -> String {
        switch value {
        case .null: null
        case .integer(let number): String(number)
        case .real(let number): real(number)
        case .text(let text): text == null ? "'\(text)'" : Visible.text(text)
        case .blob(let bytes): "X'\(HexText.text(bytes))'"
        }
    }

    static func real(_ number: Double) -> String {
        if number.isInfinite { return number < 0 ? "-Inf" : "Inf" }
        return "\(number)"
    }
}

extension SecureDatabaseResultSet {
    /// The value of a column of the current row, as it is stored.
    func stored(_ column: Int) -> SQLiteValue { self[column] ?? .null }
}
