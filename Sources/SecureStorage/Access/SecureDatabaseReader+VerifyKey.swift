internal import SecureStoragePlatform

// Whether a key is that of the open database, as an app's lock screen asks.

extension SecureDatabaseStore {
    /// Whether a key is the one that opens the file.
    ///
    /// Reads no page: what a passphrase derives is compared, which takes a tenth of a second by
    /// default.
    ///
    /// - Parameter key: A passphrase or a raw key; an empty one is wrong.
    /// - Returns: false for any other key.
    /// - Throws: `.closed`.
    public func verifyKey(_ key: DatabaseKey) throws -> Bool {
        try currentKey().isDerived(from: key, configuration.cipher)
    }

    fileprivate func currentKey() throws -> DerivedKey {
        guard let key = try openConnection().key else { throw SecureStorageError.closed }
        return key
    }
}

extension SecureDatabaseReader {
    /// Whether a key is the one that opens the file.
    ///
    /// ```swift
    /// guard try await pool.verifyKey(.passphrase(typed)) else { return }
    /// ```
    ///
    /// For a lock screen of an app whose database stays open. The call waits for a turn to read,
    /// and then derives the key, for which others do not wait.
    ///
    /// - Parameter key: A passphrase or a raw key; an empty one is wrong.
    /// - Returns: false for any other key.
    /// - Throws: `.closed`, `.suspended`.
    public func verifyKey(_ key: DatabaseKey) throws -> Bool {
        let current = try read { db -> DerivedKey in try db.currentKey() }
        return try current.isDerived(from: key, configuration.cipher)
    }

    /// Whether a key is the one that opens the file.
    ///
    /// Otherwise as the synchronous call; `CancellationError`.
    public func verifyKey(_ key: DatabaseKey) async throws -> Bool {
        try await onOwnThread { try self.verifyKey(key) }
    }
}

extension DerivedKey {
    /// Checks the key of a call that finds the database open with one of `keys`.
    ///
    /// - Throws: `.authenticationFailed`.
    static func require(
        _ key: DatabaseKey, toBeIn keys: [DerivedKey], _ cipher: CipherConfiguration
    ) throws {
        guard try keys.isEmpty || keys.contains(where: { try $0.isDerived(from: key, cipher) })
        else {
            throw SecureStorageError.authenticationFailed(
                message: "the database is open already, with another key")
        }
    }

    /// Whether `key` gives this key for the same salt.
    fileprivate func isDerived(
        from given: DatabaseKey, _ cipher: CipherConfiguration
    ) throws -> Bool {
        let key: EncryptionKey
        do {
            key = try EncryptionKey(given)
        } catch SecureStorageError.authenticationFailed {
            return false
        }
        if case .rawWithSalt(_, let own) = key, own != salt { return false }
        return try key.derived(salt: salt, cipher: cipher).key == self.key
    }
}
