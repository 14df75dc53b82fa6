internal import Foundation

// Slots: which caller gets one, with which connection, and what happens to the connection
// afterwards.

extension PoolConnections {
    /// Takes a slot, in order of arrival.
    ///
    /// The caller gives it back with `leave(_:with:)`.
    func enter() throws -> Slot {
        condition.lock()
        let admission = state.admission
        guard admission == .waits else {
            defer { condition.unlock() }
            return try takeSlot(admission)
        }
        let arrival = DispatchSemaphore(value: 0)
        let waiter = WaitingReader { _ in arrival.signal() }
        waiting.append(waiter)
        condition.unlock()
        arrival.wait()
        return try answer(to: waiter)
    }

    /// Runs `body` with a slot on a Dispatch thread, in order of arrival.
    ///
    /// - Parameter body: Receives the slot, which it gives back with `leave(_:with:)`, or the
    ///   reason why there is none.
    func enqueue(_ body: @escaping @Sendable (Result<Slot, any Error>) -> Void) {
        let waiter = WaitingReader { waiter in
            // A separate serial queue: it gets a thread even when those of the concurrent queues,
            // and of Swift's tasks, are busy.
            DispatchQueue(label: "SecureStorage.reader").async { [self] in
                body(Result { try answer(to: waiter) })
            }
        }
        condition.withLock {
            waiting.append(waiter)
            settle()
        }
    }

    /// Takes a slot for copying the file, beyond the limit of readers, unless no copy is needed.
    func enterForCopying() -> Slot? {
        condition.withLock {
            let admission = wait { state in
                state.copyAdmission == .waits ? nil : state.copyAdmission
            }
            return try? takeSlot(admission)
        }
    }

    private func answer(to waiter: WaitingReader) throws -> Slot {
        guard let answer = condition.withLock({ waiter.answer }) else {
            preconditionFailure("a reader was woken without an answer")
        }
        return try answer.get()
    }

    /// Takes the slot that an admission grants; called under the condition.
    func takeSlot(_ admission: PoolState.Admission) throws(SecureStorageError) -> Slot {
        switch admission {
        case .admitted(let place):
            guard let source = place == .file ? source : copy else { throw .closed }
            state.enter(place)
            return Slot(place: place, reader: idle.popLast(), source: source)
        case .suspended: throw .suspended
        case .closed, .waits: throw .closed
        }
    }

    /// Gives a slot back.
    ///
    /// - Parameters:
    ///   - place: The place of the slot.
    ///   - reader: nil if it was not created, or is no longer usable.
    func leave(_ place: PoolState.Place, with reader: SecureDatabaseStore?) {
        condition.lock()
        if let reader, state.keeps(readerOf: place) {
            idle.append(reader)
        } else if let reader {
            // It reads the copy of a pool that was suspended, or the file while that must be left
            // alone. The slot is kept until the reader is closed.
            condition.unlock()
            discard(reader)
            condition.lock()
        }
        state.leave(place)
        let duty = state.takeDuty()
        settle()
        condition.unlock()
        if let duty { perform(duty) }
    }

    func add(_ reader: SecureDatabaseStore, _ place: PoolState.Place) {
        condition.withLock { interruptions.append((reader.interruption, place)) }
    }

    /// Closes a reader that does not go back with its slot.
    func discard(_ reader: SecureDatabaseStore) {
        condition.withLock { forget(reader) }
        reader.close()
    }

    private func forget(_ reader: SecureDatabaseStore) {
        interruptions.removeAll { $0.interruption === reader.interruption }
        readerCounts[ObjectIdentifier(reader)] = nil
        if let connection = reader.connection { closedReaderCounts += connection.pageCounts }
    }

    /// Closes the readers that are not in use.
    func closeIdleReaders() {
        let (readers, place) = condition.withLock {
            let (readers, place) = (state.mayReleaseIdle ? takeIdle() : [], state.place)
            // They hold slots until they are closed, so that the writer is not closed before them.
            for _ in readers { state.enter(place) }
            return (readers, place)
        }
        for reader in readers {
            reader.close()
            leave(place, with: nil)
        }
    }

    /// Removes and returns the readers that are not in use; called under the condition.
    func takeIdle() -> [SecureDatabaseStore] {
        defer { idle.removeAll() }
        for reader in idle { forget(reader) }
        return idle
    }
}
