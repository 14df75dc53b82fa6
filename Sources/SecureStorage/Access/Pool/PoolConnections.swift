internal import Foundation
internal import SecureStoragePlatform

/// The connections of a pool, used as its state allows.
///
/// A reader has a slot while its block runs, and with it a connection or the right to create one.
/// Slots are handed over in order of arrival. Writers take separate turns, so that neither side
/// waits for the other; only a key change keeps the readers out for a while.
final class PoolConnections: @unchecked Sendable {
    // @unchecked: everything below `condition` is accessed only under it, and a connection only by
    // the thread that has it according to `state`: a reader with its slot, the writer once it was
    // taken.
    let writer: SecureDatabaseStore

    /// The iterations, each of which has its own reader.
    let rows = RowRegister()

    /// Signalled when the state has changed and a thread waits for that.
    let condition = NSCondition()
    /// Changed only by `change(_:)` and by code that settles it itself.
    var state: PoolState
    /// The number of threads that wait for the condition.
    private var sleeperCount = 0
    var waiting = FirstInFirstOut<WaitingReader>()
    var suspending: [WaitingSuspension] = []
    var idle: [SecureDatabaseStore] = []
    /// How to open readers of the file: with the writer's derived key.
    private(set) var source: Reopening?

    /// The key of the open file; two if nobody knows which of them a failed change has left.
    var currentKeys: [DerivedKey] { condition.withLock { source?.keys ?? [] } }
    /// The copy that a suspended pool reads; removed with its last reader.
    var copy: Reopening?
    /// Those of all open readers.
    var interruptions: [(interruption: Interruption, place: PoolState.Place)] = []

    /// The page counts of open readers, by the store, as they were when it was last idle.
    var readerCounts: [ObjectIdentifier: PageCounts] = [:]
    /// The page counts of readers that are closed.
    var closedReaderCounts = PageCounts()

    /// A slot, its connection, and how to create the connection if there is none.
    struct Slot {
        let place: PoolState.Place
        let reader: SecureDatabaseStore?
        let source: Reopening
        /// How long the caller has waited for it, in nanoseconds.
        var waitTime: Int64 = 0
    }

    init(writer: SecureDatabaseStore, readerLimit: Int) {
        self.writer = writer
        state = PoolState(readerLimit: readerLimit)
    }

    var isOpen: Bool { condition.withLock { state.phase == .open } }

    // MARK: - The state

    /// Changes the state, and wakes every thread that can continue.
    func change<R>(_ body: (inout PoolState) throws -> R) rethrows -> R {
        condition.lock()
        defer { condition.unlock() }
        let result = try body(&state)
        settle()
        return result
    }

    /// Changes the state, and performs the last user's duty, if there is one.
    func changeAsLast(_ body: (inout PoolState) -> Void) {
        let duty = change { state in
            body(&state)
            return state.takeDuty()
        }
        if let duty { perform(duty) }
    }

    /// Performs a duty of the calling thread, which holds the writer for it.
    func perform(_ duty: PoolState.Duty) {
        switch duty {
        case .leave:
            leaveFile()
            changeAsLast { $0.endLeaving() }
        case .close:
            closeAll()
            changeAsLast { $0.endClosing() }
        }
    }

    /// Waits until `body` has a result; called under the condition.
    func wait<R>(for body: (inout PoolState) -> R?) -> R {
        sleeperCount += 1
        defer { sleeperCount -= 1 }
        while true {
            if let result = body(&state) {
                settle()
                return result
            }
            condition.wait()
        }
    }

    /// Waits until `body` has a result; takes the condition.
    func waitUnlocked<R>(for body: (inout PoolState) -> R?) -> R {
        condition.withLock { wait(for: body) }
    }

    /// Answers waiting calls; called after each change, under the condition.
    func settle() {
        writer.sharing.suspensionFlag.set(state.suspension.refusesStatements)
        answerWaiting()
        if !suspending.isEmpty { answerSuspending() }
        if sleeperCount > 0 { condition.broadcast() }
    }

    private func answerWaiting() {
        while true {
            let admission = state.admission
            guard admission != .waits, let waiter = waiting.popFirst() else { return }
            waiter.answer = Result { () throws(SecureStorageError) in
                var slot = try takeSlot(admission)
                slot.waitTime = MonotonicTime.now - waiter.arrival
                return slot
            }
            waiter.wake(waiter)
        }
    }

    private func answerSuspending() {
        suspending.removeAll { waiter in
            waiter.outcome = state.outcome(ofSuspension: waiter.number)
            guard waiter.outcome != nil else { return false }
            waiter.end.signal()
            return true
        }
    }

