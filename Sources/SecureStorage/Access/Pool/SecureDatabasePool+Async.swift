// The asynchronous calls. None of them blocks a thread of the cooperative pool: the block runs on a
// Dispatch thread when its turn comes, in order of arrival with the synchronous calls. Cancelling
// the task has the same effect as for a call of the queue; see `SecureDatabaseQueue+Async`.

extension SecureDatabasePool {
    /// Runs `block` with a read-only connection that sees the file as it is when the block begins.
    ///
    /// - Parameter block: Runs on a separate thread; a synchronous call inside it is part of it.
    /// - Returns: What the block returns.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func read<T: Sendable>(
        _ block: @escaping @Sendable (SecureDatabaseStore) throws -> T
    ) async throws -> T {
        try requireHome()
        guard let instruments = configuration.instrumentation.instruments else {
            return try await readInSlot(nil, block)
        }
        let call = instruments.begin(.read)
        return try await call.measure { try await readInSlot(call, block) }
    }

    private func readInSlot<T: Sendable>(
        _ measured: MeasuredCall?,
        _ block: @escaping @Sendable (SecureDatabaseStore) throws -> T
    ) async throws -> T {
        try await AsyncCall.perform { call in
            connections.enqueue { [self] slot in
                do {
                    let slot = try slot.get()
                    if call.isWaiting {
                        try read(in: slot, measured) { try call.run(on: $0, block) }
                    } else {
                        connections.leave(slot.place, with: slot.reader)
                    }
                    // After the slot is free again: otherwise the task's next call would find it
                    // taken.
                    call.finish()
                } catch {
                    call.finish(error)
                }
            }
        }
    }

    /// Runs `block` in an immediate transaction that is committed when the block returns.
    ///
    /// - Parameter block: Runs on a separate thread; a synchronous call inside it is part of it.
    /// - Returns: What the block returns.
    /// - Throws: As the synchronous call, after rolling back; `CancellationError`, likewise.
    @discardableResult
    public func write<T: Sendable>(
        _ block: @escaping @Sendable (SecureDatabaseStore) throws -> T
    ) async throws -> T {
        try await performWrite(.write, groups: true) { writer in
            try writer.inImmediateTransaction { try block($0) }
        }
    }

    /// Runs `block` with the writer, without a transaction around it.
    ///
    /// - Parameter block: Runs on a separate thread; a synchronous call inside it is part of it.
    /// - Returns: What the block returns.
    /// - Throws: As the synchronous call; `CancellationError`.
    @discardableResult
    public func writeWithoutTransaction<T: Sendable>(
        _ block: @escaping @Sendable (SecureDatabaseStore) throws -> T
    ) async throws -> T {
        try await performWrite(.access, groups: false, block)
    }

    func performWrite<T: Sendable>(
        _ kind: CallKind, groups: Bool,
        _ block: @escaping @Sendable (SecureDatabaseStore) throws -> T
    ) async throws -> T {
        try requireHome()
        guard let instruments = configuration.instrumentation.instruments else {
            return try await writeInTurn(groups: groups, block)
        }
        let call = instruments.begin(kind)
        return try await call.measure {
            try await writeInTurn(groups: groups) { store in
                try store.run(call) { try block($0) }
            }
        }
    }

    private func writeInTurn<T: Sendable>(
        groups: Bool, _ block: @escaping @Sendable (SecureDatabaseStore) throws -> T
    ) async throws -> T {
        try await AsyncCall.perform { call in
            connections.writer.turn.enqueue { [self] in
                do {
                    var commits: CommitsInFlight?
                    if call.isWaiting {
                        try writeInTurn(groups: groups, &commits) { try call.run(on: $0, block) }
                    }
                    call.finish(after: commits)
                } catch {
                    call.finish(error)
                }
            }
        }
    }
}
