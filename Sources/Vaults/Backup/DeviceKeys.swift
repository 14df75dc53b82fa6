internal import Foundation
internal import SecureStorage

/// The two keys of a vault in a key store, and those that take their place while a backup is restored.
///
/// The new ones wait under names of their own until the database under them has its name. Then they take the
/// names of the old ones. The database's key is staged last, and unstaged last: as long as it waits, the other
/// one does, too.
struct DeviceKeys {
    static let suffix = " (restoring)"

    let store: any KeyStore
    let names: VaultKeyNames

    init(_ store: any KeyStore, _ names: VaultKeyNames) throws {
        func refuse(_ reason: String) -> VaultBackupError { .unacceptableContents(reason: reason) }
        let both = [names.database, names.keyEncryption]
        guard both.allSatisfy({ (1...240).contains($0.utf8.count) && !$0.hasSuffix(Self.suffix) })
        else { throw refuse("a key's name that is not 1 to 240 bytes of UTF-8 long") }
        guard !names.database.utf8.elementsEqual(names.keyEncryption.utf8) else {
            throw refuse("one name for two keys")
        }
        self.store = store
        self.names = names
    }

    private var pending: VaultKeyNames {
        VaultKeyNames(
            database: names.database + Self.suffix, keyEncryption: names.keyEncryption + Self.suffix
        )
    }

    /// Stores new keys beside the old ones.
    func stage(database: SecretBytes, keyEncryption: SecretBytes) throws {
        try store.store(keyEncryption, forName: pending.keyEncryption)
        try store.store(database, forName: pending.database)
    }

    /// Removes new keys whose database never got its name.
    func unstage() throws {
        try store.remove(pending.keyEncryption)
        try store.remove(pending.database)
    }

    /// Puts the new keys in the place of the old ones.
    func promote() throws {
        // None when a kill came between the two removals below.
        if let key = try read(pending.keyEncryption) {
            try store.store(key, forName: names.keyEncryption)
        }
        try store.store(store.read(pending.database), forName: names.database)
        try unstage()
    }

    /// The key of a name; nil where there is none, and only there.
    func read(_ name: String) throws -> SecretBytes? {
        do {
            return try store.read(name)
        } catch KeyStoreError.notFound {
            return nil
        }
    }

    /// Whether a restore is at work, or was interrupted.
    func arePending() throws -> Bool {
        try read(pending.database) != nil || read(pending.keyEncryption) != nil
    }

    /// Ends what a killed restore has begun; true when there was something.
    func finish(for url: URL, _ configuration: SecureDatabaseConfiguration) throws -> Bool {
        guard let new = try read(pending.database) else {
            return try store.remove(pending.keyEncryption)
        }
        if !SecureDatabaseStore.exists(at: url) {
            try unstage()
        } else if try opens(url, new, configuration) {
            try promote()
        } else if let old = try read(names.database), try opens(url, old, configuration) {
            try unstage()
        } else {
            throw VaultBackupError.currentUnreadable(
                reason: "neither its key nor that of an interrupted restore opens it")
        }
        return true
    }

    private func opens(
        _ url: URL, _ key: SecretBytes, _ configuration: SecureDatabaseConfiguration
    ) throws -> Bool {
        var configuration = configuration
        configuration.isReadOnly = true
        configuration.secondInstance = .allowed
        let store = SecureDatabaseStore(url: url, configuration: configuration)
        do {
            try store.open(with: .raw(key)) { _ in nil }
            store.close()
            return true
        } catch SecureStorageError.authenticationFailed {
            return false
        }
    }
}
