internal import ArgumentParser
internal import Foundation
internal import SecureStorage

/// `securestorage info`: shows what the file is and what it contains.
struct Info: FileVerb {
    static let configuration = CommandConfiguration(
        abstract: "Describe a file and its contents.",
        discussion: """
            Shows the engine's version and known weaknesses, the file's sizes and settings, and its tables with their \
            row counts. Counting reads every table; --no-counts skips it. The file is only read.

            EXAMPLES
              securestorage info notes.db
              securestorage info notes.db --json | jq .tables
            """)

    @Argument(help: "The encrypted file.", completion: .file()) var file: String
    @OptionGroup(title: KeyOptions.title) var keyOptions: KeyOptions
    @OptionGroup(title: CipherOptions.title) var cipher: CipherOptions

    @Flag(help: "Print one JSON object.")
    var json = false

    @Flag(inversion: .prefixedNo, help: "Count the rows of each table.")
    var counts = true

    func run() throws {
        let store = try open(for: .reading)
        defer { store.close() }
        // One snapshot of the file for all answers.
        try store.beginDeferredTransaction()
        let facts = try facts(store)
        let tables = try tables(store)
        try json ? writeJSON(facts, tables) : write(facts, tables)
    }

    private struct Fact {
        let name: String
        let value: SQLiteValue

        init(_ name: String, _ value: SQLiteValue) {
            self.name = name
            self.value = value
        }
    }

    private func facts(_ store: SecureDatabaseStore) throws -> [Fact] {
        func pragma(_ name: String) throws -> SQLiteValue {
            let rows = try store.executeQuery("PRAGMA \(name)")
            defer { rows.close() }
            return try rows.next() ? rows.stored(0) : .null
        }
        let engine = try SecureDatabaseStore.engine
        let cipher = store.configuration.cipher
        let size = try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int
        return [
            Fact("file", .text(store.databaseURL.path)),
            Fact("size", .integer(Int64(size ?? 0))),
            Fact("securestorage", .text(Tool.version)),
            Fact("SQLCipher", .text(engine.cipherVersion)),
            Fact("SQLite", .text(engine.sqliteVersion)),
            Fact("cryptography", .text(engine.providerVersion ?? engine.provider)),
            Fact("page size", .integer(Int64(cipher.pageSize))),
            Fact("pages", try pragma("page_count")),
            Fact("free pages", try pragma("freelist_count")),
            Fact("journal mode", try pragma("journal_mode")),
            Fact("encoding", try pragma("encoding")),
            Fact("user version", .integer(Int64(try store.userVersion))),
            Fact("application id", .integer(Int64(try store.applicationID))),
            Fact("HMAC", .text(cipher.hmacAlgorithm.rawValue)),
            Fact("key derivation", .text(cipher.kdfAlgorithm.rawValue)),
            Fact("iterations", .integer(Int64(cipher.kdfIterations))),
            Fact("plaintext header", .integer(Int64(cipher.plaintextHeaderSize))),
        ]
    }

    /// Returns names and row counts; no count for a virtual table whose module is not available.
    private func tables(_ store: SecureDatabaseStore) throws -> [(name: String, rows: Int64?)] {
        let names = try store.names(
            """
            SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
            ORDER BY name
            """)
        return names.map { name in
            guard counts else { return (name, nil) }
            let rows = try? store.executeQuery("SELECT count(*) FROM \(SQLName.quoted(name))")
            return (name, try? rows?.firstInteger())
        }
    }

    private func write(_ facts: [Fact], _ tables: [(name: String, rows: Int64?)]) throws {
        let output = Output.standard
        for fact in facts {
            let name = fact.name.padding(toLength: 18, withPad: " ", startingAt: 0)
            try output.write(line: name + ValueText.shown(fact.value))
        }
        let engine = try SecureDatabaseStore.engine
        try output.write(line: "engine options    " + engine.options.joined(separator: " "))
        let weaknesses = engine.weaknesses.map(\.description).joined(separator: ", ")
        try output.write(line: "known weaknesses  " + (weaknesses.isEmpty ? "none" : weaknesses))
        try output.write(line: "tables            \(tables.count)")
        let width = tables.map { DisplayWidth.of(Visible.text($0.name)) }.max() ?? 0
        for table in tables {
            let name = Visible.text(table.name)
            let blanks = String(repeating: " ", count: width - DisplayWidth.of(name))
            let rows = table.rows.map { "  \($0) \($0 == 1 ? "row" : "rows")" } ?? ""
            try output.write(line: "  " + (rows.isEmpty ? name : name + blanks + rows))
        }
    }

    private func writeArray(_ name: String, _ texts: [String], to output: Output) throws {
        try output.write("  \"\(name)\": [")
        for (index, text) in texts.enumerated() {
            if index > 0 { try output.write(", ") }
            try JSONText.write(text, to: output)
        }
        try output.write(line: "],")
    }

    private func writeJSON(_ facts: [Fact], _ tables: [(name: String, rows: Int64?)]) throws {
        let output = Output.standard
        try output.write(line: "{")
        for fact in facts {
            try output.write("  ")
            try JSONText.write(fact.name.replacingOccurrences(of: " ", with: "_"), to: output)
            try output.write(": ")
            try JSONText.write(fact.value, to: output)
            try output.write(line: ",")
        }
        let engine = try SecureDatabaseStore.engine
        try writeArray("engine_options", engine.options, to: output)
        try writeArray("known_weaknesses", engine.weaknesses.map(\.name), to: output)
        try output.write("  \"tables\": [")
        for (index, table) in tables.enumerated() {
            try output.write(index == 0 ? "\n" : ",\n")
            try output.write("    {\"name\": ")
            try JSONText.write(table.name, to: output)
            try output.write(", \"rows\": \(table.rows.map { String($0) } ?? "null")}")
        }
        try output.write(line: tables.isEmpty ? "]" : "\n  ]")
        try output.write(line: "}")
    }
}
