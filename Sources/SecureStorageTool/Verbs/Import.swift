internal import ArgumentParser
internal import Foundation
internal import SecureStorage

/// `securestorage import`: reads rows from CSV, JSON lines or SQL.
struct Import: FileVerb {
    static let configuration = CommandConfiguration(
        abstract: "Read CSV, JSON lines or SQL into the file.",
        discussion: """
            Everything is imported or, on the first error, nothing; the message names the line. The file and the \
            table are created if they are missing. "imported" is printed when the rows are committed.

            CSV is text: a table created by the import keeps it as text, one with declared types converts it as \
            SQLite does. The first line names the columns. In JSON lines each line is an object whose members are \
            columns; a nested array or object is stored as its JSON text. An SQL script runs in one transaction; its \
            own BEGIN and COMMIT are skipped. It cannot access other files: ATTACH is an error, and so are pragmas \
            that set something. It may do anything to tables that the file already has, so import an untrusted script \
            into a new file.

            EXAMPLES
              securestorage import notes.db people.csv
              securestorage import notes.db data.txt --format csv --delimiter ';' --table person
              securestorage import notes.db events.jsonl --table event
              sqlite3 plain.db .dump | securestorage import new.db - --format sql --key-file key
            """)

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case csv, sql
        case jsonLines = "json-lines"
    }

    @Argument(help: "The encrypted file.", completion: .file()) var file: String
    @OptionGroup(title: KeyOptions.title) var keyOptions: KeyOptions
    @OptionGroup(title: CipherOptions.title) var cipher: CipherOptions

    @Argument(help: "The file to import; - is standard input.", completion: .file())
    var source: String

    @Option(help: "csv, json-lines or sql (default: by the file's extension).")
    var format: Format?

    @Option(help: "The table (default: the file's name without its extension).")
    var table: String?

    @Option(help: "The character between CSV fields (default: a comma, in .tsv a tab).")
    var delimiter: String?

    @Flag(inversion: .prefixedNo, help: "The first CSV line names the columns.")
    var header = true

    @Flag(help: "An unquoted empty CSV field is NULL (default: empty text).")
    var emptyAsNull = false

    @Flag(help: "Print one JSON object.")
    var json = false

    private struct Answer: Encodable {
        let file: String
        var table: String?
        var rows: Int?
        var statements: Int?
    }

    func validate() throws {
        guard let delimiter else { return }
        let isOne = delimiter.utf8.count == 1 && !["\"", "\n", "\r"].contains(delimiter)
        guard isOne || delimiter == "\\t" else {
            throw ValidationError("--delimiter must be one ASCII character, or \\t")
        }
    }

    func run() throws {
        let reader = try reader()
        let input = try InputFile(source)
        // A dump may have its tables in any order; references are checked at the end.
        let (store, key) = try storeAndKey(
            for: .creating, checksReferences: reader.table != nil, ofStrangers: true)
        defer { store.close() }
        let progress = ProgressBar("importing", total: input.size)
        var count: Int?
        // A file that is created here gets its name only when it is complete.
        try explaining(key) {
            try store.open(with: key) { store in
                do {
                    count = try read(input, reader, into: store, progress)
                    return nil
                } catch {
                    return error
                }
            }
        }
        let imported = try count ?? read(input, reader, into: store, progress)
        progress.finish()
        let table = reader.table
        try acknowledge(
            "imported \(imported) \(reader.unit(imported))", json: json,
            Answer(
                file: file, table: table, rows: table == nil ? nil : imported,
                statements: table == nil ? imported : nil))
    }

    private func read(
        _ input: InputFile, _ reader: Reader, into store: SecureDatabaseStore,
        _ progress: ProgressBar
    ) throws -> Int {
        do {
            var count = 0
            // A block, because no statement of a script can end its transaction.
            let queue = SecureDatabaseQueue(databaseStore: store)
            try StopSignals.interrupting({ queue.interrupt() }) {
                try queue.inExclusiveTransaction { store in
                    // Rows may be in any order; references are checked at the end.
                    try store.executeUpdate("PRAGMA defer_foreign_keys = ON")
                    count = try reader.read(input, into: store, progress)
                    try StopSignals.check()
                    return false
                }
            }
            return count
        } catch {
            progress.finish()
            throw error
        }
    }

    // MARK: - Formats

    private enum Reader {
        case csv(table: String, delimiter: UInt8, hasHeader: Bool, emptyIsNull: Bool)
        case jsonLines(table: String)
        case sql

        func read(
            _ input: InputFile, into store: SecureDatabaseStore, _ progress: ProgressBar
        ) throws -> Int {
            switch self {
            case .csv(let table, let delimiter, let hasHeader, let emptyIsNull):
                try CSVImport(
                    input: input, table: table, delimiter: delimiter, hasHeader: hasHeader,
                    emptyIsNull: emptyIsNull
                ).run(in: store, progress)
            case .jsonLines(let table):
                try JSONLinesImport(input: input, table: table).run(in: store, progress)
            case .sql: try SQLImport(input: input).run(in: store, progress)
            }
        }

        /// nil for a script, which may fill many.
        var table: String? {
            switch self {
            case .csv(let table, _, _, _), .jsonLines(let table): table
            case .sql: nil
            }
        }

        func unit(_ count: Int) -> String {
            switch self {
            case .csv(let table, _, _, _), .jsonLines(let table):
                "\(count == 1 ? "row" : "rows") into \(table)"
            case .sql: count == 1 ? "statement" : "statements"
            }
        }
    }

    private func reader() throws -> Reader {
        let url = URL(fileURLWithPath: source)
        let ending = url.pathExtension.lowercased()
        switch try format ?? Self.format(ending) {
        case .csv:
            let usual = ending == "tsv" ? "\t" : ","
            let delimiter = delimiter == "\\t" ? "\t" : delimiter ?? usual
            return .csv(
                table: try tableName(url), delimiter: delimiter.utf8.first ?? UInt8(ascii: ","),
                hasHeader: header, emptyIsNull: emptyAsNull)
        case .jsonLines: return .jsonLines(table: try tableName(url))
        case .sql: return .sql
        }
    }

    private static func format(_ ending: String) throws -> Format {
        switch ending {
        case "csv", "tsv": return .csv
        case "jsonl", "ndjson": return .jsonLines
        case "sql": return .sql
        default:
            throw Failure.usage(
                "the file's name does not tell its format",
                hint: "use --format csv, --format json-lines or --format sql")
        }
    }

    private func tableName(_ url: URL) throws -> String {
        if let table { return table }
        guard source != "-" else {
            throw Failure.usage(
                "standard input has no name to use for a table", hint: "use --table")
        }
        return url.deletingPathExtension().lastPathComponent
    }
}
