internal import CSQLCipher
internal import Foundation

/// How a file is read or written whose content is copied from one kind of file to another.
enum ContentAccess {
    /// A plain SQLite file.
    case plaintext
    /// A file of SQLCipher 1, 2 or 3, with that version's defaults.
    case legacy(EncryptionKey, version: Int)
    case encrypted(Connection.Key)
}

extension Connection {
    /// Opens a file of any kind, for statements of the library only.
    ///
    /// - Throws: `.backingStoreError`, code 26 for another kind of file or a wrong key.
    static func open(
        _ path: String, content: ContentAccess, configuration: SecureDatabaseConfiguration
    ) throws -> Connection {
        _ = try Engine.shared(announcingTo: configuration.logger)
        let connection = try Connection(path: path, configuration: configuration)
        do {
            switch content {
            case .plaintext: break
            case .legacy(let key, let version): try connection.applyLegacyKey(key, version)
            case .encrypted(let key): try connection.applyKey(connection.derive(key))
            }
            try connection.proveKey()
            if case .encrypted = content { try connection.keepSalt() }
            try connection.applyContentSettings()
            return connection
        } catch {
            connection.close()
            throw error
        }
    }

    private func applyLegacyKey(_ key: EncryptionKey, _ version: Int) throws {
        switch key {
        case .passphrase(let passphrase):
            try passphrase.withUnsafeBytes {
                try check(
                    sqlite3_key_v2(
                        requireHandle(), "main", $0.baseAddress, Int32(clamping: $0.count)))
            }
        case .raw(let key), .rawWithSalt(let key, _):
            try DerivedKey(key: key, salt: []).withKeySpecification {
                try check(
                    sqlite3_key_v2(requireHandle(), "main", $0.baseAddress, Int32($0.count)))
            }
        }
        try text("PRAGMA cipher_compatibility = \(version)")
    }

    private func applyContentSettings() throws {
        // The schema is copied as it is, shadow tables and all.
        let handle = try requireHandle()
        try check(csqlcipher_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 0))
        try check(csqlcipher_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0))
        // The schema's texts are those of a file that may be hostile: they name no other file.
        _ = sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0)
        try text("PRAGMA temp_store = MEMORY")
        try text("PRAGMA mmap_size = 0")
        try text("PRAGMA cell_size_check = ON")
        try text("PRAGMA foreign_keys = OFF")
        try text("PRAGMA synchronous = FULL")
        #if canImport(Darwin)
            try text("PRAGMA fullfsync = ON")
        #endif
        // Rows that were let in stay in.
        try text("PRAGMA ignore_check_constraints = ON")
        try text("PRAGMA cache_size = -\(max(configuration.cacheSize, 1 << 20) / 1024)")
    }
}
