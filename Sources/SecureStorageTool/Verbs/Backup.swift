internal import ArgumentParser
internal import Foundation
internal import SecureStorage

/// `securestorage backup`: copies a file that is in use.
struct Backup: FileVerb {
    static let configuration = CommandConfiguration(
        abstract: "Copy a file while it is in use.",
        discussion: """
            The copy is a snapshot. It is written to a temporary file beside the target, checked, and only then \
            renamed: after an error or a kill, whatever was there before is unchanged. "backed up" is printed when \
            the copy is complete and on the disk. The copy has the same key, or a separate one.

            EXAMPLES
              securestorage backup notes.db notes-2026-11-21.db
              securestorage backup notes.db /mnt/notes.db --key-file key --new-key-file backup.key --force
            """)

    @Argument(help: "The encrypted file.", completion: .file()) var file: String
    @OptionGroup(title: KeyOptions.title) var keyOptions: KeyOptions
    @OptionGroup(title: CipherOptions.title) var cipher: CipherOptions

    @Argument(help: "The path of the copy.", completion: .file())
    var target: String

    @OptionGroup(title: "Key of the copy (the same when none is given)")
    var newKey: NewKeyOptions

    @Flag(help: "Replace an existing file.")
    var force = false

    @Flag(help: "Print one JSON object.")
    var json = false

    private struct Answer: Encodable {
        let file: String
        let copy: String
    }

    func run() throws {
        try requireNew(target, force)
        let store = try open(for: .reading)
        defer { store.close() }
        let key = newKey.areGiven ? try newKey.key(of: target, like: keyOptions) : nil
        try withProgress("backing up") {
            try store.backup(
                to: URL(fileURLWithPath: target), key: key, replacing: force, progress: $0)
        }
        try acknowledge(
            "backed up \(file) to \(target)", json: json, Answer(file: file, copy: target))
    }
}
