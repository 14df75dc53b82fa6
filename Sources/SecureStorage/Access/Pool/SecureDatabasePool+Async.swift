// The same calls for tasks. None of them blocks a thread of the cooperative pool: the block runs on
// a thread of Dispatch's when it is its turn, among the synchronous calls, in the order of their
// arrival. Cancelling the task does what it does to a call of the queue; see
// `SecureDatabaseQueue+Async`.

extension SecureDatabasePool {
    /// Runs `block` with a read-only connection that sees the file as it is when the block begins.
    ///
    /// - Parameter block: Runs on a thread of its own; a synchronous call inside it is part of it.
    /// - Returns: What the block returns.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func read<T: Sendable>(
        _ block: @escaping @Sendable (SecureDatabaseStore) throws -> T
    ) async throws -> T {
        try requireHome()
        return try await AsyncCall.perform { call in
            connections.enqueue { [self] slot in
                do {
                    let slot = try slot.get()
                    if call.isWaiting {
                        try read(in: slot) { try call.run(on: $0, block) }
                    } else {
                        connections.leave(slot.place, with: slot.reader)
                    }
                    // When the slot is free again: else a task's next call would find it taken.
                    call.finish()
                } catch {
                    call.finish(error)
                }
            }
        }
    }

    /// Runs `block` in an immediate transaction that is committed at its end.
    ///
    /// - Parameter block: Runs on a thread of its own; a synchronous call inside it is part of it.
    /// - Returns: What the block returns.
    /// - Throws: As the synchronous call, after rolling back; `CancellationError`, likewise.
    public func write<T: Sendable>(
        _ block: @escaping @Sendable (SecureDatabaseStore) throws -> T
    ) async throws -> T {
        try await writeWithoutTransaction { writer in
            try writer.inImmediateTransaction { try block($0) }
        }
    }

    /// Runs `block` with the writer, without a transaction around it.
    ///
    /// - Parameter block: Runs on a thread of its own; a synchronous call inside it is part of it.
    /// - Returns: What the block returns.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func writeWithoutTransaction<T: Sendable>(
        _ block: @escaping @Sendable (SecureDatabaseStore) throws -> T
    ) async throws -> T {
        try requireHome()
        return try await AsyncCall.perform { call in
            connections.writer.turn.enqueue { [self] in
                do {
                    if call.isWaiting { try writeInTurn { try call.run(on: $0, block) } }
                    call.finish()
                } catch {
                    call.finish(error)
                }
            }
        }
    }
}
