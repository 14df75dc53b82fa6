internal import ArgumentParser
internal import Foundation
internal import SecureStorage
internal import SecureSync

/// `securestorage sync status`: shows what a file says of its sync.
struct SyncStatusVerb: FileVerb {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show what a file says of its sync.",
        discussion: """
            Shows the group, the tables, what waits for being sent, conflicts, and when each member was last heard, by its \
            own clock. Reads the file only: what is in the store, "sync verify" checks. Ends with \
            \(FailureKind.failed.status) if changes of a table may be lost.

            EXAMPLES
              securestorage sync status notes.db
              securestorage sync status notes.db --json | jq .waitingBatches
            """)

    @Argument(help: "The encrypted file.", completion: .file()) var file: String
    @OptionGroup(title: KeyOptions.title) var keyOptions: KeyOptions
    @OptionGroup(title: CipherOptions.title) var cipher: CipherOptions

    @Flag(help: "Print one JSON object.")
    var json = false

    private struct Answer: Encodable {
        struct Table: Encodable {
            let name: String
            let merging: String
        }

        struct Member: Encodable {
            let member: String
            let at: String
        }

        let group: String?
        let member: String?
        let tables: [Table]
        let keyValueStores: [String]
        let snapshot: UInt64
        let unsealedWrites: Int64
        let waitingBatches: Int
        let waitingBytes: Int
        let conflicts: Int
        let heldBack: Int
        let unsent: Int
        let lastHeard: [Member]
        let problem: String?
    }

    func run() throws {
        let queue = try openQueue(for: .reading)
        defer { queue.close() }
        let state = try SyncedFile(queue)
        let answer = Answer(
            group: state.group, member: state.member,
            tables: state.tables.declarations.filter { $0.keyValueStore == nil }.map {
                .init(name: $0.table, merging: $0.merging.rawValue)
            }, keyValueStores: state.tables.declarations.compactMap(\.keyValueStore),
            snapshot: state.snapshot, unsealedWrites: state.unsealedWrites,
            waitingBatches: state.waiting.batches, waitingBytes: state.waiting.bytes,
            conflicts: state.lostCount, heldBack: state.heldBackCount,
            unsent: state.unsentCount,
            lastHeard: state.lastHeard.sorted { $0.key < $1.key }.map {
                .init(member: $0.key, at: PointInTime.textInUTC($0.value))
            }, problem: state.captureProblem?.description)
        try json ? Output.standard.write(json: answer) : write(answer)
        if let problem = state.captureProblem, state.group != nil { throw problem }
    }

    private func write(_ answer: Answer) throws {
        func line(_ name: String, _ value: String) throws {
            try Output.standard.write(
                line: name.padding(toLength: 18, withPad: " ", startingAt: 0)
                    + Visible.text(value))
        }
        try line("group", answer.group ?? "none")
        if let member = answer.member { try line("this member", member) }
        let tables = answer.tables.map { $0.merging == "row" ? "\($0.name) (by row)" : $0.name }
        try line("tables", tables.isEmpty ? "none" : tables.joined(separator: ", "))
        for name in answer.keyValueStores { try line("key-value store", name) }
        guard answer.group != nil else { return }
        try line("snapshot", "\(answer.snapshot)")
        try line("writes to seal", "\(answer.unsealedWrites)")
        try line("batches to send", "\(answer.waitingBatches) (\(answer.waitingBytes) bytes)")
        try line("conflicts", "\(answer.conflicts)")
        try line("rows held back", "\(answer.heldBack)")
        if answer.unsent > 0 { try line("rows not sent", "\(answer.unsent)") }
        for member in answer.lastHeard { try line("last heard", "\(member.member) \(member.at)") }
    }
}
