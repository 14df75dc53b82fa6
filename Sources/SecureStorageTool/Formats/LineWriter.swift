internal import SecureStorage

/// Rows as one `column = value` per line, with an empty line between rows.
struct LineWriter: RowWriter {
    private let output: Output
    private let nullText: String?
    private var names: [String] = []
    private var isFirst = true

    init(to output: Output, nullText: String? = nil) {
        self.output = output
        self.nullText = nullText
    }

    mutating func begin(_ columns: [String]) {
        let columns = columns.map { Visible.text($0) }
        let width = columns.map { DisplayWidth.of($0) }.max() ?? 0
        names = columns.map {
            String(repeating: " ", count: width - DisplayWidth.of($0)) + $0
        }
    }

    mutating func write(_ row: SecureDatabaseResultSet) throws {
        if !isFirst { try output.write(line: "") }
        isFirst = false
        for (column, name) in names.enumerated() {
            let value = ValueText.shown(row.stored(column), nullText: nullText)
            try output.write(line: "\(name) = \(value)")
        }
    }

    mutating func end() {}
}
