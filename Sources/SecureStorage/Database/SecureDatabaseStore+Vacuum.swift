public import Foundation

extension SecureDatabaseStore {
    /// Writes the file anew, without the room that deleted rows have left.
    ///
    /// Takes as much free disk space as the file, and as much memory, since no temporary file is
    /// made. Row ids of tables without an `INTEGER PRIMARY KEY` may change. In WAL mode the file
    /// itself gets smaller with the checkpoint at the end, for which no reader is waited for: then
    /// it is the next one that does it.
    ///
    /// - Throws: `.closed`; `.backingStoreError`, code 1 in a transaction and beside a result set
    ///   that is open, code 5 when another connection holds a lock, code 8 for a read-only store,
    ///   code 13 for a full disk. The file is as it was then.
    ///
    /// The corresponding statement is [`VACUUM`](https://sqlite.org/lang_vacuum.html).
    public func vacuum() throws {
        try workingConnection().vacuum()
    }

    /// Writes a compact copy of the database to another place, under the same key and cipher
    /// configuration.
    ///
    /// The copy holds what is committed when the call begins, header and schema included; other
    /// connections may read and write meanwhile. It is written beside its place under another name,
    /// checked page by page and then renamed: neither an error nor a kill leaves half a file under
    /// the name. Its mode is 0600. It opens with the same passphrase or raw key, and with the salt
    /// of the configuration where there is one.
    ///
    /// Takes memory for the whole content, as ``vacuum()`` does. SQLite's own `VACUUM INTO` is
    /// refused: it makes a file that nothing opens when the cipher configuration is not the default
    /// one (SQLCipher 4.6.1).
    ///
    /// - Parameters:
    ///   - url: A file URL. The directory is made (mode 0700) when only that is missing.
    ///   - replacing: Whether a database that stands there, closed and without side files, is
    ///     replaced in one step.
    /// - Throws: `.closed`; `.backingStoreError`: code 14 when something stands there, or what
    ///   would have to be replaced is no file of its own or has side files; code 5 when that is
    ///   open somewhere, or another process is making it; code 11 for a damaged page; code 13 for a
    ///   full disk; code 21 in a transaction. What stood there is as it was then.
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
