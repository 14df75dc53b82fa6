public import Foundation

extension SecureDatabaseStore {
    /// Writes the content into a new encrypted file, under any key and any cipher configuration.
    ///
    /// For another cipher configuration than the file's; with the same one,
    /// ``backup(to:key:replacing:progress:)`` is faster. Everything arrives: tables with their row
    /// ids, indexes, triggers, views, virtual tables such as FTS and R-tree, what ANALYZE has
    /// found, `user_version`, `application_id`, `auto_vacuum`, the encoding. Others go on using the
    /// database meanwhile; in DELETE mode writers wait.
    ///
    /// The new file is written beside its place, the rows are counted, its pages and structures are
    /// checked, and only then it gets its name: an error or a kill leaves what was there before.
    ///
    /// - Parameters:
    ///   - url: The place of the new file, whose directory is made when only that is missing.
    ///   - key: Its key.
    ///   - cipher: How it is encrypted.
    ///   - replacing: Whether a file that is there already is replaced. It must not be in use.
    ///   - progress: Told of rows, then of pages; what it throws ends the work.
    /// - Returns: The number of rows of each table.
    /// - Throws: `.closed`; `.authenticationFailed` for a key that cannot be one;
    ///   `.backingStoreError`, code 14 for a place that is taken or cannot be used; what `progress`
    ///   throws.
    @discardableResult
    public func export(
        to url: URL, key: DatabaseKey, cipher: CipherConfiguration = .init(),
        replacing: Bool = false, progress: FileProgress.Handler = { _ in }
    ) throws -> [String: Int] {
        try cipher.validate()
        return try export(to: url, EncryptionKey(key), cipher, replacing, progress)
    }

    /// Writes the content into a new plain SQLite file, which everybody can read.
    ///
    /// Otherwise as ``export(to:key:cipher:replacing:progress:)``. Removing the file later does not
    /// remove what it held from the disk.
    ///
    /// - Parameters:
    ///   - url: The place of the new file (mode 0600), whose directory is made when only that is
    ///     missing.
    ///   - replacing: Whether a file that is there already is replaced. It must not be in use.
    ///   - progress: Told of rows; what it throws ends the work.
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
    /// As ``export(to:key:cipher:replacing:progress:)``, the other way round. The plain file is
    /// read, never changed; whether to remove it is the caller's to decide, and so is what else may
    /// still hold its content (its `-wal`, a backup of the disk).
    ///
    /// - Parameters:
    ///   - source: The plain file. Whoever writes to it waits.
    ///   - url: The place of the new file, whose directory is made when only that is missing.
    ///   - key: Its key.
    ///   - cipher: How it is encrypted.
    ///   - replacing: Whether a file that is there already is replaced. It must not be in use.
    ///   - progress: Told of rows, then of pages; what it throws ends the work.
    /// - Returns: The number of rows of each table.
    /// - Throws: `.openFailed` for a source that is no plain SQLite file; otherwise as
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
                message: "\"\(source.path)\" is no plain SQLite file: \(diagnosis.finding.summary)")
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
