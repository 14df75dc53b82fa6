extension SecureDatabaseStore {
    /// Moves the write-ahead log into the file.
    ///
    /// SQLite does so by itself, after a commit that leaves more than 1000 pages in the log, and
    /// when the last connection closes. By hand it is for a moment of rest, or before the file is
    /// copied.
    ///
    /// - Parameters:
    ///   - mode: How far to go. All but `.passive` wait for others as long as the busy timeout
    ///     says.
    ///   - database: The name of an attached database, `"main"`, or nil for all of them.
    /// - Returns: How many frames (pages) the log holds, and how many of them are in the file now:
    ///   both 0 after `.truncate` and outside WAL mode. With nil the main database's.
    /// - Throws: `.closed`; `.backingStoreError` with code 5 when another connection stands in the
    ///   way (nothing is lost, try again), code 6 in a transaction or beside a result set of this
    ///   store that is open, code 8 for a read-only store, code 1 for an unknown database.
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
