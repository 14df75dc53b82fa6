extension SecureDatabaseStore {
    /// Ends the statements that are running, or wait for a lock.
    ///
    /// The one method that any thread may call, at any time, also while the store is being closed.
    /// A running statement, also one whose result set is between two rows, ends with
    /// `.backingStoreError` code 9 (SQLITE_INTERRUPT), and the store can be used as before. An
    /// INSERT, UPDATE or DELETE that is ended so takes its whole transaction back with it. Does
    /// nothing on a closed or idle store. A rollback, checkpoint or change of key runs to its end.
    ///
    /// The corresponding C function is
    /// [`sqlite3_interrupt`](https://sqlite.org/c3ref/interrupt.html).
    public func interrupt() {
        interruption.interrupt()
    }
}
