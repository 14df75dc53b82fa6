internal import ArgumentParser
internal import Foundation
internal import SecureStorage

/// `securestorage query`: runs SQL from the command line.
struct Query: FileVerb {
    static let configuration = CommandConfiguration(
        abstract: "Run SQL and print the rows.",
        discussion: """
            Separate statements with semicolons; each is its own transaction unless BEGIN and COMMIT say otherwise. A \
            statement that writes is acknowledged with a line once it is committed: on standard output, or with \
            --json, --json-lines and --csv on standard error.

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

    @Flag(help: "Create the file if it is missing.")
    var create = false

    @Flag(help: "Open the file read-only.")
    var readOnly = false

    func validate() throws {
        guard [json, jsonLines, csv].count(where: { $0 }) <= 1 else {
            throw ValidationError("use only one of --json, --json-lines and --csv")
        }
        guard !create || !readOnly else {
            throw ValidationError("--create and --read-only are mutually exclusive")
        }
    }

    func run() throws {
        let store = try open(for: readOnly ? .reading : create ? .creating : .writing)
        defer { store.close() }
        let runner = StatementRunner(store: store, output: .standard, format: format)
        for statement in try statements() {
            do {
                try runner.run(statement.sql, values: values)
            } catch let error as SecureStorageError where statement.line > 1 {
                guard let failure = Failure(error) else { throw error }
                throw failure.at("line \(statement.line)")
            }
        }
        if try store.isInTransaction() {
            throw Failure(
                "a transaction was left open and has been rolled back",
                hint: "end the SQL with COMMIT", .sql)
        }
    }

    private var format: OutputFormat {
        json ? .json : jsonLines ? .jsonLines : csv ? .csv : .table
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
