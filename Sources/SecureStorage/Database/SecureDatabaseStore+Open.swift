public import Foundation
internal import SecureStoragePlatform

extension SecureDatabaseStore {
    /// Opens the file with a passphrase, and creates it when it does not exist.
    ///
    /// The key is derived from the passphrase and the file's salt, by default with 256,000 rounds
    /// of PBKDF2-HMAC-SHA512 (a tenth of a second). The passphrase's UTF-8 bytes are used exactly
    /// as given: `é` spelled with one code point and with two are different passphrases. `x'…'`
    /// around 64 or 96 hex digits is a raw key, or a raw key with its salt, as elsewhere in
    /// SQLCipher.
    ///
    /// Does nothing when the store is already open; the key is not checked then.
    ///
    /// - Parameters:
    ///   - encryptionKey: At least one byte. It becomes the key of a new file.
    ///   - initializationHandler: Called once with the open store when this call created the file,
    ///     to create the schema and first rows. The file receives its name when the handler has
    ///     returned nil; if it returns an error, or the process is killed, no file remains. State
    ///     of the connection rather than the file, such as a temporary table, ends with the
    ///     handler.
    /// - Throws: `.authenticationFailed` for a wrong or empty key; `.openFailed` for an unusable
    ///   location or a file that is truncated, damaged or locked; `.notEncrypted` and
    ///   `.legacyFormat` for files of other kinds; the handler's error. A file that the key does
    ///   not open is never written to, nor are its sidecar files.
    public func open(
        with encryptionKey: String,
        initializationHandler: (SecureDatabaseStore) -> (any Error)? =
            SecureDatabaseStore.defaultInitializationHandler
    ) throws {
        try open(
            with: .passphrase(encryptionKey), initializationHandler: initializationHandler)
    }

    /// Opens the file with a raw key, and creates it when it does not exist.
    ///
    /// Like ``open(with:initializationHandler:)-(String,_)``, but without key derivation: the bytes
    /// are the AES-256 key, so they must be random, not a password.
    ///
    /// - Parameters:
    ///   - encryptionKeyData: Exactly 32 bytes.
    ///   - initializationHandler: Called once when this call created the file.
    /// - Throws: `.authenticationFailed` also for a key of another length.
    public func open(
        with encryptionKeyData: Data,
        initializationHandler: (SecureDatabaseStore) -> (any Error)? =
            SecureDatabaseStore.defaultInitializationHandler
    ) throws {
        try open(
            with: .raw(SecretBytes(copying: encryptionKeyData)),
            initializationHandler: initializationHandler)
    }

    /// Opens the file with a key that is cleared from memory, and creates it when it does not
    /// exist.
    ///
    /// Like ``open(with:initializationHandler:)-(String,_)``.
    ///
    /// - Parameters:
    ///   - key: A passphrase or a raw key.
    ///   - initializationHandler: Called once when this call created the file.
    /// - Throws: `.authenticationFailed` also for a raw key or a salt of another length.
    public func open(
        with key: DatabaseKey,
        initializationHandler: (SecureDatabaseStore) -> (any Error)? =
            SecureDatabaseStore.defaultInitializationHandler
    ) throws {
        guard !isOpen() else { return }
        try open(EncryptionKey(key), initializationHandler)
    }

    /// The default initialization handler: does nothing and returns nil.
    ///
    /// - Parameter store: The new store.
    /// - Returns: nil.
    public static func defaultInitializationHandler(_ store: SecureDatabaseStore) -> (any Error)? {
        nil
    }

    private func open(
        _ key: EncryptionKey, _ handler: (SecureDatabaseStore) -> (any Error)?
    ) throws {
        if sharing.suspensionFlag.isOn { throw SecureStorageError.suspended }
        try configuration.validate()
        guard !givenPath.utf8.contains(0) else {
            throw SecureStorageError.openFailed(
                code: ResultCode.cannotOpen.rawValue, message: "the path contains a NUL")
        }
        guard !session.isCreating else {
            throw SecureStorageError.openFailed(
                code: ResultCode.misuse.rawValue,
                message: "the initialization handler closed the store and cannot open it again")
        }
        if let givenFileName { try makeDefaultDirectory(for: givenFileName) }
        let file = try DatabaseFile(
            at: databaseURL,
            creatingDirectory: !configuration.isReadOnly && configuration.createsFile)
        if !configuration.isReadOnly { try file.requireWritableDirectory() }
        if try file.state() == .missing {
            guard !configuration.isReadOnly, configuration.createsFile else {
                let reason =
                    configuration.isReadOnly
                    ? "a read-only store does not create one"
                    : "createsFile of the configuration is false"
                throw SecureStorageError.openFailed(
                    code: ResultCode.cannotOpen.rawValue,
                    message:
                        "cannot open \"\(file.path)\": the file does not exist, and \(reason)")
            }
            // Only one process or thread creates the file; the others open it like any other file.
            let made = try file.withCreationLock(timeout: configuration.busyTimeout) {
                try file.state() == .missing ? try create(file, key, handler) : nil
            }
            if let made {
                // A connection refers to its sidecar files by name, so the renamed file needs a new
                // connection.
                try openExisting(file, .derived(made), key)
                return
            }
        }
        try openExisting(file, .given(key), key)
    }

