internal import Foundation

/// The connections of a pool, and who may use which of them now.
///
/// A reader has a slot while its block runs, and a connection to go with it or the right to make one.
/// Slots are handed over in the order of arrival. Writers take turns of their own, so that neither
/// waits for the other; only a change of the key keeps the readers out for a while.
final class PoolConnections: @unchecked Sendable {
    // @unchecked: everything below `condition` is only touched under it, a connection only by who
    // has it: a reader by the thread that was given it, the writer by the thread that opened it,
    // has its turn or, when nobody is left, closes the pool.
    let writer: SecureDatabaseStore
    private let readerLimit: Int

    /// The iterations that have a reader of their own.
    let rows = RowRegister()

    /// Signalled when the phase changes and when the last reader leaves.
    let condition = NSCondition()
    private(set) var phase = Phase.closed
    private var isWriting = false
    /// Slots that are taken.
    private(set) var readerCount = 0
    /// Whether a change of the key runs, or waits for the readers.
    var isBarred = false
    private var idle: [SecureDatabaseStore] = []
    /// How readers are opened: with the derived key of the writer.
    private(set) var source: Reopening?
    /// Of all readers that are open.
    private var interruptions: [Interruption] = []
    private var waiting = FirstInFirstOut<WaitingReader>()
    /// What readers get while the pool is suspended.
    var rest = Rest.none

    enum Rest {
        /// The file.
        case none
        /// An error.
        case refusal
        /// A copy that nobody changes.
        case copy(Reopening)
    }

    enum Phase {
        case closed, opening, open
        /// Nobody new is let in; whoever leaves last closes the connections.
        case closing
        /// The connections are being closed.
        case draining
    }

    /// A slot, its connection and how to make one where it has none.
    typealias Slot = (reader: SecureDatabaseStore?, source: Reopening)

    /// One for all connections.
    var suspension: Suspension { writer.suspension }

    init(writer: SecureDatabaseStore, readerLimit: Int) {
        self.writer = writer
        self.readerLimit = readerLimit
    }

    var isOpen: Bool { condition.withLock { phase == .open } }

    /// Those of all connections that are open.
    var openInterruptions: [Interruption] {
        condition.withLock { [writer.interruption] + interruptions }
    }

    // MARK: - Opening and closing

    /// Runs `body`, which opens the writer, unless the pool is open; after others who do so.
    func open(_ body: () throws -> Void) throws {
        let isOpen = condition.withLock {
            while [.opening, .closing, .draining].contains(phase) { condition.wait() }
            if phase == .closed { phase = .opening }
            return phase == .open
        }
        guard !isOpen else { return }
        do {
            try body()
            condition.withLock { enter(.open) }
        } catch {
            condition.withLock { enter(.closed) }
            throw error
        }
    }

    /// Lets nobody new in, refuses those who wait, and closes everything when the last block has ended.
    ///
    /// - Parameter isWaiting: Whether to wait for that.
    func close(waiting isWaiting: Bool) {
        condition.withLock {
            while phase == .opening { condition.wait() }
            guard phase == .open else { return }
            enter(.closing)
            refuseWaiting()
        }
        rows.endAll()
        closeIfLast()
        guard isWaiting else { return }
        condition.withLock {
            while [.closing, .draining].contains(phase) { condition.wait() }
        }
    }

    private func enter(_ new: Phase) {
        phase = new
        if new == .open { source = writer.source }
        condition.broadcast()
    }

    /// Closes the connections of a pool that nobody uses any more.
    func closeIfLast() {
        let readers: [SecureDatabaseStore]? = condition.withLock {
            guard phase == .closing, readerCount == 0, !isWriting, rows.isEmpty else { return nil }
            enter(.draining)
            source = nil
            return takeIdle()
        }
        guard let readers else { return }
        for reader in readers { reader.close() }
        // The last, so that it moves the log into the file and removes it.
        writer.close()
        condition.withLock { enter(.closed) }
    }

    // MARK: - The writer

    /// Runs `body` with the writer, alone, in the order of arrival.
    func withWriter<T>(
        _ body: (SecureDatabaseStore) throws -> sending T
    ) throws -> sending T {
        try writer.turn.run {
            try condition.withLock {
                guard phase == .open else { throw SecureStorageError.closed }
                isWriting = true
            }
            defer {
                reviveWriter()
                condition.withLock { isWriting = false }
                closeIfLast()
            }
            return try body(writer)
        }
    }

    /// Sees to it that a writer that its block has closed is opened again by the next one.
    private func reviveWriter() {
        guard !writer.isOpen() else { return }
        writer.reopening = condition.withLock { source }
    }

