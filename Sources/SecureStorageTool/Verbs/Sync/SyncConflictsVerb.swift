internal import ArgumentParser
internal import Foundation
internal import SecureStorage
internal import SecureSync

/// `securestorage sync conflicts`: lists what was written and is not seen.
struct SyncConflictsVerb: FileVerb {
    static let configuration = CommandConfiguration(
        commandName: "conflicts",
        abstract: "List what was written and is not seen.",
        discussion: """
            Values that lost against others whose writer did not know them, the oldest first, then rows that are held \
            back. To answer one, write the row as it is to be; then forget the list. Rows that are held back stay.

            EXAMPLES
              securestorage sync conflicts notes.db
              securestorage sync conflicts notes.db --table note --json
              securestorage sync conflicts notes.db --forget
            """)

    @Argument(help: "The encrypted file.", completion: .file()) var file: String
    @OptionGroup(title: KeyOptions.title) var keyOptions: KeyOptions
    @OptionGroup(title: CipherOptions.title) var cipher: CipherOptions

    @Option(help: "Only those of a table.") var table: String?
    @Option(help: ArgumentHelp("Only those of a key-value store.", valueName: "name"))
    var keyValueStore: String?
    @Flag(help: "Forget those that are listed.") var forget = false
    @Flag(help: "Print one JSON object per line.") var json = false

    func validate() throws {
        guard table == nil || keyValueStore == nil else {
            throw ValidationError("use only one of --table and --key-value-store")
        }
    }

    func run() throws {
        let queue = try openQueue(for: forget ? .writing : .reading)
        defer { queue.close() }
        let conflicts = try SyncedFile.conflicts(
            in: table, keyValueStore: keyValueStore, of: queue)
        try json ? writeJSON(conflicts) : write(conflicts)
        try Output.standard.flush()
        if forget { try SyncedFile.forget(conflicts, in: queue) }
    }

    private func write(_ conflicts: [SyncConflict]) throws {
        var table = TableWriter(to: .standard)
        table.begin(["table", "key", "reason", "column", "value", "written", "by"])
        for conflict in conflicts {
            let key = conflict.key.map { ValueText.shown($0) }.joined(separator: ", ")
            // A deletion has no values, nor has a row of a key alone.
            let values = conflict.values.isEmpty ? ["": .null] : conflict.values
            for (column, value) in values.sorted(by: { $0.key < $1.key }) {
                try table.write([
                    .text(conflict.title), .text(key), .text("\(conflict.reason)"),
                    .text(column), value,
                    .text(conflict.writtenAt.map { PointInTime.text($0) } ?? ""),
                    .text(conflict.writtenBy ?? ""),
                ])
            }
        }
        try table.end()
    }

    private func writeJSON(_ conflicts: [SyncConflict]) throws {
        let output = Output.standard
        func text(_ text: String?) throws {
            guard let text else { return try output.write("null") }
            try JSONText.write(text, to: output)
        }
        for conflict in conflicts {
            try output.write("{\"table\":")
            try text(conflict.table)
            try output.write(",\"key\":[")
            for (index, value) in conflict.key.enumerated() {
                if index > 0 { try output.write(",") }
                try JSONText.write(value, to: output)
            }
            try output.write("],\"reason\":\"\(conflict.reason)\",\"values\":{")
            for (index, (column, value)) in conflict.values.sorted(by: { $0.key < $1.key })
                .enumerated()
            {
                if index > 0 { try output.write(",") }
                try text(column)
                try output.write(":")
                try JSONText.write(value, to: output)
            }
            try output.write("},\"heldBack\":\(conflict.isHeldBack),\"writtenAt\":")
            try text(conflict.writtenAt.map { PointInTime.textInUTC($0) })
            try output.write(",\"writtenBy\":")
            try text(conflict.writtenBy)
            try output.write(line: "}")
        }
    }
}
