public import Foundation

extension SecureDatabaseStore {
    /// Copies the database into a new file, while it is used.
    ///
    /// The copy is that of one moment: what is committed while it is made is in it wholly or not at
    /// all. In WAL mode nobody waits for anybody. In DELETE mode writers come between, and the copy
    /// begins anew; when that has happened three times, they wait until it is done.
    ///
    /// The copy is written beside its place, checked as ``verifyIntegrity(progress:)`` does, made
    /// durable, and only then gets its name: an error or a kill leaves what was there before.
    ///
    /// ```swift
    /// try db.backup(to: backupURL, key: .passphrase(recoveryPassphrase)) {
    ///     print("\($0.completed) of \($0.total) pages")
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - url: The place of the copy, whose directory is made when only that is missing.
    ///   - key: The copy's key; nil for that of the database.
    ///   - replacing: Whether a file that is there already is replaced. It must not be in use.
    ///   - progress: Told of every megabyte, in pages, each copied and then checked; what it throws
    ///     ends the work.
    /// - Throws: `.closed`; `.authenticationFailed` for a key that cannot be one;
    ///   `.backingStoreError` for a place that is taken or cannot be used (code 14), a file there
    ///   that is in use (5), a full disk (13), or a database that is damaged (11); what `progress`
    ///   throws.
    ///
    /// The corresponding C function is
    /// [`sqlite3_backup_init`](https://sqlite.org/c3ref/backup_finish.html).
    public func backup(
        to url: URL, key: DatabaseKey? = nil, replacing: Bool = false,
        progress: FileProgress.Handler = { _ in }
    ) throws {
        let connection = try workingConnection()
        try connection.callbacks.requireOutside("a copy cannot be made")
        guard let source else { throw SecureStorageError.closed }
        let copy = FileCopy(
            source: source, configuration: configuration, key: try key.map { try EncryptionKey($0) }
        )
        try copy.write(to: NewFile(at: url, replacing: replacing)) {
            try requireGoingOn()
            try progress($0)
        }
    }
}
