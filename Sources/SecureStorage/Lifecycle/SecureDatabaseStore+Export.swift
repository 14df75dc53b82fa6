public import Foundation

extension SecureDatabaseStore {
    /// Writes the content into a new encrypted file, with any key and any cipher configuration.
    ///
    /// For a different cipher configuration; with the same one,
    /// ``backup(to:key:replacing:progress:)`` is faster. Everything is copied: tables with their
    /// row ids, indexes, triggers, views, virtual tables such as FTS and R-tree, ANALYZE's
    /// statistics, `user_version`, `application_id`, `auto_vacuum`, the encoding. Other connections
    /// can use the database in the meantime; in DELETE mode writers wait.
    ///
    /// The new file is written beside its destination. Its rows are counted and its pages and
    /// structures checked, and only then it gets its name: an error or a kill leaves the previous
    /// state.
    ///
    /// - Parameters:
    ///   - url: The location of the new file, whose directory is created if only that is missing.
    ///   - key: The new file's key.
    ///   - cipher: The new file's cipher configuration.
    ///   - replacing: Whether an existing file is replaced. It must not be in use.
    ///   - progress: Receives numbers of rows, then of pages; throwing ends the export.
    /// - Returns: The number of rows of each table.
    /// - Throws: `.closed`; `.authenticationFailed` for an invalid key; `.backingStoreError`, code
    ///   14 for a location that is taken or cannot be used; what `progress` throws.
    @discardableResult
    public func export(
        to url: URL, key: DatabaseKey, cipher: CipherConfiguration = .init(),
        replacing: Bool = false, progress: FileProgress.Handler = { _ in }
    ) throws -> [String: Int] {
        try cipher.validate()
        return try export(to: url, EncryptionKey(key), cipher, replacing, progress)
    }

    /// Writes the content into a new plain SQLite file, which any program can read.
    ///
    /// Otherwise as ``export(to:key:cipher:replacing:progress:)``. Removing the file later does not
    /// erase its content from the disk.
    ///
    /// - Parameters:
    ///   - url: The location of the new file (mode 0600), whose directory is created if only that
    ///     is missing.
    ///   - replacing: Whether an existing file is replaced. It must not be in use.
    ///   - progress: Receives numbers of rows; throwing ends the export.
    /// - Returns: The number of rows of each table.
    /// - Throws: As ``export(to:key:cipher:replacing:progress:)``.
    @discardableResult
    public func exportPlaintext(
        to url: URL, replacing: Bool = false, progress: FileProgress.Handler = { _ in }
    ) throws -> [String: Int] {
        var cipher = CipherConfiguration()
        cipher.pageSize = configuration.cipher.pageSize
        return try export(to: url, nil, cipher, replacing, progress)
    }

    private func export(
        to url: URL, _ key: EncryptionKey?, _ cipher: CipherConfiguration, _ replacing: Bool,
        _ progress: FileProgress.Handler
    ) throws -> [String: Int] {
        let connection = try workingConnection()
        try connection.callbacks.requireOutside("a file cannot be exported")
        guard let source else { throw SecureStorageError.closed }
        var readOnly = configuration
        readOnly.isReadOnly = true
        let reader = try source.openContent(readOnly)
        defer { reader.close() }
        let file = try NewFile(at: url, replacing: replacing)
        return try file.make(from: reader, key: key, cipher: cipher) {
            try requireGoingOn()
            try progress($0)
        }
    }

    /// Writes the content of a plain SQLite file into a new encrypted one.
    ///
    /// The reverse of ``exportPlaintext(to:replacing:progress:)``, with the checks of
    /// ``export(to:key:cipher:replacing:progress:)``. The plain file is read, never changed; the
    /// caller decides whether to remove it and anything else that may still hold its content (its
    /// `-wal`, a backup of the disk).
    ///
    /// - Parameters:
    ///   - source: The plain file. Connections that write to it wait.
    ///   - url: The location of the new file, whose directory is created if only that is missing.
    ///   - key: The new file's key.
    ///   - cipher: The new file's cipher configuration.
    ///   - replacing: Whether an existing file is replaced. It must not be in use.
    ///   - progress: Receives numbers of rows, then of pages; throwing ends the import.
    /// - Returns: The number of rows of each table.
    /// - Throws: `.openFailed` for a source that is not a plain SQLite file; otherwise as
    ///   ``export(to:key:cipher:replacing:progress:)``.
    @discardableResult
    public static func importPlaintext(
        from source: URL, to url: URL, key: DatabaseKey, cipher: CipherConfiguration = .init(),
        replacing: Bool = false, progress: FileProgress.Handler = { _ in }
    ) throws -> [String: Int] {
        try cipher.validate()
        let encryptionKey = try EncryptionKey(key)
        let diagnosis = try diagnose(at: source)
        guard diagnosis.finding == .notEncrypted else {
            throw SecureStorageError.openFailed(
                code: ResultCode.notADatabase.rawValue,
                message:
                    "\"\(source.path)\" is not a plain SQLite file: \(diagnosis.finding.summary)")
        }
        var configuration = SecureDatabaseConfiguration()
        configuration.isReadOnly = true
        let file = try DatabaseFile(at: source, creatingDirectory: false)
        let reader = try Connection.open(
            file.path, content: .plaintext, configuration: configuration)
        defer { reader.close() }
        let target = try NewFile(at: url, replacing: replacing)
        return try target.make(from: reader, key: encryptionKey, cipher: cipher, progress)
    }
}
