internal import ArgumentParser
internal import SecureStorage

/// `securestorage rekey`: changes the file's key.
struct Rekey: FileVerb {
    static let configuration = CommandConfiguration(
        abstract: "Change the key of a file.",
        discussion: """
            Every page is re-encrypted, in one transaction: if it fails or is killed, the file opens with exactly one \
            of the two keys. This needs as much free disk space as the file's size. No other program may use the file \
            in the meantime. "re-keyed" is printed when the file has the new key. If the disk fails at the commit, it \
            can be unknown which of the keys the file has: the exit status is then 3. Keep both keys, and try again \
            when the disk works.

            Copies and backups keep their previous key.

            EXAMPLES
              securestorage rekey notes.db
              securestorage rekey notes.db --key-file old.key --new-key-file new.key
              securestorage rekey notes.db --key-file old.key --new-key-fd 3 --new-raw-key 3< new.hex
            """)

    @Argument(help: "The encrypted file.", completion: .file()) var file: String
    @OptionGroup(title: KeyOptions.title) var keyOptions: KeyOptions
    @OptionGroup(title: CipherOptions.title) var cipher: CipherOptions

    @OptionGroup(title: "New key")
    var newKey: NewKeyOptions

    @Flag(help: "Print one JSON object.")
    var json = false

    private struct Answer: Encodable {
        let file: String
    }

    func run() throws {
        // The old key is verified before the user chooses a new one.
        let store = try open(for: .writing)
        defer { store.close() }
        let newKey = try newKey.key(of: file, like: keyOptions)
        try withProgress("re-keying") {
            try store.changeEncryptionKey(with: newKey, progress: $0)
        }
        try acknowledge("re-keyed \(file)", json: json, Answer(file: file))
    }
}
