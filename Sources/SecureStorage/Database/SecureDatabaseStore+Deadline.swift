extension SecureDatabaseStore {
    /// Runs `body` and ends its statements when they take too long.
    ///
    /// ```swift
    /// let hits = try db.withDeadline(.seconds(2)) {
    ///     try db.int(forQuery: "SELECT count(*) FROM note WHERE text LIKE '%milk%'")
    /// }
    /// ```
    ///
    /// What is not a statement is not ended; the wait of a statement for a lock is. An INSERT,
    /// UPDATE or DELETE that is ended takes its whole transaction back with it. Deadlines nest; the
    /// nearest counts.
    ///
    /// - Parameters:
    ///   - duration: From now on. Zero or less lets no statement run.
    ///   - body: Uses this store.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; a statement that is ended throws `.backingStoreError` code 9
    ///   (SQLITE_INTERRUPT), and so does each that begins after the deadline. The message says that
    ///   the deadline has passed, and ``SecureStorageError/interruption`` is `.deadline`.
    ///
    /// The corresponding C function is
    /// [`sqlite3_progress_handler`](https://sqlite.org/c3ref/progress_handler.html).
    public func withDeadline<T>(_ duration: Duration, _ body: () throws -> T) rethrows -> T {
        let outer = bounds
        defer { bounds = outer }
        // More than thirty thousand years cannot be added.
        let deadline = ContinuousClock.now.advanced(by: min(duration, .seconds(1 << 40)))
        bounds.deadline = min(deadline, outer.deadline ?? deadline)
        return try body()
    }

    /// Lets a connection ask whether the call is over.
    func watch(_ connection: Connection) {
        let bounds = bounds
        if bounds.isUnbounded {
            if connection.watcher != nil { connection.watch(nil) }
        } else {
            connection.watch { [interruption] in
                guard let end = bounds.end else { return false }
                interruption.note(end)
                return true
            }
        }
    }
}
