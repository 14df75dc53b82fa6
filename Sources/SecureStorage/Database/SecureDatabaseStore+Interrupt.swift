extension SecureDatabaseStore {
    /// Interrupts the statements that are running or waiting for a lock.
    ///
    /// This is the only method that any thread may call, at any time, even while the store is being
    /// closed. A running statement, including one whose result set is between two rows, ends with
    /// `.backingStoreError` code `.interrupted`; the store remains usable. Interrupting an
    /// INSERT, UPDATE or DELETE rolls back its whole transaction. Has no effect on a closed or idle
    /// store. A rollback, checkpoint or key change runs to completion.
    ///
    /// The corresponding C function is
    /// [`sqlite3_interrupt`](https://sqlite.org/c3ref/interrupt.html).
    public func interrupt() {
        interruption.interrupt()
    }
}
