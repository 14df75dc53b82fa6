internal import CSQLCipher

extension Connection {
    /// Copies all pages of `source` into this connection's new file, under this connection's key.
    ///
    /// The cipher's settings are the same on both sides, or the sizes of the pages would differ.
    ///
    /// In WAL mode a reader disturbs nobody, so the source is read in one snapshot. Otherwise
    /// writers would have to wait for all of the copy; so they may come between two steps, which
    /// begins it anew, until that has happened three times.
    func copyPages(from source: Connection, _ progress: FileProgress.Handler) throws {
        let (handle, sourceHandle) = (try requireHandle(), try source.requireHandle())
        guard let backup = sqlite3_backup_init(handle, "main", sourceHandle, "main") else {
            throw failure(sqlite3_errcode(handle))
        }
        var isFinished = false
        defer { if !isFinished { sqlite3_backup_finish(backup) } }
        let pagesPerStep = Int32(max((1 << 20) / configuration.cipher.pageSize, 1))
        var staysInSnapshot = try source.text("PRAGMA journal_mode")?.lowercased() == "wal"
        var remaining = Int32.max
        var restarts = 0
        var code = SQLITE_OK
        defer { try? source.endSnapshot() }
        repeat {
            try source.beginSnapshot()
            code = sqlite3_backup_step(backup, pagesPerStep)
            let total = sqlite3_backup_pagecount(backup)
            let left = sqlite3_backup_remaining(backup)
            guard code == SQLITE_OK || code == SQLITE_DONE else {
                // Its reason is with the connection that met it.
                let reason = sqlite3_errcode(sourceHandle) & 0xff == code & 0xff ? source : self
                throw reason.failure(code)
            }
            // A damaged page was lent as zeros; see `Connection+DamagedPages`.
            guard source.isPagerSound() else {
                throw source.foreignRekey(.corrupt, "")
                    ?? SecureStorageError.statementFailed(
                        .corrupt, "the database is damaged: a page is not as it was written")
            }
            if left > remaining { restarts += 1 }
            remaining = left
            if restarts == 3 { staysInSnapshot = true }
            if !staysInSnapshot { try source.endSnapshot() }
            try progress(FileProgress(Int(total - left), of: Int(total)))
        } while code != SQLITE_DONE
        isFinished = true
        try check(sqlite3_backup_finish(backup))
    }

    /// Begins a read transaction, unless there is one.
    func beginSnapshot() throws {
        guard !isInTransaction else { return }
        try execute("BEGIN")
        do {
            try text("SELECT 1 FROM sqlite_schema LIMIT 1")
        } catch {
            try? endSnapshot()
            throw error
        }
    }

    func endSnapshot() throws {
        guard isInTransaction else { return }
        try uninterrupted { try execute("ROLLBACK") }
    }
}
