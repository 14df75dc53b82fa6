internal import CSQLCipher

extension Connection {
    /// Rewrites the file, and moves the resulting log into it if no other connection is in the way.
    func vacuum() throws {
        try execute("VACUUM")
        // The vacuum is committed; a reader that keeps the log from being moved does not fail it.
        _ = checkpoint(SQLITE_CHECKPOINT_TRUNCATE, of: "main", waiting: false)
    }
}
