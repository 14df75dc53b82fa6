internal import ArgumentParser
internal import Foundation
internal import SecureMirror
internal import SecureStorage

/// `securestorage mirrors`: lists the mirrors of a store.
struct Mirrors: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List the mirrors of a store.",
        discussion: """
            For each name the times from the first to the last state that can be restored, and what it takes. No key \
            is needed, and so nothing is checked.

            EXAMPLES
              securestorage mirrors --from /mnt/backup
              securestorage mirrors --from s3://bucket/notes --json
            """)

    @Option(help: MirrorStoreOptions.help, completion: .directory)
    var from: String

    @Flag(help: "Print one JSON object.")
    var json = false

    @OptionGroup(title: MirrorStoreOptions.title) var storeOptions: MirrorStoreOptions

    private struct Answer: Encodable {
        struct Mirror: Encodable {
            let name: String
            /// nil if the beginnings of all its generations are damaged.
            let first: String?
            let last: String?
            let generations: Int
            let bytes: Int
        }

        let mirrors: [Mirror]
    }

    private struct Mirror {
        let name: String
        let history: [DatabaseMirror.Generation]

        var first: Date? { history.first?.begin }
        var last: Date? { history.last?.end }
        var byteCount: Int { history.reduce(0) { $0 + $1.byteCount } }
    }

    func run() throws {
        let store = try storeOptions.existing(from)
        let mirrors = try waiting {
            var mirrors: [Mirror] = []
            for name in try await DatabaseMirror.names(in: store) {
                do {
                    mirrors.append(
                        Mirror(
                            name: name,
                            history: try await DatabaseMirror.history(of: name, in: store)))
                } catch MirrorError.noMirror {
                    // None of its generations was complete yet.
                } catch MirrorError.damaged, MirrorError.newerFormat {
                    mirrors.append(Mirror(name: name, history: []))
                }
            }
            return mirrors
        }
        try json ? writeJSON(mirrors) : write(mirrors)
    }

    private func write(_ mirrors: [Mirror]) throws {
        var table = TableWriter(to: .standard)
        table.begin(["mirror", "first", "last", "generations", "bytes"])
        for mirror in mirrors {
            try table.write([
                .text(mirror.name), .text(mirror.first.map { PointInTime.text($0) } ?? "damaged"),
                .text(mirror.last.map { PointInTime.text($0) } ?? "damaged"),
                .integer(Int64(mirror.history.count)), .integer(Int64(mirror.byteCount)),
            ])
        }
        try table.end()
    }

    private func writeJSON(_ mirrors: [Mirror]) throws {
        try Output.standard.write(
            json: Answer(
                mirrors: mirrors.map {
                    Answer.Mirror(
                        name: $0.name, first: $0.first.map(PointInTime.textInUTC),
                        last: $0.last.map(PointInTime.textInUTC), generations: $0.history.count,
                        bytes: $0.byteCount)
                }))
    }
}
