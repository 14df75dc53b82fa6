internal import ArgumentParser
internal import SecureMirror
internal import SecureStorage

/// `securestorage mirror-log`: lists what can be restored.
struct MirrorLog: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List what of a mirror can be restored.",
        discussion: """
            Each generation begins with all pages of the file, and continues with later commits. Any time \
            from the first to the last of a generation can be given to "restore --at". No key is needed, and so \
            nothing is checked: "mirror-verify" does that.

            EXAMPLES
              securestorage mirror-log --from /mnt/backup --name notes.db
              securestorage mirror-log --from s3://bucket/notes --name notes.db --json
            """)

    @Option(help: MirrorStoreOptions.help, completion: .directory)
    var from: String

    @Option(help: MirrorStoreOptions.nameHelp)
    var name: String

    @Flag(help: "Print one JSON object.")
    var json = false

    @OptionGroup(title: MirrorStoreOptions.title) var storeOptions: MirrorStoreOptions

    private struct Answer: Encodable {
        struct Generation: Encodable {
            let number: Int
            let first: String
            let last: String
            let ended: Bool
            let states: Int
            let pages: Int
            let objects: Int
            let bytes: Int
        }

        let name: String
        let generations: [Generation]
    }

    func run() throws {
        let name = try MirrorName.check(name)
        let store = try storeOptions.existing(from)
        let history = try waiting { try await DatabaseMirror.history(of: name, in: store) }
        try json ? writeJSON(name, history) : write(history)
    }

    /// Returns the number of states that can be restored.
    private static func states(_ generation: DatabaseMirror.Generation) -> Int {
        // The first one is that of the snapshot.
        1 + generation.stateCount
    }

    private func write(_ history: [DatabaseMirror.Generation]) throws {
        var table = TableWriter(to: .standard)
        table.begin(["generation", "first", "last", "states", "pages", "objects", "bytes"])
        for generation in history {
            try table.write([
                .integer(Int64(generation.number)), .text(PointInTime.text(generation.begin)),
                .text(PointInTime.text(generation.end)), .integer(Int64(Self.states(generation))),
                .integer(Int64(generation.pageCount)), .integer(Int64(generation.objectCount)),
                .integer(Int64(generation.byteCount)),
            ])
        }
        try table.end()
    }

    private func writeJSON(_ name: String, _ history: [DatabaseMirror.Generation]) throws {
        try Output.standard.write(
            json: Answer(
                name: name,
                generations: history.map {
                    Answer.Generation(
                        number: $0.number, first: PointInTime.textInUTC($0.begin),
                        last: PointInTime.textInUTC($0.end), ended: $0.hasEnded,
                        states: Self.states($0), pages: $0.pageCount, objects: $0.objectCount,
                        bytes: $0.byteCount)
                }))
    }
}
