internal import Foundation
internal import SecureStorage

/// `.import`: reads a file into a table, all of it or nothing.
struct ShellImport {
    static let options =
        "--csv, --tsv, --json, --json-lines, --delimiter C, --no-header, --empty-as-null, --types NAME=TYPE, "
        + "--fill, --skip, --add-columns"

    private let path: String
    private let form: TableForm

    /// - Parameter words: The words after the command.
    /// - Throws: `Failure` when they are not options, a file and a table.
    init(_ words: [String]) throws {
        var format: ImportFormat?
        var options = ImportOptions()
        var types: [String] = []
        var names: [String] = []
        var rest = words[...]
        func value(_ option: String) throws -> String {
            guard let value = rest.popFirst() else {
                throw Failure.usage("\(option) needs a value")
            }
            return value
        }
        while let word = rest.popFirst() {
            switch word {
            case "--csv": format = .csv
            case "--tsv": (format, options.delimiter) = (.csv, UInt8(ascii: "\t"))
            case "--json": format = .json
            case "--json-lines": format = .jsonLines
            case "--no-header": options.hasHeader = false
            case "--empty-as-null": options.emptyIsNull = true
            case "--fill": options.fills = true
            case "--skip": options.skips = true
            case "--add-columns": options.addsColumns = true
            case "--types": types.append(try value(word))
            case "--delimiter":
                guard let delimiter = ImportOptions.delimiter(try value(word)) else {
                    throw Failure.usage("--delimiter must be one ASCII character, or \\t")
                }
                options.delimiter = delimiter
            case _ where word.hasPrefix("--"):
                throw Failure.usage(
                    "unknown option \"\(word)\"", hint: "the options are \(Self.options)")
            default: names.append(word)
            }
        }
        guard (1...2).contains(names.count) else {
            throw Failure.usage("usage: .import [OPTIONS] FILE [TABLE]")
        }
        path = ShellSession.expanded(names[0])
        let url = URL(fileURLWithPath: path)
        let ending = url.pathExtension.lowercased()
        if format == nil, ending == "tsv", options.delimiter == nil {
            options.delimiter = UInt8(ascii: "\t")
        }
        guard let format = format ?? TableForm.format(ending) else {
            throw Failure.usage(
                "the file's name does not tell its format",
                hint: "use --csv, --tsv, --json or --json-lines")
        }
        guard format != .sql else {
            throw Failure.usage("a script is not a table", hint: ".read runs it")
        }
        options.types = try ColumnTypes(types)
        form = TableForm(
            format: format,
            table: names.count > 1 ? names[1] : url.deletingPathExtension().lastPathComponent,
            options: options)
    }

    func run(in store: SecureDatabaseStore, on messages: Output) throws {
        let input = try InputFile(path)
        let progress = ProgressBar("importing", total: input.size)
        defer { progress.finish() }
        let isInTransaction = try store.isInTransaction()
        var line = ""
        try store.inSavePoint { store in
            // Rows may be in any order; references are checked at the end.
            if !isInTransaction { try store.executeUpdate("PRAGMA defer_foreign_keys = ON") }
            let (count, remarks) = try form.read(input, into: store, progress)
            line = "imported \(Counted.text(count, "row")) into \(form.table)\(remarks.text)"
            return false
        }
        progress.finish()
        try acknowledge(line + (isInTransaction ? ", not committed yet" : ""), on: messages)
    }
}
