internal import CSQLCipher

extension Connection {
    /// Rewrites the file, and moves what that has put into the log when nobody is in the way.
    func vacuum() throws {
        try execute("VACUUM")
        // It is committed; that a reader keeps the log from being moved is no failure of it.
        _ = checkpoint(SQLITE_CHECKPOINT_TRUNCATE, of: "main", waiting: false)
    }
}
