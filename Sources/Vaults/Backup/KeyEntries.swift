internal import SecureStorage

/// Where the keys of a vault lie, by their names.
protocol KeyEntries {
    /// The key of a name; nil where there is none, and only there.
    func read(_ name: String) throws -> SecretBytes?

    /// Stores a key, and replaces what the name held.
    func store(_ key: SecretBytes, forName name: String) throws

    /// Removes a key; an absent one is no error.
    func remove(_ name: String) throws
}

/// The names as they are, in a key store.
struct KeyStoreEntries: KeyEntries {
    let keyStore: any KeyStore

    func read(_ name: String) throws -> SecretBytes? {
        do {
            return try keyStore.read(name)
        } catch KeyStoreError.notFound {
            return nil
        }
    }

    func store(_ key: SecretBytes, forName name: String) throws {
        try keyStore.store(key, forName: name)
    }

    func remove(_ name: String) throws { try keyStore.remove(name) }
}
