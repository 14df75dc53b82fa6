extension SecureDatabaseStore {
    /// Runs `body` and interrupts its statements when they exceed a time limit.
    ///
    /// ```swift
    /// let hits = try db.withDeadline(.seconds(2)) {
    ///     try db.int(forQuery: "SELECT count(*) FROM note WHERE text LIKE '%milk%'")
    /// }
    /// ```
    ///
    /// Only statements are interrupted, including those waiting for a lock. Interrupting an INSERT,
    /// UPDATE or DELETE rolls back its whole transaction. Deadlines nest; the earliest one applies.
    ///
    /// - Parameters:
    ///   - duration: The time limit, starting now. With zero or less, no statement runs.
    ///   - body: Uses this store.
    /// - Returns: The result of `body`.
    /// - Throws: Any error thrown by `body`. An interrupted statement throws `.backingStoreError`
    ///   code `.interrupted`, as does every statement that begins after the deadline. The
    ///   message says that the deadline has passed, and ``SecureStorageError/interruption`` is
    ///   `.deadline`.
    ///
    /// The corresponding C function is
    /// [`sqlite3_progress_handler`](https://sqlite.org/c3ref/progress_handler.html).
    public func withDeadline<T>(_ duration: Duration, _ body: () throws -> T) rethrows -> T {
        let outer = bounds
        defer { bounds = outer }
        // Capped at about 35,000 years: adding a larger duration overflows.
        let deadline = ContinuousClock.now.advanced(by: min(duration, .seconds(1 << 40)))
        bounds.deadline = min(deadline, outer.deadline ?? deadline)
        return try body()
    }

    /// Makes a connection check whether the call has ended.
    func watch(_ connection: Connection) {
        let bounds = bounds
        if bounds.isUnbounded {
            if connection.waits.watcher != nil { connection.watch(nil) }
        } else {
            connection.watch { [interruption] in
                guard let end = bounds.end else { return false }
                interruption.note(end)
                return true
            }
        }
    }
}
