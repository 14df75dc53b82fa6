internal import Foundation

extension SecureDatabaseQueue: SuspendableDatabase {
    /// Ends running calls and releases every lock on the file, until ``resume()``.
    ///
    /// Running blocks, and those already waiting, may continue for `grace`. Then their statements
    /// are interrupted, their transactions are rolled back, and every call throws
    /// ``SecureStorageError/suspended``, including the interrupted ones: after ``resume()`` the
    /// same call can be made again. The connection is closed, since SQLite keeps locks as long as
    /// one is open; the key is kept, in memory that is not swapped out. Everything that belongs to
    /// a connection, such as a temporary table, ends with it. Loops over `rows(of:)` end with
    /// ``SecureStorageError/suspended``, even if they continue after ``resume()``.
    ///
    /// Copies and checks that run beside the calls (`backup`, `verifyIntegrity`) end with
    /// ``SecureStorageError/suspended``.
    ///
    /// Thread-safe; waits if another thread is suspending the queue. Posts
    /// `Notification.Name.secureDatabaseWillSuspend` first, unless the queue is suspended already.
    ///
    /// - Parameter grace: How long running blocks may continue.
    /// - Returns: Whether no lock is held. False if a block still runs two seconds after the grace
    ///   period: such a block runs no statement, and the file is closed when it ends. Also false
    ///   inside a block of this queue, if the suspension was ended before that, and in a child made
    ///   with `fork()`.
    @discardableResult
    public func suspend(waiting grace: Duration = .milliseconds(500)) -> Bool {
        guard !isInTurn, (try? store.turn.requireHome()) != nil else { return false }
        let suspension = suspension
        if suspension.change({ !$0.isWanted }) {
            NotificationCenter.default.post(name: .secureDatabaseWillSuspend, object: self)
        }
        let number = suspension.change { $0.announce() }
        let isFree = DispatchSemaphore(value: 0)
        let readers = SeparateReaders(databaseStore)
        enqueue { store in
            if suspension.change({ $0.beginLeaving(number) }) {
                store.rest()
                suspension.change { $0.endLeaving() }
            }
            readers.signalWhenGone(isFree)
        }
        let isOver = SuspensionWait(grace: grace).wait(for: isFree) { [interruption] in
            suspension.change { state in
                state.force(number)
                guard state.isWanted, state.number == number else { return }
                // Under the lock: a moment later the suspension may be over, and the statement
                // another call's.
                interruption.interrupt(.suspension)
                readers.interrupt()
            }
        }
        return suspension.change { isOver && $0.stage == .left && $0.number == number }
    }

    /// Accepts calls again; the next one opens the file.
    ///
    /// Thread-safe; does not wait. Posts `Notification.Name.secureDatabaseDidResume` if the queue
    /// was suspended.
    public func resume() {
        guard suspension.change({ $0.end() }) else { return }
        enqueue { $0.notifyOfResumption() }
        NotificationCenter.default.post(name: .secureDatabaseDidResume, object: self)
    }
}

/// The connections that read a store's file beside the store, which a suspension ends.
private struct SeparateReaders: Sendable {
    private let rows: RowRegister
    private let readings: RowRegister

    init(_ store: SecureDatabaseStore) {
        (rows, readings) = (store.sharing.rows, store.sharing.readings)
    }

    func interrupt() {
        rows.interruptAll(.suspension)
        readings.interruptAll(.suspension)
    }

    /// Ends the copies and checks, and signals `gone` when none of the connections is open.
    func signalWhenGone(_ gone: DispatchSemaphore) {
        readings.endAll(with: .suspended)
        rows.whenEmpty { [readings] in readings.whenEmpty { gone.signal() } }
    }
}
