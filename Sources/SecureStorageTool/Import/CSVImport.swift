internal import SecureStorage

/// Imports a CSV file into a table.
struct CSVImport {
    let input: InputFile
    let rows: TableImport
    private var options: ImportOptions { rows.options }

    /// What happens to the fields of a column.
    private enum Column {
        /// They are texts, which the column's type converts.
        case text
        /// They are texts, but empty ones are NULL.
        case textOrNull
        /// All were numbers when the type was found out.
        case number(type: String)
    }

    /// Imports everything.
    func run(_ progress: ProgressBar) throws {
        let dialect = try CSVDialect(of: input, delimiter: options.delimiter)
        if options.delimiter == nil, dialect.delimiter != UInt8(ascii: ",") {
            rows.remarks.delimiter = dialect.delimiterName
        }
        guard let names = try input.preview({ try names(dialect) }) else {
            guard options.hasHeader else { return }
            throw Failure(
                "the file is empty", hint: "its first line must name the columns", .data)
        }
        let columns = try makeColumns(names, dialect, progress)
        let statement = try rows.statement(names)
        var reader = CSVReader(input, dialect)
        if options.hasHeader { try skipHeader(&reader) }
        var values = [SQLiteValue](repeating: .null, count: columns.count)
        while true {
            do {
                guard try reader.advance() else { break }
                // An empty line is a row only if a row has one field.
                if reader.isBlankLine, columns.count > 1 { continue }
                try read(reader, columns, into: &values)
                try rows.insert(values, with: statement)
            } catch {
                try rows.leaveOut(error, line: max(reader.line, 1))
            }
            progress.advance(to: reader.position, "\(rows.rowCount) rows")
        }
    }

    private func read(
        _ reader: CSVReader, _ columns: [Column], into values: inout [SQLiteValue]
    ) throws {
        let count = reader.fieldCount
        guard count == columns.count || options.fills else {
            throw Failure(
                "\(Counted.text(count, "field")) instead of \(columns.count)",
                hint: count < columns.count
                    ? "--fill sets the missing ones to NULL" : "--fill leaves out the others")
        }
        for field in values.indices {
            values[field] = field < count ? try value(reader, field, columns[field]) : .null
        }
        if count < columns.count { rows.remarks.filled += 1 }
        if count > columns.count { rows.remarks.cut += 1 }
    }

    private func value(
        _ reader: CSVReader, _ field: Int, _ column: Column
    ) throws -> SQLiteValue {
        switch column {
        case .text: return .text(try reader.text(field))
        case .textOrNull:
            return reader.isBlank(field) ? .null : .text(try reader.text(field))
        case .number(let type):
            if reader.isBlank(field) { return .null }
            switch reader.withBytes(field, { FieldNumber($0) }) {
            case .integer(let number)? where type == "INTEGER" || FieldNumber.isExactReal(number):
                return .integer(number)
            case .real(let number)? where type == "REAL": return .real(number)
            default:
                // Only a pipe has not been read to its end.
                throw Failure(
                    "field \(field + 1) does not fit the type \(type), which all lines at the "
                        + "beginning have",
                    hint: "choose the column's type with --types name=TEXT")
            }
        }
    }

    // MARK: - Columns

    /// Returns the names of the columns; nil for an empty file.
    private func names(_ dialect: CSVDialect) throws -> [String]? {
        var reader = CSVReader(input, dialect)
        do {
            guard options.hasHeader else {
                if rows.isOld { return try rows.columns() }
                guard try reader.advance() else { return nil }
                return (1...reader.fieldCount).map { "c\($0)" }
            }
            repeat {
                guard try reader.advance() else { return nil }
            } while reader.isBlankLine
            var names = ColumnNames()
            return try (0..<reader.fieldCount).map { field in
                let wanted = try reader.text(field)
                let name = names.add(wanted)
                if name != wanted {
                    rows.remarks.named.append("column \(field + 1) named \"\(name)\"")
                }
                return name
            }
        } catch {
            throw located(error, line: max(reader.line, 1))
        }
    }

    private func skipHeader(_ reader: inout CSVReader) throws {
        while try reader.advance(), reader.isBlankLine {}
    }

    /// Makes the columns that are missing, with the types of their fields.
    private func makeColumns(
        _ names: [String], _ dialect: CSVDialect, _ progress: ProgressBar
    ) throws -> [Column] {
        let isNew = names.map { !rows.has($0) }
        var columns = names.map { _ in options.emptyIsNull ? Column.textOrNull : .text }
        guard isNew.contains(true) else { return columns }
        let wanted = zip(names, isNew).map { $1 && options.types.type(of: $0) == nil }
        let found =
            wanted.contains(true) && (!rows.isOld || options.addsColumns)
            ? try types(of: names.count, dialect, progress) : names.map { _ in "TEXT" }
        let missing = zip(names, found).filter { !rows.has($0.0) }
        do {
            try rows.make(missing.map { (name: $0, type: $1) })
        } catch {
            throw located(error, line: 1)
        }
        for (index, name) in names.enumerated() where isNew[index] {
            let type = options.types.type(of: name) ?? found[index]
            guard ["INTEGER", "REAL", "NUMERIC"].contains(type) else { continue }
            columns[index] = wanted[index] ? .number(type: type) : .textOrNull
        }
        return columns
    }

    /// Returns the types of all fields, from all lines that can be read.
    private func types(
        of count: Int, _ dialect: CSVDialect, _ progress: ProgressBar
    ) throws -> [String] {
        try input.preview {
            var evidence = [ColumnEvidence](repeating: ColumnEvidence(), count: count)
            var reader = CSVReader(input, dialect)
            if options.hasHeader { try skipHeader(&reader) }
            var lineCount = 0
            while true {
                do {
                    guard try reader.advance() else { break }
                } catch let failure as Failure where failure.kind == .failed {
                    // Reported when it is imported.
                    continue
                }
                // A preview that was cut may have ended within a number.
                if input.isPreviewCut { break }
                for field in 0..<min(count, reader.fieldCount) where !reader.isBlank(field) {
                    reader.withBytes(field) { evidence[field].take($0) }
                }
                lineCount += 1
                try StopSignals.check()
                progress.advance(to: reader.position, "types of \(lineCount) rows")
            }
            return evidence.map(\.type)
        }
    }
}
