extension SecureDatabaseStore {
    /// Copies the write-ahead log into the database file.
    ///
    /// SQLite does this automatically, after a commit that leaves more than 1000 pages in the log,
    /// and when the last connection closes. Call it explicitly when the app is idle, or before
    /// copying the file.
    ///
    /// - Parameters:
    ///   - mode: How far to go. All modes but `.passive` wait for other connections up to the busy
    ///     timeout.
    ///   - database: The name of an attached database, `"main"`, or nil for all of them.
    /// - Returns: The number of frames (pages) in the log, and how many of them are now in the
    ///   file; both are 0 after `.truncate` and outside WAL mode. With nil, those of the main
    ///   database.
    /// - Throws: `.closed`; `.backingStoreError` with code `.busy` when another connection prevents
    ///   it (nothing is lost; try again), code `.locked` in a transaction or while a result set of
    ///   this store is open, code `.readOnly` for a read-only store, code `.error` for an unknown
    ///   database.
    ///
    /// The corresponding C function is
    /// [`sqlite3_wal_checkpoint_v2`](https://sqlite.org/c3ref/wal_checkpoint_v2.html).
    @discardableResult
    public func checkpoint(
        _ mode: CheckpointMode = .passive, database: String? = nil
    ) throws -> (logFrames: Int, checkpointedFrames: Int) {
        try openConnection().checkpoint(mode, of: database)
    }
}
