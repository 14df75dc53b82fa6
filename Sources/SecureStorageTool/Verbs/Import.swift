internal import ArgumentParser
internal import Foundation
internal import SecureStorage

/// `securestorage import`: reads rows from CSV, JSON or SQL.
struct Import: FileVerb {
    static let configuration = CommandConfiguration(
        abstract: "Read CSV, JSON or SQL into the file.",
        discussion: """
            Everything is imported or, on the first error, nothing; the message names the line, and the option that \
            gets on. The file and the table are created if they are missing. "imported" is printed when the rows are \
            committed.

            CSV: the first line names the columns. What separates the fields and the lines is found out: a comma, \
            semicolon, tab or bar, and any line ends. A column that the import makes is INTEGER or REAL if all its \
            fields are such numbers, and an empty field of it is NULL; else TEXT, as with a leading zero, or with more \
            digits than 64 bits or a real number keep. --types chooses other types. Of a pipe, the first 16 MiB decide.

            JSON: a member of an object is a column; its values keep their types, and a nested array or object is \
            stored as its JSON text. A new table gets the columns of all objects. In json-lines each line is an object; \
            json is an array of objects, or one after the other.

            SQL: a script runs in one transaction; its own BEGIN and COMMIT are skipped. It cannot access other files: \
            ATTACH is an error, and so are pragmas that set something. It may do anything to tables that the file \
            already has, so import an untrusted script into a new file.

            EXAMPLES
              securestorage import notes.db people.csv
              securestorage import notes.db people.csv --types zip=TEXT,born=INTEGER
              securestorage import notes.db data.txt --format csv --fill --skip --table person
              securestorage import notes.db events.jsonl --table event --add-columns
              sqlite3 plain.db .dump | securestorage import new.db - --format sql --key-file key
            """)

    @Argument(help: "The encrypted file.", completion: .file()) var file: String
    @OptionGroup(title: KeyOptions.title) var keyOptions: KeyOptions
    @OptionGroup(title: CipherOptions.title) var cipher: CipherOptions

    @Argument(help: "The file to import; - is standard input.", completion: .file())
    var source: String

    @Option(help: "csv, json, json-lines or sql (default: by the file's extension).")
    var format: ImportFormat?

    @Option(help: "The table (default: the file's name without its extension).")
    var table: String?

    @Option(help: "The character between CSV fields (default: found out; in .tsv a tab).")
    var delimiter: String?

    @Flag(inversion: .prefixedNo, help: "The first CSV line names the columns.")
    var header = true

    @Flag(help: "An unquoted empty CSV field is NULL (default: empty text, except in numbers).")
    var emptyAsNull = false

    @Option(
        help: ArgumentHelp(
            "Types of new columns: INTEGER, REAL, TEXT, NUMERIC or BLOB; without a name, of all others.",
            valueName: "name=TYPE"))
    var types: [String] = []

    @Flag(help: "Set the missing fields of a short CSV line to NULL, and leave out those too many.")
    var fill = false

    @Flag(help: "Leave out lines that cannot be imported, and report them.")
    var skip = false

    @Flag(help: "Add the columns that the table lacks.")
    var addColumns = false

    @Flag(help: "Print one JSON object.")
    var json = false

    private struct Answer: Encodable {
        let file: String
        var table: String?
        var rows: Int?
        var statements: Int?
        /// The lines that were left out, those with missing fields, and those with too many.
        var skipped: Int?
        var filled: Int?
        var cut: Int?
    }

    func validate() throws {
        guard delimiter.map({ ImportOptions.delimiter($0) != nil }) ?? true else {
            throw ValidationError("--delimiter must be one ASCII character, or \\t")
        }
    }

    func run() throws {
        let form = try form()
        let input = try InputFile(source)
        // A dump may have its tables in any order; references are checked at the end.
        let (store, key) = try storeAndKey(
            for: .creating, checksReferences: form != nil, ofStrangers: true)
        defer { store.close() }
        let progress = ProgressBar("importing", total: input.size)
        var imported: Answer?
        var line = ""
        func importAll(_ store: SecureDatabaseStore) throws {
            (imported, line) = try read(input, form, into: store, progress)
        }
        // A file that is created here gets its name only when it is complete.
        try explaining(key) {
            try store.open(with: key) { store in
                do {
                    try importAll(store)
                    return nil
                } catch {
                    return error
                }
            }
        }
        if imported == nil { try importAll(store) }
        progress.finish()
        try acknowledge(line, json: json, imported)
    }

    /// Returns the report of an import in a transaction of its own.
    private func read(
        _ input: InputFile, _ form: TableForm?, into store: SecureDatabaseStore,
        _ progress: ProgressBar
    ) throws -> (Answer, String) {
        do {
            var answer = Answer(file: file)
            var line = ""
            // A block, because no statement of a script can end its transaction.
            let queue = SecureDatabaseQueue(databaseStore: store)
            try StopSignals.interrupting({ queue.interrupt() }) {
                try queue.inExclusiveTransaction { store in
                    // Rows may be in any order; references are checked at the end.
                    try store.executeUpdate("PRAGMA defer_foreign_keys = ON")
                    if let form {
                        let (count, remarks) = try form.read(input, into: store, progress)
                        answer.table = form.table
                        answer.rows = count
                        func given(_ count: Int) -> Int? { count == 0 ? nil : count }
                        answer.skipped = given(remarks.skipped)
                        answer.filled = given(remarks.filled)
                        answer.cut = given(remarks.cut)
                        line = "\(Counted.text(count, "row")) into \(form.table)\(remarks.text)"
                    } else {
                        let count = try SQLImport(input: input).run(in: store, progress)
                        answer.statements = count
                        line = Counted.text(count, "statement")
                    }
                    try StopSignals.check()
                    return false
                }
            }
            return (answer, "imported " + line)
        } catch {
            progress.finish()
            throw error
        }
    }

    /// Returns what the input is; nil for a script, which may fill many tables.
    private func form() throws -> TableForm? {
        let url = URL(fileURLWithPath: source)
        let ending = url.pathExtension.lowercased()
        guard let format = format ?? TableForm.format(ending) else {
            throw Failure.usage(
                "the file's name does not tell its format",
                hint: "use --format csv, --format json, --format json-lines or --format sql")
        }
        guard format != .sql else { return nil }
        var options = ImportOptions()
        options.types = try ColumnTypes(types)
        options.delimiter = delimiter.flatMap { ImportOptions.delimiter($0) }
        if ending == "tsv", delimiter == nil { options.delimiter = UInt8(ascii: "\t") }
        options.hasHeader = header
        options.emptyIsNull = emptyAsNull
        (options.fills, options.skips, options.addsColumns) = (fill, skip, addColumns)
        return TableForm(format: format, table: try tableName(url), options: options)
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
