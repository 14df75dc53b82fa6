internal import Foundation
internal import SecureStorage

/// The keys of a vault, and those that replace them while a backup is restored.
///
/// The new keys wait under separate names until the database encrypted with them is in place. Then
/// they replace the old ones. The database's key is staged last and unstaged last, so its entry
/// marks an unfinished restore.
struct DeviceKeys {
    static let suffix = " (restoring)"

    let entries: any KeyEntries
    /// The name of the database's key.
    let database: String
    /// The name of the key that wraps data keys; nil for a vault that stores them differently.
    let keyEncryption: String?

    init(_ entries: any KeyEntries, database: String, keyEncryption: String?) throws {
        func refuse(_ reason: String) -> VaultBackupError { .unacceptableContents(reason: reason) }
        let names = [database] + (keyEncryption.map { [$0] } ?? [])
        guard names.allSatisfy({ (1...240).contains($0.utf8.count) && !$0.hasSuffix(Self.suffix) })
        else { throw refuse("the name of a key is not 1 to 240 bytes of UTF-8 long") }
        guard Set(names.map { Array($0.utf8) }).count == names.count else {
            throw refuse("two keys have the same name")
        }
        self.entries = entries
        self.database = database
        self.keyEncryption = keyEncryption
    }

    init(_ store: any KeyStore, _ names: VaultKeyNames) throws {
        try self.init(
            KeyStoreEntries(keyStore: store), database: names.database,
            keyEncryption: names.keyEncryption)
    }

    /// The names in use.
    var names: [String] { [database] + (keyEncryption.map { [$0] } ?? []) }

    private var pendingDatabase: String { database + Self.suffix }
    private var pendingKeyEncryption: String? { keyEncryption.map { $0 + Self.suffix } }

    /// Stores new keys beside the old ones.
    func stage(database: SecretBytes, keyEncryption: SecretBytes?) throws {
        if let pendingKeyEncryption, let keyEncryption {
            try entries.store(keyEncryption, forName: pendingKeyEncryption)
        }
        try entries.store(database, forName: pendingDatabase)
    }

    /// Removes new keys whose database was never put in place.
    func unstage() throws {
        if let pendingKeyEncryption { try entries.remove(pendingKeyEncryption) }
        try entries.remove(pendingDatabase)
    }

    /// Replaces the old keys with the new ones; a caller that opened the vault in the meantime may
    /// have done so already.
    func promote(_ new: SecretBytes) throws {
        // Absent if a kill came between the two removals of `unstage`.
        if let keyEncryption, let pendingKeyEncryption,
            let key = try entries.read(pendingKeyEncryption)
        {
            try entries.store(key, forName: keyEncryption)
        }
        try entries.store(new, forName: database)
        try unstage()
    }

    /// Returns whether a restore is in progress or was interrupted.
    func arePending() throws -> Bool {
        if try entries.read(pendingDatabase) != nil { return true }
        return try pendingKeyEncryption.map { try entries.read($0) != nil } ?? false
    }

    /// Completes or undoes an interrupted restore, and returns whether one was found.
    func finish(
        for url: URL, _ configuration: SecureDatabaseConfiguration,
        _ form: (SecretBytes) -> DatabaseKey = { .raw($0) }
    ) throws -> Bool {
        guard let new = try entries.read(pendingDatabase) else {
            guard let pendingKeyEncryption, try entries.read(pendingKeyEncryption) != nil else {
                return false
            }
            try entries.remove(pendingKeyEncryption)
            return true
        }
        if !SecureDatabaseStore.exists(at: url) {
            try unstage()
        } else if try opens(url, form(new), configuration) {
            try promote(new)
        } else if let old = try entries.read(database),
            try opens(url, form(old), configuration)
        {
            try unstage()
        } else {
            throw VaultBackupError.currentUnreadable(
                reason: "neither its key nor that of an interrupted restore opens it")
        }
        return true
    }

    private func opens(
        _ url: URL, _ key: DatabaseKey, _ configuration: SecureDatabaseConfiguration
    ) throws -> Bool {
        var configuration = configuration
        configuration.isReadOnly = true
        configuration.secondInstance = .allowed
        let store = SecureDatabaseStore(url: url, configuration: configuration)
        do {
            try store.open(with: key) { _ in nil }
            store.close()
            return true
        } catch SecureStorageError.authenticationFailed {
            return false
        }
    }
}
