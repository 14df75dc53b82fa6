public import Foundation

extension SecureDatabaseStore {
    /// Writes the file anew, without the room that deleted rows have left.
    ///
    /// Takes as much free disk space as the file, and as much memory, since no temporary file is made.
    /// Row ids of tables without an `INTEGER PRIMARY KEY` may change. In WAL mode the file itself gets smaller
    /// with the checkpoint at the end, for which no reader is waited for: then it is the next one that does it.
    ///
    /// - Throws: `.closed`; `.backingStoreError`, code 1 in a transaction and beside a result set that is open,
    ///   code 5 when another connection holds a lock, code 8 for a read-only store, code 13 for a full
    ///   disk. The file is as it was then.
    ///
    /// The corresponding statement is [`VACUUM`](https://sqlite.org/lang_vacuum.html).
    public func vacuum() throws {
        try workingConnection().vacuum()
    }

    /// Writes a compact copy of the database to another place, under the same key and cipher configuration.
    ///
    /// The copy holds what is committed when the call begins, header and schema included; other connections
    /// may read and write meanwhile. It is written beside its place under another name, checked page by page and then
    /// renamed: neither an error nor a kill leaves half a file under the name. Its mode is 0600. It opens with
    /// the same passphrase or raw key, and with the salt of the configuration where there is one.
    ///
    /// Takes memory for the whole content, as ``vacuum()`` does, and is not ended by an interruption or a deadline.
    /// SQLite's own `VACUUM INTO` makes a file that nothing opens when the cipher configuration is not the
    /// default one (SQLCipher 4.6.1).
    ///
    /// - Parameters:
    ///   - url: A file URL. The directory is made (mode 0700) when only that is missing.
    ///   - replacing: Whether a database that stands there, closed and without side files, is replaced in one step.
    /// - Throws: `.closed`; `.backingStoreError`: code 14 when something stands there, or what would have to be
    ///   replaced is no file of its own or has side files; code 5 when that is open somewhere, or
    ///   another process is making it; code 11 for a damaged page; code 13 for a full disk; code 21
    ///   in a transaction. What stood there is as it was then.
    ///
    /// The corresponding C function is [`sqlite3_backup_step`](https://sqlite.org/c3ref/backup_finish.html), and
    /// the statement [`VACUUM`](https://sqlite.org/lang_vacuum.html), on the copy.
    public func vacuum(into url: URL, replacing: Bool = false) throws {
        let connection = try workingConnection()
        try connection.callbacks.requireOutside("a copy cannot be made")
        guard !connection.isInTransaction else {
            throw SecureStorageError.statementFailed(
                .misuse, "a copy cannot be made in a transaction; commit it or roll it back first")
        }
        let target = try Self.newFile(at: url)
        try target.requireWritableDirectory()
        try target.withCreationLock(timeout: configuration.busyTimeout) {
            guard target.status() != nil else {
                try connection.makeCopy(of: target) { try target.publish($0) }
                return
            }
            guard replacing else { throw target.failure("it exists already") }
            _ = try target.state()
            try target.withoutOthers {
                if let suffix = target.sideFiles.first {
                    throw target.failure(
                        "it has a side file \(suffix), so it was not closed; open and close it first"
                    )
                }
                try connection.makeCopy(of: target) { try target.publishReplacing($0) }
            }
        }
    }
}

extension Connection {
    /// Makes a compact copy in a draft of `target`, and hands it over when it is complete.
    fileprivate func makeCopy(of target: DatabaseFile, _ publish: (DatabaseFile) throws -> Void)
        throws
    {
        guard let key else { throw SecureStorageError.closed }
        let draft = try target.makeDraft()
        do {
            var settings = configuration
            settings.isReadOnly = false
            settings.foreignKeysEnabled = false
            // One file at the end, and no log meanwhile.
            settings.journalMode = .delete
            let copy = try Connection.open(draft.path, key: .derived(key), configuration: settings)
            defer { copy.close() }
            // Not VACUUM INTO: SQLCipher (4.6.1) gives its copy the default page size, HMAC and header, and
            // the layout of the original's pages. With any other configuration nothing opens it.
            try copy.copyPages(from: self) { _ in }
            guard untouchable?.isCurrent() != false else {
                throw SecureStorageError.statementFailed(
                    .busy, "the file was changed while it was copied; try again")
            }
            try copy.execute("VACUUM")
            try copy.requireSoundPages()
            copy.close()
            guard draft.isComplete() else {
                throw target.failure("the copy is not complete; is the disk full?")
            }
            try publish(draft)
        } catch {
            draft.removeDraft()
            throw error
        }
    }
}
