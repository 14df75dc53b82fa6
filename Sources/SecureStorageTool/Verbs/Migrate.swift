internal import ArgumentParser
internal import Foundation
internal import SecureStorage

/// `securestorage migrate`: converts an older file to the current format.
struct Migrate: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Bring a file of SQLCipher 1, 2 or 3 into the format of 4.",
        discussion: """
            Also files of SQLCipher 4 with other settings, a plaintext header among them: name those. The new file \
            is made beside the old one, its rows are counted, it is checked, and then takes the old one's name; the \
            old file is kept as NAME.old. Nobody else can use the file meanwhile.

            EXAMPLES
              securestorage migrate notes.db
              securestorage migrate notes.db --plaintext-header 32 --salt 00112233445566778899aabbccddeeff
            """)

    @OptionGroup
    var file: FileOptions

    @OptionGroup(title: "New key (the same when none is given)")
    var newKey: NewKeyOptions

    func run() throws {
        guard file.exists else { throw Failure("there is no file \"\(file.file)\"") }
        let key = try file.keyOptions.key(of: file.file, isNew: false)
        let newKey = newKey.areGiven ? try newKey.key(of: file.file) : nil
        let old = try withProgress("migrating") {
            try SecureDatabaseStore.migrate(
                at: URL(fileURLWithPath: file.file), key: key, from: file.cipher.configuration,
                newKey: newKey, progress: $0)
        }
        guard let old else { return try acknowledge("\(file.file) has the format already") }
        try acknowledge("migrated \(file.file); the old file is \(old.lastPathComponent)")
    }
}
