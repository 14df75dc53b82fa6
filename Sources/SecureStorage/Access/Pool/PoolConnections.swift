internal import Foundation

/// The connections of a pool, used as its state allows.
///
/// A reader has a slot while its block runs, and a connection to go with it or the right to make
/// one. Slots are handed over in the order of arrival. Writers take turns of their own, so that
/// neither waits for the other; only a change of the key keeps the readers out for a while.
final class PoolConnections: @unchecked Sendable {
    // @unchecked: everything below `condition` is only touched under it, a connection only by the
    // thread that has it by `state`: a reader with its slot, the writer when it was taken.
    let writer: SecureDatabaseStore

    /// The iterations that have a reader of their own.
    let rows = RowRegister()

    /// Signalled when the state has changed and somebody waits for that.
    let condition = NSCondition()
    /// Not changed but by `change(_:)` and what settles it itself.
    var state: PoolState
    /// Threads that wait for the condition.
    private var sleeperCount = 0
    var waiting = FirstInFirstOut<WaitingReader>()
    var suspending: [WaitingSuspension] = []
    var idle: [SecureDatabaseStore] = []
    /// How readers of the file are opened: with the derived key of the writer.
    private(set) var source: Reopening?
    /// What a suspended pool reads; removed with its last reader.
    var copy: Reopening?
    /// Of all readers that are open.
    var interruptions: [(interruption: Interruption, place: PoolState.Place)] = []

    /// A slot, its connection and how to make one where it has none.
    struct Slot {
        let place: PoolState.Place
        let reader: SecureDatabaseStore?
        let source: Reopening
    }

    init(writer: SecureDatabaseStore, readerLimit: Int) {
        self.writer = writer
        state = PoolState(readerLimit: readerLimit)
    }

    var isOpen: Bool { condition.withLock { state.phase == .open } }

    // MARK: - The state

    /// Changes the state, and lets go on whoever can do so now.
    func change<R>(_ body: (inout PoolState) throws -> R) rethrows -> R {
        condition.lock()
        defer { condition.unlock() }
        let result = try body(&state)
        settle()
        return result
    }

    /// Changes the state, and does what falls to the last one out.
    func changeAsLast(_ body: (inout PoolState) -> Void) {
        let duty = change { state in
            body(&state)
            return state.takeDuty()
        }
        if let duty { perform(duty) }
    }

    /// Does what has fallen to the calling thread, which has the writer for it.
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

    /// Waits until `body` has a result; under the condition.
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

    /// Waits until `body` has a result.
    func waitUnlocked<R>(for body: (inout PoolState) -> R?) -> R {
        condition.withLock { wait(for: body) }
    }

    /// To be called after each change, under the condition.
    func settle() {
        writer.suspensionFlag.set(state.suspension.refusesStatements)
        answerWaiting()
        if !suspending.isEmpty { answerSuspending() }
        if sleeperCount > 0 { condition.broadcast() }
    }

    private func answerWaiting() {
        while true {
            let admission = state.admission
            guard admission != .waits, let waiter = waiting.popFirst() else { return }
            waiter.answer = Result { () throws(SecureStorageError) in try takeSlot(admission) }
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

    /// Runs `body`, which opens the writer, unless the pool is open; after others who do so.
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

    /// Lets nobody new in, refuses those who wait, and closes everything when the last block has
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

    /// Closes the connections of a pool that nobody uses any more.
    private func closeAll() {
        let (readers, copy) = condition.withLock {
            defer { (source, self.copy) = (nil, nil) }
            return (takeIdle(), self.copy)
        }
        withExtendedLifetime(copy) {
            for reader in readers { reader.close() }
        }
        // The last, so that it moves the log into the file and removes it.
        reopenWriterForLog()
        writer.close()
    }

    /// Opens a writer that has not been needed since a suspension, when there is a log: readers
    /// cannot remove one that they share.
    private func reopenWriterForLog() {
        guard writer.connection == nil, let path = writer.source?.path,
            !writer.configuration.isReadOnly,
            let log = try? DatabaseFile(resolvedPath: path).status("-wal"),
            !writer.configuration.keepsWriteAheadLog || log.st_size > 0
        else { return }
        // Whoever opens the file next finds the log in its place.
        _ = try? writer.openConnection()
    }

    /// Closes all connections but keeps the pool open.
    func leaveFile() {
        rows.endAll(with: .suspended)
        for reader in condition.withLock({ takeIdle() }) { reader.close() }
        writer.rest()
    }

    /// Ends the statements of all connections.
    func interrupt() {
        let all = condition.withLock { [writer.interruption] + interruptions.map(\.interruption) }
        for interruption in all { interruption.interrupt() }
    }

    // MARK: - The writer

    /// Runs `body` with the writer, alone, in the order of arrival.
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

    /// Sees to it that a writer that its block has closed is opened again by the next one.
    private func reviveWriter() {
        guard !writer.isOpen() else { return }
        writer.reopening = condition.withLock { source }
    }

    /// Runs `body`, which changes the key, while no reader of the file has a slot; with the writer.
    ///
    /// Readers that come in the meantime wait. When the key is another one afterwards, those that
    /// are open are closed, and made again when they are needed.
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
    /// Whether they are the very same: what was derived a second time counts as another one.
    func hasSameKeys(as other: Reopening?) -> Bool {
        guard let other, keys.count == other.keys.count else { return false }
        return zip(keys, other.keys).allSatisfy { $0.key === $1.key }
    }
}
