internal import CSQLCipher

extension Connection {
    /// Copies all pages of `source` into this connection's new file, under this connection's key.
    ///
    /// The cipher settings are the same on both sides; otherwise the page sizes would differ.
    ///
    /// In WAL mode a reader blocks no one, so the source is read in one snapshot. In other modes
    /// writers would have to wait for the whole copy, so they may write between two steps, which
    /// restarts the copy. After three restarts, the copy uses one snapshot there too.
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
                // The connection that met the error holds its reason.
                let reason = sqlite3_errcode(sourceHandle) & 0xff == code & 0xff ? source : self
                throw reason.failure(code)
            }
            // SQLCipher returns a damaged page as zeros; see `Connection+DamagedPages`.
            guard source.probePagers() else { throw source.damagedPage(in: nil) }
            if left > remaining { restarts += 1 }
            remaining = left
            if restarts == 3 { staysInSnapshot = true }
            if !staysInSnapshot { try source.endSnapshot() }
            try progress(FileProgress(Int(total - left), of: Int(total)))
        } while code != SQLITE_DONE
        isFinished = true
        try check(sqlite3_backup_finish(backup))
    }

    /// Begins a read transaction, unless one is open.
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
