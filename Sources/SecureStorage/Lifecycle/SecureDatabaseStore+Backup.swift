public import Foundation

extension SecureDatabaseStore {
    /// Copies the database into a new file while it is in use.
    ///
    /// The copy is of one moment: a commit made in the meantime is in it completely or not at all.
    /// In WAL mode, neither side waits. In DELETE mode, writers may come between, which restarts
    /// the copy; after three restarts, they wait until it is done.
    ///
    /// The copy is written beside its destination, checked as by ``verifyIntegrity(progress:)``,
    /// made durable, and only then gets its name: an error or a kill leaves the previous state.
    ///
    /// ```swift
    /// try db.backup(to: backupURL, key: .passphrase(recoveryPassphrase)) {
    ///     print("\($0.completed) of \($0.total) pages")
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - url: The location of the copy, whose directory is created if only that is missing.
    ///   - key: The copy's key; nil for that of the database.
    ///   - replacing: Whether an existing file is replaced. It must not be in use.
    ///   - progress: Called after every megabyte, in pages, each of which is copied and later
    ///     checked; throwing ends the copy.
    /// - Throws: `.closed`; `.authenticationFailed` for an invalid key; `.backingStoreError` for a
    ///   location that is taken or cannot be used (code `.cannotOpen`), an existing file that is in
    ///   use (`.busy`), a full disk (13), or a damaged database (11); what `progress` throws.
    ///
    /// The corresponding C function is
    /// [`sqlite3_backup_init`](https://sqlite.org/c3ref/backup_finish.html).
    public func backup(
        to url: URL, key: DatabaseKey? = nil, replacing: Bool = false,
        progress: FileProgress.Handler = { _ in }
    ) throws {
        try backup(to: url, key: key, replacing: replacing, checking: true, progress: progress)
    }

    /// Copies the database, and checks the copy only if `isChecked`.
    func backup(
        to url: URL, key: DatabaseKey? = nil, replacing: Bool, checking isChecked: Bool,
        progress: FileProgress.Handler
    ) throws {
        let connection = try workingConnection()
        try connection.callbacks.requireOutside("a copy cannot be made")
        guard let source else { throw SecureStorageError.closed }
        let copy = FileCopy(
            source: source, configuration: configuration,
            key: try key.map { try EncryptionKey($0) }, isChecked: isChecked)
        try copy.write(to: NewFile(at: url, replacing: replacing)) {
            try requireGoingOn()
            try progress($0)
        }
    }
}
