internal import Foundation
internal import SecureStorage

/// `.import`: reads a file into a table, all of it or nothing.
struct ShellImport {
    private enum Form {
        case csv(UInt8), jsonLines
    }

    private let path: String
    private let table: String
    private let form: Form
    private let hasHeader: Bool

    /// - Parameter words: The words after the command.
    /// - Throws: `Failure` when they are not options, a file and a table.
    init(_ words: [String]) throws {
        var form: Form?
        var hasHeader = true
        var names: [String] = []
        for word in words {
            switch word {
            case "--csv": form = .csv(UInt8(ascii: ","))
            case "--tsv": form = .csv(UInt8(ascii: "\t"))
            case "--json-lines": form = .jsonLines
            case "--no-header": hasHeader = false
            case _ where word.hasPrefix("--"): throw Failure.usage("unknown option \"\(word)\"")
            default: names.append(word)
            }
        }
        guard (1...2).contains(names.count) else {
            throw Failure.usage("usage: .import [OPTIONS] FILE [TABLE]")
        }
        path = ShellSession.expanded(names[0])
        let url = URL(fileURLWithPath: path)
        table = names.count > 1 ? names[1] : url.deletingPathExtension().lastPathComponent
        self.form = try form ?? Self.form(url.pathExtension.lowercased())
        self.hasHeader = hasHeader
    }

    private static func form(_ ending: String) throws -> Form {
        switch ending {
        case "csv": return .csv(UInt8(ascii: ","))
        case "tsv": return .csv(UInt8(ascii: "\t"))
        case "jsonl", "ndjson": return .jsonLines
        case "sql": throw Failure.usage("a script is not a table", hint: ".read runs it")
        default:
            throw Failure.usage(
                "the file's name does not tell its format",
                hint: "use --csv, --tsv or --json-lines")
        }
    }

    func run(in store: SecureDatabaseStore, on messages: Output) throws {
        let input = try InputFile(path)
        let progress = ProgressBar("importing", total: input.size)
        defer { progress.finish() }
        let isInTransaction = try store.isInTransaction()
        var count = 0
        try store.inSavePoint { store in
            // Rows may be in any order; references are checked at the end.
            if !isInTransaction { try store.executeUpdate("PRAGMA defer_foreign_keys = ON") }
            switch form {
            case .csv(let delimiter):
                count = try CSVImport(
                    input: input, table: table, delimiter: delimiter, hasHeader: hasHeader
                ).run(in: store, progress)
            case .jsonLines:
                count = try JSONLinesImport(input: input, table: table).run(in: store, progress)
            }
            return false
        }
        progress.finish()
        let rows = "\(count) \(count == 1 ? "row" : "rows")"
        let ending = isInTransaction ? ", not committed yet" : ""
        try acknowledge("imported \(rows) into \(table)\(ending)", on: messages)
    }
}
