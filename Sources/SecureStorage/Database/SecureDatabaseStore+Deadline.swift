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

/// The conditions that end a call's statements early.
struct CallBounds {
    /// The asynchronous call, if any.
    var call: (any CancellableCall)?
    var deadline: ContinuousClock.Instant?

    var isUnbounded: Bool { call == nil && deadline == nil }

    /// The reason the call has ended; nil while its statements may run.
    var end: SecureDatabaseInterruption? {
        if call?.wasCancelled == true { return .cancellation }
        return deadline.map { $0 <= .now } == true ? .deadline : nil
    }

    /// - Throws: `CancellationError`, or `.backingStoreError` code `.interrupted` after the
    ///   deadline.
    func check() throws {
        guard let end else { return }
        throw end == .cancellation ? CancellationError() : SecureStorageError.ended(by: end)
    }
}

/// The part of an asynchronous call that the store working for it can see.
protocol CancellableCall: AnyObject {
    var wasCancelled: Bool { get }
}
