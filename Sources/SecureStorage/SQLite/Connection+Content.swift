internal import CSQLCipher
internal import Foundation

/// The way to open a file whose content is copied from one kind of file to another.
enum ContentAccess {
    /// A plain SQLite file.
    case plaintext
    /// A file of SQLCipher 1, 2 or 3, or without HMACs.
    case legacy(EncryptionKey, PageFormat)
    case encrypted(Connection.Key)
}

extension Connection {
    /// Opens a file of any kind, for the library's own statements only.
    ///
    /// - Throws: `.backingStoreError`; code `.notADatabase` for another kind of file or a wrong
    ///   key.
    static func open(
        _ path: String, content: ContentAccess, configuration: SecureDatabaseConfiguration
    ) throws -> Connection {
        _ = try Engine.shared(announcingTo: configuration.logger)
        let connection = try Connection(path: path, configuration: configuration)
        do {
            switch content {
            case .plaintext: break
            case .legacy(let key, let format): try connection.applyLegacyKey(key, format)
            case .encrypted(let key):
                let derived = try connection.derive(key)
                let cipher = try PageCipher(derived, configuration.cipher)
                try connection.refuseMisstatedSizes(cipher)
                if connection.isAlone { try connection.examineSideFiles(cipher) }
                try connection.applyKey(derived)
            }
            try connection.applyDefences()
            try connection.proveKey()
            if case .encrypted = content { try connection.keepSalt() }
            try connection.applyContentSettings()
            return connection
        } catch {
            connection.close()
            throw error
        }
    }

    private func applyLegacyKey(_ key: EncryptionKey, _ format: PageFormat) throws {
        var cipher = CipherConfiguration()
        (cipher.kdfAlgorithm, cipher.kdfIterations) = (format.kdf, format.kdfIterations)
        let derived = try key.derived(salt: readFirstBytes(), cipher: cipher)
        let pages = try PageCipher(derived, format: format)
        try refuseMisstatedSizes(pages)
        // Without HMACs no page can be authenticated.
        if format.hmac != nil { try examineSideFiles(pages) }
        switch key {
        case .passphrase(let passphrase):
            try passphrase.bytes.withUnsafeBytes {
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
        try text("PRAGMA cipher_compatibility = 4")
        try text("PRAGMA cipher_page_size = \(format.pageSize)")
        if let hmac = format.hmac {
            try text("PRAGMA cipher_hmac_algorithm = \(hmac.rawValue)")
        } else {
            try text("PRAGMA cipher_use_hmac = OFF")
        }
        try text("PRAGMA cipher_kdf_algorithm = \(format.kdf.rawValue)")
        try text("PRAGMA kdf_iter = \(format.kdfIterations)")
        // Set only where it is needed: SQLCipher calls it deprecated.
        if format.hasBigEndianNumbers { try text("PRAGMA cipher_hmac_pgno = be") }
    }

    private func applyContentSettings() throws {
        // Old schemas have texts in double quotes, as in CHECK (state <> "").
        try check(csqlcipher_db_config(requireHandle(), SQLITE_DBCONFIG_DQS_DDL, 1))
        try set([
            "foreign_keys = OFF",
            "synchronous = FULL",
            "fullfsync = ON",
            // Rows that violate a CHECK but were accepted before are copied too.
            "ignore_check_constraints = ON",
            "cache_size = -\(max(configuration.cacheSize, 1 << 20) / 1024)",
        ])
        authorizer.origin = .library
        try installAuthorizer()
    }

    /// Runs `body` while the schema table can be written, since it is copied verbatim, virtual
    /// tables included.
    func writingSchema<R>(_ body: () throws -> R) throws -> R {
        try check(csqlcipher_db_config(requireHandle(), SQLITE_DBCONFIG_DEFENSIVE, 0))
        // Cannot fail; the same call has succeeded before.
        defer { _ = csqlcipher_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1) }
        try text("PRAGMA writable_schema = ON")
        defer { _ = try? text("PRAGMA writable_schema = OFF") }
        return try body()
    }
}
