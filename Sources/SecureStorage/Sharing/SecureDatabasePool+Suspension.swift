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
    /// Blocks that run may go on for `grace`. Then their statements are interrupted, their transactions are rolled
    /// back, and every call throws ``SecureStorageError/suspended``. All connections are closed, since SQLite keeps
    /// locks as long as one is open; the key is kept, in memory that is not swapped out. Loops over `rows(of:)`
    /// end with ``SecureStorageError/closed``.
    ///
    /// With `keepingReads`, `read` goes on: from an encrypted copy of the file as it is now, which is made in the
    /// temporary directory, outside of a shared container, and removed by `resume()`. Making it takes the time of a
    /// backup.
    ///
    /// Thread-safe; does nothing when the pool is suspended already, or closed. Posts
    /// `Notification.Name.secureDatabaseWillSuspend` first.
    ///
    /// - Parameters:
    ///   - keepingReads: Whether reading goes on.
    ///   - grace: How long running blocks may go on.
    /// - Returns: Whether no lock is held. False when a block still runs two seconds after the grace: it is one that
    ///   runs no statement, and its connection is closed when it ends. Also false inside a block of this pool.
    /// - Throws: What a backup throws, with `keepingReads`; the pool is not suspended then.
    @discardableResult
    public func suspend(
        keepingReads: Bool, waiting grace: Duration = .milliseconds(500)
    ) throws -> Bool {
        guard PoolBlock.current(of: self) == nil else { return false }
        guard connections.isOpen, !suspension.isOn else { return true }
        let copy = keepingReads ? try connections.copyForReading(configuration) : nil
        NotificationCenter.default.post(name: .secureDatabaseWillSuspend, object: self)
        let wish = suspension.wish()
        connections.bar()
        let done = DispatchSemaphore(value: 0)
        connections.writer.turn.enqueue { [connections, suspension] in
            connections.waitForReaders { suspension.isOutdated(wish) }
            if suspension.begin(wish) {
                connections.leaveFile(readingFrom: copy)
            }
            done.signal()
        }
        return SuspensionWait(grace: grace).wait(for: done) {
            guard suspension.begin(wish) else { return }
            if copy == nil { connections.refuseReaders() }
            interrupt()
        }
    }

    /// Takes calls again; the next ones open the file.
    ///
    /// Thread-safe. Posts `Notification.Name.secureDatabaseDidResume`.
    public func resume() {
        let wasSuspended = suspension.end()
        connections.returnToFile()
        guard wasSuspended else { return }
        connections.writer.turn.enqueue { [connections] in connections.writer.tellOfResumption() }
        NotificationCenter.default.post(name: .secureDatabaseDidResume, object: self)
    }

    var suspension: Suspension { connections.suspension }
}
