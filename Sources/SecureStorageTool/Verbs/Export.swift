internal import ArgumentParser
internal import Foundation
internal import SecureStorage

/// `securestorage export`: writes rows as CSV, JSON lines or SQL.
struct Export: FileVerb {
    static let configuration = CommandConfiguration(
        abstract: "Write a table, or everything, as CSV, JSON lines or SQL.",
        discussion: """
            Exported data is not encrypted. With --output, a new file of mode 0600 gets its name when it is complete; \
            without it, everything goes to standard output. The export is a snapshot of the file, regardless of \
            concurrent writes.

            SQL is the schema with all rows, for the sqlite3 shell and for import. CSV and JSON lines are one table \
            or view, or the rows of a query: NULL is an empty field in CSV, and "" is the empty text; a BLOB is \
            X'hex' in CSV, base64 in JSON.

            EXAMPLES
              securestorage export notes.db --format sql --output notes.sql
              securestorage export notes.db --table note > note.csv
              securestorage export notes.db --format json-lines --query "SELECT id, text FROM note"
              securestorage export notes.db --format sql --key-file key | sqlite3 plain.db
            """)

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case csv, sql
        case jsonLines = "json-lines"
    }

    @Argument(help: "The encrypted file.", completion: .file()) var file: String
    @OptionGroup(title: KeyOptions.title) var keyOptions: KeyOptions
    @OptionGroup(title: CipherOptions.title) var cipher: CipherOptions

    @Option(help: "csv, json-lines or sql (default: by --output's extension, else csv).")
    var format: Format?

    @Option(help: "The table or view; with SQL one table instead of everything.")
    var table: String?

    @Option(help: "A query instead of a table.")
    var query: String?

    @Option(help: "Write to a new file.", completion: .file())
    var output: String?

    @Flag(help: "Replace the file that --output names.")
    var force = false

    @Flag(inversion: .prefixedNo, help: "Start CSV with the column names.")
    var header = true

    @Flag(help: "With --output, print the result as one JSON object.")
    var json = false

    private struct Answer: Encodable {
        let output: String
        let rows: Int
    }

    private var wantedFormat: Format {
        if let format { return format }
        let ending = output.map { URL(fileURLWithPath: $0).pathExtension.lowercased() }
        switch ending {
        case "sql": return .sql
        case "jsonl", "ndjson": return .jsonLines
        default: return .csv
        }
    }

    func validate() throws {
        guard table == nil || query == nil else {
            throw ValidationError("--table and --query are mutually exclusive")
        }
        switch wantedFormat {
        case .sql:
            guard query == nil else { throw ValidationError("a query cannot be exported as SQL") }
        case .csv, .jsonLines:
            guard table != nil || query != nil else {
                throw ValidationError("specify what to export with --table or --query")
            }
        }
    }

    func run() throws {
        let store = try open(for: .reading)
        defer { store.close() }
        // Detects a wrong name before anything is created.
        try requireTable(store)
        let target = try output.map { try OutputFile($0, replaces: force) }
        let progress = ProgressBar("exporting", total: nil)
        try store.beginDeferredTransaction()
        let count = try write(store, to: target?.output ?? .standard, progress)
        progress.finish()
        guard let target, let output else { return }
        try target.finish()
        try acknowledge(
            "exported \(count) \(count == 1 ? "row" : "rows") to \(output)", json: json,
            Answer(output: output, rows: count))
    }

    private func requireTable(_ store: SecureDatabaseStore) throws {
        guard let table else { return }
        let kind = wantedFormat == .sql ? "type = 'table'" : "type IN ('table', 'view')"
        let rows = try store.executeQuery(
            "SELECT 1 FROM sqlite_schema WHERE \(kind) AND name = ? COLLATE NOCASE", values: [table]
        )
        guard try rows.firstInteger() != nil else {
            throw Failure(
                "no such table: \"\(table)\"", hint: "\"securestorage info\" lists the tables",
                .notFound)
        }
    }

    private func write(
        _ store: SecureDatabaseStore, to output: Output, _ progress: ProgressBar
    ) throws -> Int {
        switch wantedFormat {
        case .sql:
            var dump = SQLDump(of: store, to: output, progress)
            return try dump.write(table: table)
        case .csv:
            return try write(
                store, CSVWriter(to: output, showsHeaders: header), progress)
        case .jsonLines:
            return try write(store, JSONWriter(to: output, isLines: true), progress)
        }
    }

    private func write(
        _ store: SecureDatabaseStore, _ writer: any RowWriter, _ progress: ProgressBar
    ) throws -> Int {
        let sql = query ?? "SELECT * FROM \(SQLName.quoted(table ?? ""))"
        let rows = try store.executeQuery(sql)
        defer { rows.close() }
        var writer = writer
        var count = 0
        try writer.begin((0..<rows.columnCount).map { rows.columnName(forIndex: $0) ?? "" })
        while try rows.next() {
            try writer.write(rows)
            count += 1
            progress.advance(to: count, "\(count) rows")
        }
        try writer.end()
        return count
    }
}
