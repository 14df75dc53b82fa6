internal import SecureStorage

/// Imports a CSV file into a table.
struct CSVImport {
    let input: InputFile
    let table: String
    var delimiter = UInt8(ascii: ",")
    var hasHeader = true
    var emptyIsNull = false

    /// - Returns: The number of rows.
    func run(in store: SecureDatabaseStore, _ progress: ProgressBar) throws -> Int {
        var reader = CSVReader(input, delimiter: delimiter)
        let rows = TableImport(table, in: store)
        do {
            try read(&reader, into: rows, progress)
        } catch {
            throw located(error, line: max(reader.line, 1))
        }
        return rows.rowCount
    }

    private func read(
        _ reader: inout CSVReader, into rows: TableImport, _ progress: ProgressBar
    ) throws {
        guard try reader.advance() else {
            guard hasHeader else { return }
            throw Failure("the file is empty", hint: "its first line must name the columns")
        }
        let columns = try columns(&reader, rows)
        let statement = try rows.statement(columns)
        if hasHeader, try !reader.advance() { return }
        var values = [(any SQLiteDatatypeBridgeable)?](repeating: nil, count: columns.count)
        repeat {
            // An empty line is a row only if a row has one field.
            if reader.fieldCount == 1, columns.count > 1, reader.isBlank(0) { continue }
            guard reader.fieldCount == columns.count else {
                throw Failure(
                    "\(reader.fieldCount) fields instead of \(columns.count)")
            }
            for field in values.indices {
                if emptyIsNull, reader.isBlank(field) {
                    values[field] = nil
                } else {
                    values[field] = try reader.text(field)
                }
            }
            try rows.insert(values, with: statement)
            progress.advance(to: reader.position, "\(rows.rowCount) rows")
        } while try reader.advance()
    }

    private func columns(_ reader: inout CSVReader, _ rows: TableImport) throws -> [String] {
        if hasHeader {
            let names = try (0..<reader.fieldCount).map { try reader.text($0) }
            try rows.makeTable(names, type: " TEXT")
            return names
        }
        try rows.makeTable((1...reader.fieldCount).map { "c\($0)" }, type: " TEXT")
        return try rows.columns()
    }
}
