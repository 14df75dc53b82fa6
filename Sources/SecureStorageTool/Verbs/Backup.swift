internal import ArgumentParser
internal import Foundation
internal import SecureStorage

/// `securestorage backup`: copies a file that is in use.
struct Backup: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Copy a file while others use it.",
        discussion: """
            The copy is of one moment. It is written beside its place, checked, and only then gets its name: after \
            an error or a kill there is what was there before. "backed up" is printed when the copy is complete \
            and on the disk. The copy has the same key, or one of its own.

            EXAMPLES
              securestorage backup notes.db notes-2026-11-21.db
              securestorage backup notes.db /mnt/notes.db --key-file key --new-key-file backup.key --force
            """)

    @OptionGroup
    var file: FileOptions

    @Argument(help: "The place of the copy.", completion: .file())
    var target: String

    @OptionGroup(title: "Key of the copy (the same when none is given)")
    var newKey: NewKeyOptions

    @Flag(help: "Replace a file that is there.")
    var force = false

    func run() throws {
        let store = try file.open(for: .reading)
        defer { store.close() }
        let key = newKey.areGiven ? try newKey.key(of: target) : nil
        try withProgress("backing up") {
            try store.backup(
                to: URL(fileURLWithPath: target), key: key, replacing: force, progress: $0)
        }
        try acknowledge("backed up \(file.file) to \(target)")
    }
}
