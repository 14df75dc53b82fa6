internal import CSQLCipher
internal import Foundation
internal import Logging

extension Connection {
    /// The key to open a connection with.
    enum Key {
        /// The caller's key, for a file that already has its salt.
        case given(EncryptionKey)
        /// The caller's key, for a file that is still empty.
        case new(EncryptionKey)
        /// The key as an earlier connection derived it.
        case derived(DerivedKey)
    }

    /// Derives the key with the salt of the file.
    func derive(_ key: Key) throws -> DerivedKey {
        let cipher = configuration.cipher
        switch key {
        case .derived(let key):
            return key
        case .new(let key):
            let salt =
                key.fixedSalt(cipher)
                ?? (0..<CipherConfiguration.saltLength).map { _ in
                    UInt8.random(in: .min ... .max)
                }
            return try key.derived(salt: salt, cipher: cipher)
        case .given(let key):
            let firstBytes = try readFirstBytes()
            let isPlaintext = firstBytes == Array("SQLite format 3\0".utf8)
            guard isPlaintext == (cipher.plaintextHeaderSize > 0) else {
                guard isPlaintext else {
                    throw SecureStorageError.statementFailed(
                        .notADatabase, "the file has no plaintext header")
                }
                throw SecureStorageError.notEncrypted(
                    message: "\"\(path)\" starts like a plain SQLite database; it was not changed. "
                        + "Copy its contents into a new encrypted database, or set "
                        + "cipher.plaintextHeaderSize if it was created with one")
            }
            guard let journal = try RollbackJournal(of: path, pageSize: cipher.pageSize) else {
                guard let salts = try key.salts(outOf: file, cipher) else {
                    return try key.derived(salt: firstBytes, cipher: cipher)
                }
                return try key.derived(choosingFrom: salts, for: path, cipher)
            }
            return try derive(key, checkingAgainst: journal)
        }
    }

    /// Derives the key of a file in the middle of a transaction.
    ///
    /// The key is proved before SQLite plays back the journal, in case a crash has left it.
    private func derive(
        _ key: EncryptionKey, checkingAgainst journal: RollbackJournal
    ) throws -> DerivedKey {
        let cipher = configuration.cipher
        // Another process may be writing page 1 just now; the next attempt then finds it whole, or
        // finds its original in the journal.
        for attempt in 1...3 {
            let ownPage = try readFirstBytes(cipher.pageSize)
            let original = try journal.firstPage()
            let salts =
                try key.salts(outOf: file, cipher)
                ?? [original, ownPage].compactMap {
                    $0.map { Array($0.prefix(CipherConfiguration.saltLength)) }
                }
            if let derived = try key.derived(provedBy: original ?? ownPage, salts, cipher) {
                return derived
            }
            // The original may be damaged. After an interrupted re-key, however, it is under
            // another key, as all records are.
            if original != nil, let derived = try key.derived(provedBy: ownPage, salts, cipher),
                try journal.hasRecord(of: PageCipher(derived, cipher))
            {
                return derived
            }
            if attempt < 3 { usleep(10_000) }
        }
        throw SecureStorageError.statementFailed(
            .notADatabase, "the key does not open the file, which was left in a transaction")
    }

    /// Proves the key on the first page before the engine reads the file.
    ///
    /// Engines differ from release to release in what they do to a file that the key does not open,
    /// and in the code that they then report.
    func proveFirstPage(_ cipher: PageCipher) throws {
        let pageSize = cipher.format.pageSize
        // Another process may be writing page 1 just now.
        for attempt in 1...3 {
            if try cipher.isAuthentic(readFirstBytes(pageSize), number: 1) { return }
            // The file's own page may be damaged, or not written yet, while the one in the log is
            // sound.
            let current = try PageView(path, pageSize: pageSize).page(1)
            if let current, cipher.isAuthentic(current, number: 1) { return }
            if attempt < 3 { usleep(10_000) }
        }
        throw SecureStorageError.statementFailed(
            .notADatabase, "the key does not open the file's first page")
    }