    // MARK: - Opening and closing

    /// Runs `body`, which opens the writer, unless the pool is open; waits for other threads that
    /// do so.
    func open(_ body: () throws -> Void) throws {
        let admission = waitUnlocked { state in
            let admission = state.beginOpening()
            return admission == .waits ? nil : admission
        }
        guard case .admitted = admission else { return }
        do {
            try body()
            guard let source = writer.source else { throw SecureStorageError.closed }
            condition.withLock { self.source = source }
            changeAsLast { $0.endOpening(isOpen: true) }
        } catch {
            changeAsLast { $0.endOpening(isOpen: false) }
            throw error
        }
    }

    /// Admits no new calls, refuses waiting ones, and closes everything when the last block has
    /// ended.
    ///
    /// - Parameter isWaiting: Whether to wait for that.
    func close(waiting isWaiting: Bool) {
        let begins = waitUnlocked { state in
            state.phase == .opening ? nil : state.beginClosing()
        }
        if begins {
            rows.endAll(with: .closed)
            changeAsLast { _ in }
        }
        guard isWaiting else { return }
        waitUnlocked { state in
            [.closing, .draining].contains(state.phase) ? nil : ()
        }
    }

    /// Closes the connections of a pool that is no longer in use.
    private func closeAll() {
        let (readers, copy) = condition.withLock {
            defer { (source, self.copy) = (nil, nil) }
            return (takeIdle(), self.copy)
        }
        withExtendedLifetime(copy) {
            for reader in readers { reader.close() }
        }
        // The last one, so that it moves the log into the file and removes it.
        reopenWriterForLog()
        writer.close()
    }

    /// Opens a writer that has not been needed since a suspension, if a log exists: readers cannot
    /// remove a log that they share.
    private func reopenWriterForLog() {
        guard writer.connection == nil, let path = writer.source?.path,
            !writer.configuration.isReadOnly,
            let log = try? DatabaseFile(resolvedPath: path).status("-wal"),
            !writer.configuration.keepsWriteAheadLog || log.st_size > 0
        else { return }
        // If this fails, the next opening of the file finds the log in its place.
        _ = try? writer.openConnection()
    }

    /// Closes all connections but keeps the pool open.
    func leaveFile() {
        rows.endAll(with: .suspended)
        for reader in condition.withLock({ takeIdle() }) { reader.close() }
        writer.rest()
    }

    /// Interrupts the statements of all connections.
    func interrupt() {
        let all = condition.withLock { [writer.interruption] + interruptions.map(\.interruption) }
        for interruption in all { interruption.interrupt() }
    }

    // MARK: - The writer

    /// Runs `body` with exclusive access to the writer, in order of arrival.
    func withWriter<T>(
        _ body: (SecureDatabaseStore) throws -> sending T
    ) throws -> sending T {
        try writer.turn.run {
            try takeWriter()
            defer {
                reviveWriter()
                changeAsLast { $0.releaseWriter() }
            }
            return try body(writer)
        }
    }

    private func takeWriter() throws {
        condition.lock()
        defer { condition.unlock() }
        var admission = state.takeWriter()
        if admission == .waits {
            admission = wait { state in
                let admission = state.takeWriter()
                return admission == .waits ? nil : admission
            }
        }
        guard case .admitted = admission else { throw SecureStorageError.closed }
    }

    /// Ensures that a writer that its block closed is opened again by the next one.
    private func reviveWriter() {
        guard !writer.isOpen() else { return }
        writer.session.reopening = condition.withLock { source }
    }

    /// Runs `body`, which changes the key, with the writer, while no reader of the file has a slot.
    ///
    /// Readers that arrive in the meantime wait. If the key has changed afterwards, the open
    /// readers are closed, and created again when they are needed.
    func withoutReaders(_ body: () throws -> Void) throws {
        change { $0.beginRekey() }
        defer {
            let stale: [SecureDatabaseStore] = condition.withLock {
                guard let now = writer.source, !now.hasSameKeys(as: source) else { return [] }
                source = now
                return takeIdle()
            }
            for reader in stale { reader.close() }
            change { $0.endRekey() }
        }
        let isOpen = waitUnlocked { state in
            state.rekeyMayGoOn ? state.phase == .open : nil
        }
        guard isOpen else { throw SecureStorageError.closed }
        try body()
    }
}

extension Reopening {
    /// Whether the keys are the same objects: a key that was derived a second time counts as
    /// another one.
    func hasSameKeys(as other: Reopening?) -> Bool {
        guard let other, keys.count == other.keys.count else { return false }
        return zip(keys, other.keys).allSatisfy { $0.key === $1.key }
    }
}
