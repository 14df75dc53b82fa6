internal import ArgumentParser
internal import Foundation
internal import SecureStorage

/// `securestorage salvage`: saves the readable part of a damaged file.
struct Salvage: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Copy what can be read of a damaged file to a new one.",
        discussion: """
            Every row on an undamaged page is copied, with its row id. Rows whose table can no longer be determined \
            go into a table lost_and_found. The damaged file is only read. The exit status is 1 if anything was lost.

            EXAMPLES
              securestorage diagnose notes.db
              securestorage salvage notes.db saved.db
            """)

    @OptionGroup
    var file: FileOptions

    @Argument(help: "The path of the new file.", completion: .file())
    var target: String

    @OptionGroup(title: "Key of the new file (the same when none is given)")
    var newKey: NewKeyOptions

    @Flag(help: "Replace an existing file.")
    var force = false

    func run() throws {
        guard file.exists else { throw Failure("no such file: \"\(file.file)\"") }
        let key = try file.keyOptions.key(of: file.file, isNew: false)
        let newKey = newKey.areGiven ? try newKey.key(of: target) : nil
        let report = try withProgress("salvaging") {
            try SecureDatabaseStore.salvage(
                at: URL(fileURLWithPath: file.file), key: key, cipher: file.cipher.configuration,
                to: URL(fileURLWithPath: target), newKey: newKey, replacing: force, progress: $0)
        }
        for line in report.description.split(separator: "\n") {
            try Output.standard.write(line: Visible.text(String(line)))
        }
        try acknowledge("salvaged \(file.file) into \(target)")
        guard report.isWhole else { throw Failure.silent }
    }
}
