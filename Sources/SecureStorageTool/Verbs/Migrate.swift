internal import ArgumentParser
internal import Foundation
internal import SecureStorage

/// `securestorage migrate`: converts an older file to the current format.
struct Migrate: FileVerb {
    static let configuration = CommandConfiguration(
        abstract: "Convert a file of SQLCipher 1, 2 or 3 to the format of 4.",
        discussion: """
            Files of SQLCipher 4 with other settings, such as a plaintext header, are converted too: pass those \
            settings. The new file is created beside the old one, its rows are counted, it is checked, and then it \
            takes the old one's name; the old file is kept as NAME.old. No other process can use the file during the \
            migration.

            EXAMPLES
              securestorage migrate notes.db
              securestorage migrate notes.db --plaintext-header 32 --salt 00112233445566778899aabbccddeeff
            """)

    @Argument(help: "The encrypted file.", completion: .file()) var file: String
    @OptionGroup(title: KeyOptions.title) var keyOptions: KeyOptions
    @OptionGroup(title: CipherOptions.title) var cipher: CipherOptions

    @OptionGroup(title: "New key (the same when none is given)")
    var newKey: NewKeyOptions

    @Flag(help: "Print one JSON object.")
    var json = false

    private struct Answer: Encodable {
        let file: String
        let migrated: Bool
        var oldFile: String?
    }

    func run() throws {
        guard exists else { throw Failure.noFile(file) }
        let key = try keyOptions.key(of: file, isNew: false)
        let newKey = newKey.areGiven ? try newKey.key(of: file, like: keyOptions) : nil
        let old = try withProgress("migrating") {
            try SecureDatabaseStore.migrate(
                at: URL(fileURLWithPath: file), key: key, from: cipher.configuration,
                newKey: newKey, progress: $0)
        }
        guard let old else {
            return try acknowledge(
                "\(file) already has the current format", json: json,
                Answer(file: file, migrated: false))
        }
        try acknowledge(
            "migrated \(file); the old file is \(old.lastPathComponent)", json: json,
            Answer(file: file, migrated: true, oldFile: old.path))
    }
}
