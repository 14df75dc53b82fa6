extension SecureDatabasePool {
    /// Copies the log into the file, which then has everything by itself, and leaves the log, so
    /// that a mirror can continue in it.
    ///
    /// Does nothing while another process has the file open: its next commit would restart the log,
    /// in which no mirror could continue, and the last one to close the file copies it anyway.
    ///
    /// - Throws: The errors of `writeWithoutTransaction` and of a checkpoint.
    package func copyLogIfAlone() throws {
        try writeWithoutTransaction { db in
            guard try !RawFile(db.openConnection().path).isOpenElsewhere else { return }
            try db.checkpoint(.passive)
        }
    }
}
