internal import SecureStorage

/// A file that becomes the rows of one table.
struct TableForm {
    let format: ImportFormat
    let table: String
    let options: ImportOptions

    /// Returns the format of a file whose name ends so; nil for an unknown one.
    static func format(_ ending: String) -> ImportFormat? {
        switch ending {
        case "csv", "tsv": .csv
        case "json": .json
        case "jsonl", "ndjson": .jsonLines
        case "sql": .sql
        default: nil
        }
    }

    /// Imports the file.
    ///
    /// - Returns: The number of rows, and what was not as expected.
    func read(
        _ input: InputFile, into store: SecureDatabaseStore, _ progress: ProgressBar
    ) throws -> (Int, ImportRemarks) {
        let rows = try TableImport(table, in: store, options)
        if format == .csv {
            try CSVImport(input: input, rows: rows).run(progress)
        } else {
            try JSONImport(input: input, rows: rows, isArray: format == .json).run(progress)
        }
        try rows.end()
        return (rows.rowCount, rows.remarks)
    }
}
