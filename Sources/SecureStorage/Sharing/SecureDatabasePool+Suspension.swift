internal import Foundation

extension SecureDatabasePool: SuspendableDatabase {
    /// Ends what runs and releases every lock on the file, until ``resume()``.
    ///
    /// As ``suspend(keepingReads:waiting:)`` without reads.
    ///
    /// - Parameter grace: How long running blocks may go on.
    /// - Returns: Whether no lock is held.
    @discardableResult
    public func suspend(waiting grace: Duration = .milliseconds(500)) -> Bool {
        (try? suspend(keepingReads: false, waiting: grace)) ?? false
    }

    /// Ends what runs and releases every lock on the file, until ``resume()``.
    ///
    /// Blocks that run may go on for `grace`. Then their statements are interrupted, their
    /// transactions are rolled back, and every call throws ``SecureStorageError/suspended``, those
    /// that were interrupted too: after ``resume()`` the same call can be made again. All
    /// connections are closed, since SQLite keeps locks as long as one is open; the key is kept, in
    /// memory that is not swapped out. Loops over `rows(of:)` end with
    /// ``SecureStorageError/suspended``, also when they go on after ``resume()``.
    ///
    /// With `keepingReads`, `read` goes on: from an encrypted copy of the file as it is now, which
    /// is made in the temporary directory, outside of a shared container, and removed by
    /// `resume()`. Making it takes the time of a backup.
    ///
    /// Thread-safe. A pool that is being suspended by another thread, opened or closed is waited
    /// for; a closed one stays closed. Posts `Notification.Name.secureDatabaseWillSuspend` first,
    /// unless the pool is suspended already.
    ///
    /// - Parameters:
    ///   - keepsReads: Whether reading goes on.
    ///   - grace: How long running blocks may go on.
    /// - Returns: Whether no lock is held. False when a block still runs two seconds after the
    ///   grace: it is one that runs no statement, and its connection is closed when it ends. Also
    ///   false inside a block of this pool, and when the suspension was ended before that.
    /// - Throws: What a backup throws, with `keepingReads`; the pool is not suspended then.
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

    /// Takes calls again; the next ones open the file.
    ///
    /// Thread-safe, and does not wait. Posts `Notification.Name.secureDatabaseDidResume` when the
    /// pool was suspended.
    public func resume() {
        guard isAtHome, connections.endSuspension() else { return }
        connections.writer.turn.enqueue { [connections] in
            // A pool that was closed in the meantime has nothing to tell.
            try? connections.withWriter { $0.tellOfResumption() }
        }
        NotificationCenter.default.post(name: .secureDatabaseDidResume, object: self)
    }
}