    /// Refuses a file that makes the engine write outside its memory; see `MisstatedSizes`.
    ///
    /// - Throws: `.backingStoreError` code `.corrupt`; nothing was changed.
    func refuseMisstatedSizes(_ cipher: PageCipher) throws {
        let sizes = MisstatedSizes(path: path, cipher: cipher)
        for attempt in 1...3 {
            guard let place = try sizes.place() else { return }
            // Without an HMAC, a page that is just being written looks like that too.
            guard cipher.format.hmac == nil, attempt < 3 else {
                throw SecureStorageError.statementFailed(
                    .corrupt,
                    "\(place) claims a page size other than the file's, which no program writes: "
                        + "it was changed by hand; salvage reads the file without relying on it")
            }
            usleep(10_000)
        }
    }

    /// Whether no other connection of this process has the file open, so that it was not examined
    /// yet.
    var isAlone: Bool { FileIdentity(path).map(OpenDescriptors.shared.hasOneConnection) ?? true }

    /// Derives the key for a re-key, which keeps the file's salt.
    ///
    /// SQLCipher can replace the salt, but writes the new one into the rollback journal's copy of
    /// page 1: a kill would leave a file that neither key opens.
    func deriveForRekey(_ key: EncryptionKey) throws -> DerivedKey {
        guard let salt = self.key?.salt else { throw SecureStorageError.closed }
        if case .rawWithSalt(_, let given) = key, given != salt {
            throw SecureStorageError.statementFailed(
                .misuse,
                "a file keeps its salt when its key changes; pass the key alone, as x'…' "
                    + "around 64 digits")
        }
        return try key.derived(salt: salt, cipher: configuration.cipher)
    }

    var file: DatabaseFile { DatabaseFile(resolvedPath: path) }

    /// Ensures that the salt of a file with a plaintext header is kept beside it, unless the caller
    /// keeps the salt.
    ///
    /// This applies to a new file, and to one that was opened although its salt file is missing:
    /// with a key that holds the salt, or by a connection that received the derived key.
    func keepSalt() throws {
        let cipher = configuration.cipher
        guard cipher.plaintextHeaderSize > 0, cipher.salt == nil, !configuration.isReadOnly,
            let key
        else { return }
        try SaltFile(of: file).keep(key.salt, timeout: configuration.busyTimeout)
    }

    /// Keys the new handle and sets SQLCipher's parameters for the file.
    ///
    /// The defaults are set, too: `PRAGMA cipher_default_…` is process-wide, and another library
    /// may have changed it.
    func applyKey(_ key: DerivedKey) throws {
        self.key = key
        try key.withKeySpecification { specification in
            // Never as `PRAGMA key`: statements are traced, logged and quoted in messages.
            let code = sqlite3_key_v2(
                handle, "main", specification.baseAddress, Int32(specification.count))
            try check(code)
        }
        try set(configuration.cipher.pragmas)
    }

    /// Reads page 1 and the schema: SQLCipher accepts any key, and only the first read proves it.
    func proveKey() throws {
        // Waiting for a lock is part of opening.
        try installBusyHandler()
        // A connection with a wrong key must not move the log that a crash has left into the file.
        try check(csqlcipher_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1))
        do {
            try text("SELECT count(*) FROM sqlite_schema")
        } catch SecureStorageError.backingStoreError(let code, let message)
            where configuration.cipher.plaintextHeaderSize > 0
            && [SQLITE_ERROR, SQLITE_NOMEM].contains(Int32(code))
        {
            // The header is right under any key, and the rest of the page is not: SQLCipher up to
            // 4.6 reports the first of these codes, 4.9 the second.
            throw SecureStorageError.backingStoreError(code: Int(SQLITE_NOTADB), message: message)
        }
        isProven = true
        try check(csqlcipher_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0))
    }
}

extension CipherConfiguration {
    /// The settings of SQLCipher for a file of this cipher.
    fileprivate var pragmas: [String] {
        // Sets what SQLCipher 4 uses by default, all but the header. What differs follows; setting
        // all again would allocate and clear the pages' buffers once more. The number of iterations
        // is not among them, since the key is derived here.
        let usual = CipherConfiguration()
        var pragmas = ["cipher_compatibility = 4"]
        if pageSize != usual.pageSize { pragmas.append("cipher_page_size = \(pageSize)") }
        if hmacAlgorithm != usual.hmacAlgorithm {
            pragmas.append("cipher_hmac_algorithm = \(hmacAlgorithm.rawValue)")
        }
        if kdfAlgorithm != usual.kdfAlgorithm {
            pragmas.append("cipher_kdf_algorithm = \(kdfAlgorithm.rawValue)")
        }
        return pragmas + ["cipher_plaintext_header_size = \(plaintextHeaderSize)"]
    }
}
