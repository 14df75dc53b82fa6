public import Foundation

extension SecureDatabaseStore {
    /// Rewrites the file without the space left by deleted rows.
    ///
    /// Needs as much free disk space as the file, and as much memory, since no temporary file is
    /// created. Row ids of tables without an `INTEGER PRIMARY KEY` may change. In WAL mode, the
    /// file shrinks at the final checkpoint. That checkpoint does not wait for readers; if one is
    /// active, the next checkpoint shrinks the file.
    ///
    /// - Throws: `.closed`; `.backingStoreError`, code `.error` in a transaction and while a result
    ///   set is open, code `.busy` when another connection holds a lock, code `.readOnly` for a
    ///   read-only store, code `.full` for a full disk. The file is then unchanged.
    ///
    /// The corresponding statement is [`VACUUM`](https://sqlite.org/lang_vacuum.html).
    public func vacuum() throws {
        try workingConnection().vacuum()
    }

    /// Writes a compact copy of the database to another location, under the same key and cipher
    /// configuration.
    ///
    /// The copy holds what is committed when the call begins, including header and schema; other
    /// connections may read and write during the call. It is written next to its final path under
    /// another name, checked page by page and then renamed: neither an error nor a kill leaves a
    /// partial file under the final name. Its mode is 0600. It opens with the same passphrase or
    /// raw key, and with the configuration's salt, if set.
    ///
    /// Needs memory for the whole content, as ``vacuum()`` does. SQLite's own `VACUUM INTO` is
    /// refused: with a cipher configuration other than the default, it writes a file that cannot be
    /// opened (SQLCipher 4.6.1).
    ///
    /// - Parameters:
    ///   - url: A file URL. If only its directory is missing, it is created (mode 0700).
    ///   - replacing: Whether to replace an existing database, closed and without sidecar files, in
    ///     one step.
    /// - Throws: `.closed`; `.backingStoreError`: code `.cannotOpen` when something exists there,
    ///   or when the target to replace is not a regular file with a single link or has sidecar
    ///   files; code `.busy` when the target is open elsewhere, or another process is creating it;
    ///   code `.corrupt` for a damaged page; code `.full` for a full disk; code `.misuse` in a
    ///   transaction. Whatever existed there is then unchanged.
    ///
    /// The corresponding C function is
    /// [`sqlite3_backup_step`](https://sqlite.org/c3ref/backup_finish.html), and the statement
    /// [`VACUUM`](https://sqlite.org/lang_vacuum.html), on the copy.
    public func vacuum(into url: URL, replacing: Bool = false) throws {
        let connection = try workingConnection()
        try connection.callbacks.requireOutside("a copy cannot be made")
        guard !connection.isInTransaction else {
            throw SecureStorageError.statementFailed(
                .misuse, "a copy cannot be made in a transaction; commit it or roll it back first")
        }
        guard let source else { throw SecureStorageError.closed }
        var copy = FileCopy(source: source, configuration: configuration, key: nil)
        copy.isCompact = true
        try copy.write(to: NewFile(at: url, replacing: replacing)) { _ in try requireGoingOn() }
    }
}
