internal import Foundation

// Slots: who gets one, with which connection, and what becomes of that afterwards.

extension PoolConnections {
    /// Takes a slot, in the order of arrival.
    ///
    /// Whoever gets it ends with `leave(_:with:)`.
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

    /// Runs `body` with a slot, on a thread of Dispatch's, in the order of arrival.
    ///
    /// - Parameter body: Gets the slot, which it ends with `leave(_:with:)`; or the reason why
    ///   there is none.
    func enqueue(_ body: @escaping @Sendable (Result<Slot, any Error>) -> Void) {
        let waiter = WaitingReader { waiter in
            // A serial queue of its own: it gets a thread also when those of the concurrent queues,
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

    /// Takes a slot for copying the file, beyond the limit of readers, unless there is no need for
    /// it.
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

    /// Takes the slot that somebody was admitted to; under the condition.
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
    ///   - place: That of the slot.
    ///   - reader: nil when it was not made, or cannot be used any more.
    func leave(_ place: PoolState.Place, with reader: SecureDatabaseStore?) {
        condition.lock()
        if let reader, state.keeps(readerOf: place) {
            idle.append(reader)
        } else if let reader {
            // Of the copy that a suspended pool has read, or of the file while it has to be left
            // alone. The slot is kept until it is closed.
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

    /// Closes a reader that does not go back to its slot.
    func discard(_ reader: SecureDatabaseStore) {
        condition.withLock { forget(reader) }
        reader.close()
    }

    private func forget(_ reader: SecureDatabaseStore) {
        interruptions.removeAll { $0.interruption === reader.interruption }
    }

    /// Closes the readers that nobody uses.
    func closeIdleReaders() {
        let (readers, place) = condition.withLock {
            let (readers, place) = (state.mayReleaseIdle ? takeIdle() : [], state.place)
            // They keep slots until they are closed, so that the writer is not closed before them.
            for _ in readers { state.enter(place) }
            return (readers, place)
        }
        for reader in readers {
            reader.close()
            leave(place, with: nil)
        }
    }

    /// Those that nobody uses, which leave; under the condition.
    func takeIdle() -> [SecureDatabaseStore] {
        defer { idle.removeAll() }
        for reader in idle { forget(reader) }
        return idle
    }
}
