internal import Foundation

extension SecureDatabaseQueue: SuspendableDatabase {
    /// Ends what runs and releases every lock on the file, until ``resume()``.
    ///
    /// Blocks that run, and those that wait already, may go on for `grace`. Then their statements are interrupted,
    /// their transactions are rolled back, and every call throws ``SecureStorageError/suspended``. The connection is
    /// closed, since SQLite keeps locks as long as one is open; the key is kept, in memory that is not swapped out.
    /// What belongs to a connection, such as a temporary table, ends with it. Loops over
    /// `rows(of:)` end with ``SecureStorageError/closed``.
    ///
    /// Thread-safe; does nothing when the queue is suspended already. Posts
    /// `Notification.Name.secureDatabaseWillSuspend` first.
    ///
    /// - Parameter grace: How long running blocks may go on.
    /// - Returns: Whether no lock is held. False when a block still runs two seconds after the grace: it is one that
    ///   runs no statement, and the file is closed when it ends. Also false inside a block of this
    ///   queue, and in a child made with `fork()`.
    @discardableResult
    public func suspend(waiting grace: Duration = .milliseconds(500)) -> Bool {
        guard !isInTurn, (try? store.turn.requireHome()) != nil else { return false }
        NotificationCenter.default.post(name: .secureDatabaseWillSuspend, object: self)
        let done = DispatchSemaphore(value: 0)
        let suspension = suspension
        let wish = suspension.wish()
        enqueue { store in
            if suspension.begin(wish) { store.rest() }
            done.signal()
        }
        return SuspensionWait(grace: grace).wait(for: done) { [interruption] in
            if suspension.begin(wish) { interruption.interrupt() }
        }
    }

    /// Takes calls again; the next one opens the file.
    ///
    /// Thread-safe. Posts `Notification.Name.secureDatabaseDidResume`.
    public func resume() {
        guard suspension.end() else { return }
        enqueue { $0.tellOfResumption() }
        NotificationCenter.default.post(name: .secureDatabaseDidResume, object: self)
    }
}
