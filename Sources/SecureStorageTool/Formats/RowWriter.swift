internal import SecureStoragePlatform
internal import SecureStorage

/// Writes the rows of a query as text.
protocol RowWriter {
    mutating func begin(_ columns: [String]) throws
    mutating func write(_ row: SecureDatabaseResultSet) throws
    mutating func end() throws
}

/// The output formats of a query's rows.
enum OutputFormat: String, CaseIterable {
    case table, csv, json, line
    case jsonLines = "json-lines"

    /// Whether the format is for people; acknowledgements are then written between the rows.
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

    /// Writes all rows; without rows, only the beginning and the end.
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

/// A value as text for people.
enum ValueText {
    /// The text for NULL; quotes distinguish texts that look like it.
    static let null = "NULL"

    /// Returns the value on one line, without anything that a terminal would act on.
    static func shown(_ value: SQLiteValue) -> String {
        switch value {
        case .null: null
        case .integer(let number): String(number)
        case .real(let number): real(number)
        case .text(let text): text == null ? "'\(text)'" : Visible.text(text)
        case .blob(let bytes): "X'\(Hex.text(bytes))'"
        }
    }

    static func real(_ number: Double) -> String {
        if number.isInfinite { return number < 0 ? "-Inf" : "Inf" }
        return "\(number)"
    }
}

extension SecureDatabaseResultSet {
    /// Returns the stored value of a column of the current row.
    func stored(_ column: Int) -> SQLiteValue { self[column] ?? .null }
}
