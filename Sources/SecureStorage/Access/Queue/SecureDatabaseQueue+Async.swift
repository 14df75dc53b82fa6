// The asynchronous calls. None of them blocks a thread of the cooperative pool: the block runs on a
// Dispatch thread when its turn comes, in order of arrival with the synchronous calls.
//
// Cancelling the task while it waits ends the call immediately, and the block does not run. While
// the block runs, its statement is interrupted, no further one begins, and a transaction is rolled
// back. Either way the call throws `CancellationError`. Cancelling has no effect on a block that
// has already finished.

extension SecureDatabaseQueue {
    /// Runs `block` with exclusive access to the store.
    ///
    /// Result sets that the block leaves open are closed.
    ///
    /// - Parameter block: Runs on a separate thread; a synchronous call inside it is part of it.
    /// - Returns: What the block returns.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func inDatabase<T: Sendable>(
        _ block: @escaping @Sendable (SecureDatabaseStore) throws -> T
    ) async throws -> T {
        try await perform(.access, block)
    }

    /// Runs `block` with exclusive access to the store; the asynchronous form.
    func perform<T: Sendable>(
        _ kind: CallKind, groups: Bool = false,
        _ block: @escaping @Sendable (SecureDatabaseStore) throws -> T
    ) async throws -> T {
        try store.turn.requireHome()
        guard let instruments = store.instruments else {
            return try await performInTurn(groups: groups, block)
        }
        let call = instruments.begin(kind)
        return try await call.measure {
            try await performInTurn(groups: groups) { store in
                try store.run(call) { try block($0) }
            }
        }
    }

    private func performInTurn<T: Sendable>(
        groups: Bool, _ block: @escaping @Sendable (SecureDatabaseStore) throws -> T
    ) async throws -> T {
        try await AsyncCall.perform { call in
            enqueue { store in
                do {
                    try store.runOutermost(grouping: groups) { try call.run(on: $0, block) }
                    call.finish(after: store.commitsInFlight)
                } catch {
                    call.finish(error)
                }
            }
        }
    }

    /// Runs `block` in an exclusive transaction: no other connection writes in the meantime.
    ///
    /// - Parameter block: Runs on a separate thread; true rolls back, false commits.
    /// - Throws: What the block throws, after rolling back; `.backingStoreError` if the transaction
    ///   cannot begin or cannot be committed, after rolling back; `.closed`; `CancellationError`.
    public func inExclusiveTransaction(
        _ block: @escaping @Sendable (SecureDatabaseStore) throws -> Bool
    ) async throws {
        try await perform(.write) { try $0.inTransaction(.exclusive, block) }
    }

    /// Runs `block` in a deferred transaction, which takes locks when it needs them.
    ///
    /// - Parameter block: Runs on a separate thread; true rolls back, false commits.
    /// - Throws: As `inExclusiveTransaction(_:)`.
    public func inDeferredTransaction(
        _ block: @escaping @Sendable (SecureDatabaseStore) throws -> Bool
    ) async throws {
        try await inDatabase { try $0.inTransaction(.deferred, block) }
    }

    /// Runs `block` in a transaction that excludes other writers immediately, but never readers.
    ///
    /// - Parameter block: Runs on a separate thread; true rolls back, false commits.
    /// - Throws: As `inExclusiveTransaction(_:)`.
    public func inImmediateTransaction(
        _ block: @escaping @Sendable (SecureDatabaseStore) throws -> Bool
    ) async throws {
        try await perform(.write) { try $0.inTransaction(.immediate, block) }
    }

    /// Runs `block` in an exclusive transaction, as FMDB's `inTransaction` does.
    ///
    /// - Parameter block: Runs on a separate thread; true rolls back, false commits.
    /// - Throws: As `inExclusiveTransaction(_:)`.
    public func inTransaction(
        _ block: @escaping @Sendable (SecureDatabaseStore) throws -> Bool
    ) async throws {
        try await inExclusiveTransaction(block)
    }

    /// Runs `block` in a separate savepoint, which outside a transaction begins a deferred one.
    ///
    /// - Parameter block: Runs on a separate thread; true rolls back, false keeps the changes.
    /// - Throws: As `inExclusiveTransaction(_:)`.
    public func inSavePoint(
        _ block: @escaping @Sendable (SecureDatabaseStore) throws -> Bool
    ) async throws {
        try await inDatabase { try $0.inSavePoint(block) }
    }
}