    /// Opens an existing file, and diagnoses the file if that fails.
    private func openExisting(
        _ file: DatabaseFile, _ key: Connection.Key, _ given: EncryptionKey
    ) throws {
        let claim = try FileClaim.of(file.path, configuration)
        do {
            connection = try Connection.open(file.path, key: key, configuration: configuration)
        } catch SecureStorageError.backingStoreError(let code, let message) {
            throw unreadable(file, given, code, message)
        }
        session.claim = claim
    }

    /// Returns the error for an unreadable file, based on a diagnosis of its content.
    private func unreadable(
        _ file: DatabaseFile, _ key: EncryptionKey, _ code: Int, _ message: String
    ) -> SecureStorageError {
        let asReported = SecureStorageError.openFailed(
            code: code, message: "cannot open \"\(file.path)\": \(message)")
        // Engines differ in which of these codes they report for a modified page.
        let codes: [ResultCode] = [.notADatabase, .error, .noMemory]
        guard codes.contains(where: { $0.rawValue == code }) else { return asReported }
        var diagnostician = Diagnostician(
            path: file.path, key: key, cipher: configuration.cipher)
        // A wrong key is the usual cause, and is detected without reading all of a large file.
        diagnostician.sampleLimit = 256
        guard let diagnosis = try? diagnostician.diagnose() else { return asReported }
        // The pages are intact, so the cause is something else.
        if diagnosis.finding == .ok, code != ResultCode.notADatabase.rawValue { return asReported }
        return diagnosis.openingError(file.path)
    }

    // MARK: - Creating

    /// Creates the file and returns the key that now opens it.
    ///
    /// The file is created next to its final path under another name, and renamed when it is
    /// complete, including the handler's work: a kill at any point leaves no file under the name
    /// that would later open without its schema.
    private func create(
        _ file: DatabaseFile, _ key: EncryptionKey, _ handler: (SecureDatabaseStore) -> (any Error)?
    ) throws -> DerivedKey {
        try file.make(
            incomplete: incomplete("it could not be completed: the disk has failed, or is full")
        ) { draft in
            defer { close() }  // the last connection moves the log into the file
            do {
                var draftConfiguration = configuration
                // A new file is complete only when it has no sidecar files.
                draftConfiguration.keepsWriteAheadLog = false
                draftConfiguration.keepsJournalMode = false
                let opened = try Connection.open(
                    draft.path, key: .new(key), configuration: draftConfiguration)
                // Writes the first page, including the salt, in any journal mode.
                connection = opened
                try opened.execute("PRAGMA user_version = 0")
            } catch SecureStorageError.backingStoreError(let code, let message) {
                throw SecureStorageError.openFailed(
                    code: code, message: "cannot create \"\(databaseURL.path)\": \(message)")
            }
            return try fillDraft(handler)
        } publish: { draft, finalKey in
            try file.publish(draft)
            return finalKey
        }
    }

    /// Runs the handler on the open temporary file, and returns the key that now opens it.
    private func fillDraft(_ handler: (SecureDatabaseStore) -> (any Error)?) throws -> DerivedKey {
        session.isCreating = true
        defer { session.isCreating = false }
        if let error = handler(self) { throw error }
        guard let connection, let finalKey = connection.key else {
            throw incomplete("the initialization handler closed the store")
        }
        guard !connection.isInTransaction else {
            throw incomplete("the initialization handler left a transaction open")
        }
        return finalKey
    }

    private func incomplete(_ reason: String) -> SecureStorageError {
        .openFailed(
            code: ResultCode.error.rawValue,
            message: "cannot create \"\(databaseURL.path)\": \(reason)")
    }

    private func makeDefaultDirectory(for fileName: String) throws {
        guard !fileName.contains("/"), !["", ".", ".."].contains(fileName) else {
            throw SecureStorageError.openFailed(
                code: ResultCode.cannotOpen.rawValue,
                message:
                    "\"\(fileName)\" is not a file name; use init(fullDatabasePath:) for a path")
        }
        do {
            try FileManager.default.createDirectory(
                at: databaseURL.deletingLastPathComponent(), withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        } catch {
            throw SecureStorageError.openFailed(
                code: ResultCode.cannotOpen.rawValue,
                message: "cannot create the directory of \"\(databaseURL.path)\": "
                    + error.localizedDescription)
        }
    }
}
