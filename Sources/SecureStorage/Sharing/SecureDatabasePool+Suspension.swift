internal import Foundation

extension SecureDatabasePool: SuspendableDatabase {
    /// Ends running calls and releases every lock on the file, until ``resume()``.
    ///
    /// Equivalent to ``suspend(keepingReads:waiting:)`` without reads.
    ///
    /// - Parameter grace: How long running blocks may continue.
    /// - Returns: Whether no lock is held.
    @discardableResult
    public func suspend(waiting grace: Duration = .milliseconds(500)) -> Bool {
        (try? suspend(keepingReads: false, waiting: grace)) ?? false
    }

    /// Ends running calls and releases every lock on the file, until ``resume()``.
    ///
    /// Running blocks may continue for `grace`. Then their statements are interrupted, their
    /// transactions are rolled back, and every call throws ``SecureStorageError/suspended``,
    /// including the interrupted ones: after ``resume()`` the same call can be made again. All
    /// connections are closed, since SQLite keeps locks as long as one is open; the key is kept, in
    /// memory that is not swapped out. Loops over `rows(of:)` end with
    /// ``SecureStorageError/suspended``, even if they continue after ``resume()``.
    ///
    /// With `keepingReads`, `read` continues on an encrypted copy of the file as it is now. The
    /// copy is made in the temporary directory, outside any shared container, and removed by
    /// `resume()`. Making it takes the time of a backup.
    ///
    /// Thread-safe. Waits if another thread is suspending, opening or closing the pool; a closed
    /// pool stays closed. Posts `Notification.Name.secureDatabaseWillSuspend` first, unless the
    /// pool is suspended already.
    ///
    /// - Parameters:
    ///   - keepsReads: Whether reads continue.
    ///   - grace: How long running blocks may continue.
    /// - Returns: Whether no lock is held. False if a block still runs two seconds after the grace
    ///   period: such a block runs no statement, and its connection is closed when it ends. Also
    ///   false inside a block of this pool, if the suspension was ended before that, and in a child
    ///   made with `fork()`.
    /// - Throws: The errors of a backup, with `keepingReads`; the pool is not suspended then.
    @discardableResult
    public func suspend(
        keepingReads keepsReads: Bool, waiting grace: Duration = .milliseconds(500)
    ) throws -> Bool {
        guard isAtHome, PoolBlock.current(of: self) == nil else { return false }
        return try connections.suspend(
            keepingReads: keepsReads, grace: grace, configuration
        ) {
            NotificationCenter.default.post(name: .secureDatabaseWillSuspend, object: self)
        }
    }

    /// Accepts calls again; the next ones open the file.
    ///
    /// Thread-safe; does not wait. Posts `Notification.Name.secureDatabaseDidResume` if the pool
    /// was suspended.
    public func resume() {
        guard isAtHome, connections.endSuspension() else { return }
        connections.writer.turn.enqueue { [connections] in
            // A pool that was closed in the meantime has nothing to report.
            try? connections.withWriter { $0.notifyOfResumption() }
        }
        NotificationCenter.default.post(name: .secureDatabaseDidResume, object: self)
    }
}
