internal import ArgumentParser
internal import Foundation
internal import SecureStorage

/// `securestorage query`: runs SQL from the command line.
struct Query: FileVerb {
    static let configuration = CommandConfiguration(
        abstract: "Run SQL and print the rows.",
        discussion: """
            Separate statements with semicolons; each is its own transaction unless BEGIN and COMMIT say otherwise. A \
            statement that writes is acknowledged with a line once it is committed: on standard output, or with a form for \
            programs (--json, --json-lines, --csv, --tsv, --markdown) on standard error.

            Values for the placeholders of a single statement follow it: this is safer than putting them into the \
            SQL. They are bound as text, which SQLite converts to the types of the columns.

            EXAMPLES
              securestorage query notes.db "SELECT * FROM note"
              securestorage query notes.db "SELECT * FROM note WHERE text LIKE ?" "%milk%"
              securestorage query notes.db --json "SELECT id, text FROM note" | jq '.[].text'
              securestorage query notes.db "DELETE FROM note WHERE id = ?" 7
              securestorage query notes.db - < script.sql
            """)

    @Argument(help: "The encrypted file.", completion: .file()) var file: String
    @OptionGroup(title: KeyOptions.title) var keyOptions: KeyOptions
    @OptionGroup(title: CipherOptions.title) var cipher: CipherOptions

    @Argument(help: "The SQL; - reads it from standard input.")
    var sql: String

    @Argument(help: "Values for the ? of the statement.")
    var values: [String] = []

    @Flag(help: "Print an array of objects.")
    var json = false

    @Flag(help: "Print one object per line.")
    var jsonLines = false

    @Flag(help: "Print comma-separated values (RFC 4180).")
    var csv = false

    @Flag(help: "Print values with tabs between them.")
    var tsv = false

    @Flag(help: "Print a table in a box.")
    var box = false

    @Flag(help: "Print a table in Markdown.")
    var markdown = false

    @Flag(help: "Print a line for each column.")
    var line = false

    @Flag(name: .customLong("no-header"), help: "Print no column names.")
    var noHeader = false

    @Option(help: "The text for NULL in tables, lines and with --tsv.")
    var nullvalue: String?

    @Flag(help: "Create the file if it is missing.")
    var create = false

    @Flag(help: "Open the file read-only.")
    var readOnly = false

    func validate() throws {
        guard forms.count <= 1 else {
            throw ValidationError(
                "use only one of --json, --json-lines, --csv, --tsv, --box, --markdown and --line")
        }
        guard !create || !readOnly else {
            throw ValidationError("--create and --read-only are mutually exclusive")
        }
    }

    func run() throws {
        let store = try open(for: readOnly ? .reading : create ? .creating : .writing)
        defer { store.close() }
        var runner = StatementRunner(
            store: store, output: .standard, format: forms.first ?? .table)
        runner.options.showsHeaders = !noHeader
        runner.options.nullText = nullvalue
        for statement in try statements() {
            do {
                try runner.run(statement.sql, values: values)
            } catch {
                guard let failure = Failure(error) else { throw error }
                let line = failure.line(ofStatementAt: statement.line)
                throw line > 1 ? failure.at("line \(line)") : failure
            }
        }
        if try store.isInTransaction() {
            throw Failure(
                "a transaction was left open and has been rolled back",
                hint: "end the SQL with COMMIT", .sql)
        }
    }

    /// The forms that were chosen.
    private var forms: [OutputFormat] {
        [
            (json, .json), (jsonLines, .jsonLines), (csv, .csv), (tsv, .tabs), (box, .box),
            (markdown, .markdown), (line, .line),
        ].compactMap { (isChosen: Bool, form: OutputFormat) in isChosen ? form : nil }
    }

    private func statements() throws -> [Statements.Statement] {
        var scanner = Statements()
        let text =
            sql == "-" ? try FileHandle.standardInput.readToEnd() ?? Data() : Data(sql.utf8)
        var statements = try scanner.take(text)
        if let last = try scanner.finish() { statements.append(last) }
        guard values.isEmpty || statements.count == 1 else {
            throw Failure.usage("values need a single statement, not \(statements.count)")
        }
        return statements
    }
}
