internal import CSQLCipher

extension Connection {
    /// Copies every page of the file, as it is now, into the file of `target`, which has the same cipher
    /// configuration.
    ///
    /// `VACUUM INTO` would do all in one. But SQLCipher (4.6.1) gives its copy the default page size, HMAC and
    /// header, and the page layout of the original: with any other configuration than the default nothing opens it.
    ///
    /// - Throws: `.backingStoreError`, code 11 for a page that is damaged.
    ///
    /// The corresponding C functions are [`sqlite3_backup_init`](https://sqlite.org/c3ref/backup_finish.html)
    /// and its neighbours.
    func copyPages(to target: Connection) throws {
        try uninterrupted {
            try execute("BEGIN DEFERRED")
            // Not ROLLBACK: result sets of the caller go on.
            defer { try? execute("COMMIT") }
            // BEGIN alone takes no lock, the first read does.
            try execute("SELECT 1 FROM sqlite_schema LIMIT 1")
            guard let backup = sqlite3_backup_init(target.handle, "main", handle, "main") else {
                try target.check(sqlite3_errcode(target.handle))
                return
            }
            let code = sqlite3_backup_step(backup, -1)
            // Within the read transaction: its end would clear the error state. A damaged page reads as zeros.
            let isSound = isPagerSound()
            let finished = sqlite3_backup_finish(backup)
            guard isSound else {
                throw SecureStorageError.statementFailed(
                    .corrupt, "a page of the file is damaged, and cannot be copied")
            }
            guard untouchable?.isCurrent() != false else {
                throw SecureStorageError.statementFailed(
                    .busy, "the file was changed while it was copied; try again")
            }
            guard code == SQLITE_DONE else {
                throw target.failure(code == SQLITE_OK ? finished : code)
            }
        }
    }

    /// Rewrites the file, and moves what that has put into the log when nobody is in the way.
    func vacuum() throws {
        try execute("VACUUM")
        // It is committed; that a reader keeps the log from being moved is no failure of it.
        _ = checkpoint(SQLITE_CHECKPOINT_TRUNCATE, of: "main", waiting: false)
    }

    /// Checks the HMAC of each page in the file.
    ///
    /// - Throws: `.backingStoreError` code 11 when one is wrong.
    func requireSoundPages() throws {
        guard let fault = try text("PRAGMA cipher_integrity_check") else { return }
        throw SecureStorageError.statementFailed(.corrupt, fault)
    }
}
