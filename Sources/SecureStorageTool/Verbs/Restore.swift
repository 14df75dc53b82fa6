internal import ArgumentParser
internal import Foundation
internal import SecureMirror
internal import SecureStorage

/// `securestorage restore`: restores a file from its mirror.
struct Restore: FileVerb {
    static let configuration = CommandConfiguration(
        abstract: "Restore a file from its mirror in a store.",
        discussion: """
            Restores the newest state, or that of a point in time, to a new file. Each object and then the whole file \
            is checked before the file gets its name: after an error or a kill, whatever was there before is \
            unchanged.

            A point in time is \(PointInTime.forms). The newest state that was stored at that time or before is restored; the \
            result names its own time.

            EXAMPLES
              securestorage restore notes.db --from /mnt/backup
              securestorage restore old.db --from /mnt/backup --name notes.db --at -2h --key-file key
              securestorage restore notes.db --from s3://bucket/notes --at 2026-11-21T10:30 --force
            """)

    @Argument(help: "The new file.", completion: .file()) var file: String

    @Option(help: MirrorStoreOptions.help, completion: .directory)
    var from: String

    @Option(
        help: ArgumentHelp(
            "The mirror's name in the store (default: the file's name).", valueName: "name"))
    var name: String?

    // `-2h` looks like an option.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The point in time (default: the newest).", valueName: "date"),
        transform: PointInTime.argument)
    var at: PointInTime?

    @Flag(help: "Replace an existing file, which no program has open.")
    var force = false

    @Flag(help: "Print one JSON object.")
    var json = false

    @OptionGroup(title: MirrorStoreOptions.title) var storeOptions: MirrorStoreOptions
    @OptionGroup(title: KeyOptions.title) var keyOptions: KeyOptions
    @OptionGroup(title: CipherOptions.title) var cipher: CipherOptions

    private struct Answer: Encodable {
        let file: String
        let name: String
        let date: String
        let pages: Int
        let bytes: Int
        let objects: Int
    }

    func run() throws {
        let name = try MirrorName.of(file, given: name)
        let store = try storeOptions.existing(from)
        guard force || !exists else {
            throw Failure.exists(file)
        }
        let key = try keyOptions.key(of: file, isNew: false)
        var configuration = SecureDatabaseConfiguration()
        configuration.cipher = cipher.configuration
        let url = URL(fileURLWithPath: file)
        // A date means its whole millisecond, as `mirror-log` shows it.
        let point = at.map { DatabaseMirror.Point.date($0.date + 0.0005) } ?? .latest
        let restored = try waiting(showing: "restoring") { [force, configuration] progress in
            try await DatabaseMirror.restore(
                name, from: store, to: url, key: key, at: point, configuration: configuration,
                replacing: force, progress: progress)
        }
        let bytes = restored.pageCount * configuration.cipher.pageSize
        guard !json else {
            return try Output.standard.write(
                json: Answer(
                    file: file, name: name, date: PointInTime.textInUTC(restored.date),
                    pages: restored.pageCount, bytes: bytes, objects: restored.objectCount))
        }
        try acknowledge(
            "restored \(file) from the mirror \"\(name)\", state of "
                + "\(PointInTime.text(restored.date)), \(restored.pageCount) pages, \(bytes) bytes")
    }
}
