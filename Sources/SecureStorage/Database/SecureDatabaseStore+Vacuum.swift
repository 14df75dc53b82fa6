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
}