    /// Runs `body` while no reader has a slot; with the writer's turn.
    ///
    /// Readers that come meanwhile wait. When the key is another one afterwards, those that are open
    /// are closed, and made anew when they are needed.
    func withoutReaders(_ body: () throws -> Void) throws {
        try condition.withLock {
            isBarred = true
            while readerCount > 0, phase == .open { condition.wait() }
            guard phase == .open else {
                isBarred = false
                throw SecureStorageError.closed
            }
        }
        defer {
            let stale: [SecureDatabaseStore] = condition.withLock {
                guard let now = writer.source, !now.hasSameKeys(as: source) else { return [] }
                source = now
                return takeIdle()
            }
            for reader in stale { reader.close() }
            condition.withLock {
                isBarred = false
                admitWaiting()
            }
        }
        try body()
    }

    // MARK: - Readers

    /// Takes a slot, in the order of arrival.
    ///
    /// Whoever gets it ends with `leave(with:)`.
    func enter() throws -> Slot {
        condition.lock()
        if let refusal {
            condition.unlock()
            throw refusal
        }
        guard isBarred || readerCount == readerLimit else {
            defer { condition.unlock() }
            readerCount += 1
            return try (idle.popLast(), openSource())
        }
        let arrival = DispatchSemaphore(value: 0)
        let waiter = WaitingReader { _ in arrival.signal() }
        waiting.append(waiter)
        condition.unlock()
        arrival.wait()
        return try slot(of: waiter)
    }

    /// Runs `body` with a slot, on a thread of Dispatch's, in the order of arrival.
    ///
    /// - Parameter body: Gets the slot, which it ends with `leave(with:)`; or the reason why there is none.
    func enqueue(_ body: @escaping @Sendable (Result<Slot, any Error>) -> Void) {
        let waiter = WaitingReader { waiter in
            // A serial queue of its own: it gets a thread also when those of the concurrent queues, and of
            // Swift's tasks, are busy.
            DispatchQueue(label: "SecureStorage.reader").async { [self] in
                body(Result { try slot(of: waiter) })
            }
        }
        condition.withLock {
            waiting.append(waiter)
            if let refusal {
                refuseWaiting(refusal)
            } else {
                admitWaiting()
            }
        }
    }

    private func slot(of waiter: WaitingReader) throws -> Slot {
        try condition.withLock {
            if let refusal = waiter.refusal { throw refusal }
            return try (waiter.reader, openSource())
        }
    }

    /// Gives a slot back.
    ///
    /// - Parameter reader: nil when it was not made, or cannot be used any more.
    func leave(with reader: SecureDatabaseStore?) {
        var reader = reader
        // Of the copy that a suspended pool has read, or of the file while it has to be left alone.
        if let stale = reader, stale.suspension.isOn || !condition.withLock({ isCurrent(stale) }) {
            discard(stale)
            reader = nil
        }
        condition.withLock {
            readerCount -= 1
            if let reader { idle.append(reader) }
            admitWaiting()
            if readerCount == 0 { condition.broadcast() }
        }
        closeIfLast()
    }

    private func isCurrent(_ reader: SecureDatabaseStore) -> Bool {
        switch rest {
        case .none, .refusal: reader.givenPath == source?.path
        case .copy(let copy): reader.givenPath == copy.path
        }
    }

    func add(_ reader: SecureDatabaseStore) {
        condition.withLock { interruptions.append(reader.interruption) }
    }

    /// Closes a reader that does not go back to its slot.
    func discard(_ reader: SecureDatabaseStore) {
        condition.withLock { interruptions.removeAll { $0 === reader.interruption } }
        reader.close()
    }

    /// Closes the readers that nobody uses.
    func closeIdleReaders() {
        let readers: [SecureDatabaseStore] = condition.withLock {
            // Their slots are taken meanwhile, so that the writer is not closed before them.
            readerCount += idle.count
            return takeIdle()
        }
        for reader in readers {
            reader.close()
            leave(with: nil)
        }
    }

    private func openSource() throws -> Reopening {
        guard let source else { throw SecureStorageError.closed }
        if case .copy(let copy) = rest { return copy }
        return source
    }

    /// Why nobody is let in; nil when they are.
    private var refusal: SecureStorageError? {
        guard phase == .open else { return .closed }
        if case .refusal = rest { return .suspended }
        return nil
    }

    func takeIdle() -> [SecureDatabaseStore] {
        defer { idle.removeAll() }
        for reader in idle { interruptions.removeAll { $0 === reader.interruption } }
        return idle
    }

    func admitWaiting() {
        while !isBarred, readerCount < readerLimit, let waiter = waiting.popFirst() {
            readerCount += 1
            waiter.reader = idle.popLast()
            waiter.wake(waiter)
        }
    }

    func refuseWaiting(_ refusal: SecureStorageError = .closed) {
        while let waiter = waiting.popFirst() {
            waiter.refusal = refusal
            waiter.wake(waiter)
        }
    }
}

extension Reopening {
    fileprivate func hasSameKeys(as other: Reopening?) -> Bool {
        guard let other, keys.count == other.keys.count else { return false }
        return zip(keys, other.keys).allSatisfy { $0.key === $1.key }
    }
}
