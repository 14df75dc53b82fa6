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
    case table, box, markdown, line, csv, tabs, list, json
    case jsonLines = "json-lines"
    case insert, quote

    /// Whether the format is for people; acknowledgements are then written between the rows.
    var isForPeople: Bool { self == .table || self == .box || self == .line }

    /// Returns what writes rows in this format; `store` is the rows' own, which is asked how it
    /// reads numbers.
    func writer(
        to output: Output, _ options: RowOptions, in store: SecureDatabaseStore
    ) throws -> any RowWriter {
        switch self {
        case .table: TableWriter(to: output, options)
        case .box: TableWriter(to: output, options, style: .box)
        case .markdown: TableWriter(to: output, options, style: .markdown)
        case .csv: CSVWriter(to: output, showsHeaders: options.showsHeaders)
        case .json: JSONWriter(to: output, isLines: false)
        case .jsonLines: JSONWriter(to: output, isLines: true)
        case .line: LineWriter(to: output, nullText: options.nullText)
        case .tabs: SeparatedWriter(to: output, separator: "\t", options)
        case .list: SeparatedWriter(to: output, separator: options.separator, options)
        case .quote: try QuoteWriter(to: output, options, in: store)
        case .insert: try InsertWriter(to: output, table: options.insertTable, in: store)
        }
    }
}

/// What a user can choose about rows, as far as their format has a place for it.
struct RowOptions {
    var showsHeaders = true
    /// The text for NULL; nil for `NULL`, when texts that look like it are in quotes.
    var nullText: String?
    /// The widths of the first columns, of which negative ones align to the right; 0 is automatic.
    var widths: [Int] = []
    /// What is between the fields of a list.
    var separator = "|"
    /// The table that INSERT statements name.
    var insertTable = "data"
    /// Whether EXPLAIN and EXPLAIN QUERY PLAN are drawn, in a format for people.
    var drawsPlans = true
}

extension RowWriter {
    /// Writes all rows; without rows, only the beginning and the end.
    mutating func write(all rows: SecureDatabaseResultSet) throws {
        defer { rows.close() }
        try begin((0..<rows.columnCount).map { rows.columnName(forIndex: $0) ?? "" })
        while try rows.next() { try write(rows) }
        try end()
    }
}

/// A value as text for people.
enum ValueText {
    /// The text for NULL; quotes distinguish texts that look like it.
    static let null = "NULL"

    /// Returns the value on one line, without anything that a terminal would act on.
    ///
    /// No quotes distinguish texts that look like a `nullText` that the user has chosen.
    static func shown(_ value: SQLiteValue, nullText: String? = nil) -> String {
        switch value {
        case .null: nullText.map { Visible.text($0) } ?? null
        case .integer(let number): String(number)
        case .real(let number): real(number)
        case .text(let text): text == null && nullText == nil ? "'\(text)'" : Visible.text(text)
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
