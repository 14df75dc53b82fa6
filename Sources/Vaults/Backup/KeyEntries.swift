internal import SecureStorage

/// The storage of a vault's keys, by their names.
protocol KeyEntries {
    /// Returns the key of a name; nil if and only if none exists.
    func read(_ name: String) throws -> SecretBytes?

    /// Stores a key, replacing the one under the same name.
    func store(_ key: SecretBytes, forName name: String) throws

    /// Removes a key; an absent one is not an error.
    func remove(_ name: String) throws
}

/// The entries of a key store, under unchanged names.
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
