internal import ArgumentParser
internal import Foundation
internal import SecureStorage

/// The file, its key and its cipher: what every verb needs.
struct FileOptions: ParsableArguments {
    @Argument(help: "The encrypted file.", completion: .file())
    var file: String

    @OptionGroup(title: "Key")
    var keyOptions: KeyOptions

    @OptionGroup(title: "Cipher of files made with other settings")
    var cipher: CipherOptions

    /// What a verb does with the file.
    enum Use {
        case reading
        case writing
        /// Makes the file when it is missing.
        case creating
    }

    /// Whether there is anything under the name.
    var exists: Bool {
        var status = stat()
        return lstat(file, &status) == 0
    }

    /// A closed store on the file, and its key; with `ofStrangers` for SQL that comes from
    /// elsewhere.
    func storeAndKey(
        for use: Use, checksReferences: Bool = true, ofStrangers: Bool = false
    ) throws -> (SecureDatabaseStore, DatabaseKey) {
        guard exists || use == .creating else {
            throw Failure("there is no file \"\(file)\"")
        }
        var configuration = SecureDatabaseConfiguration()
        configuration.cipher = cipher.configuration
        configuration.isReadOnly = use == .reading
        // What looks at a file, or changes rows of it, leaves the kind of its journal to its owner.
        configuration.keepsJournalMode = exists
        configuration.foreignKeysEnabled = checksReferences
        configuration.runsUntrustedSQL = ofStrangers
        let store = SecureDatabaseStore(fullDatabasePath: file, configuration: configuration)
        return (store, try keyOptions.key(of: file, isNew: !exists))
    }

    /// An open store.
    func open(for use: Use) throws -> SecureDatabaseStore {
        let (store, key) = try storeAndKey(for: use)
        try store.open(with: key)
        return store
    }
}
