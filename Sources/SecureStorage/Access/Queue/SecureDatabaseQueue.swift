internal import Foundation

/// Lets any number of threads use one store, one call at a time.
///
/// ```swift
/// let balance = try queue.inDatabase { db in
///     let rs = try db.executeQuery("SELECT balance FROM account WHERE name = 'purse'")
///     return try rs.next() ? rs.int(forColumnIndex: 0) : nil
/// }
/// ```
///
/// It is opened as a store is, with a key that is named: `queue.open(with: .passphrase(text))`.
///
/// Thread-safe. Calls run in order of arrival, each on the calling thread, which waits for its
/// turn. A call from inside a block of the same queue runs immediately, as part of that block. If a
/// block uses a second queue, all threads must nest the two in the same order, as with any lock; a
/// call that would deadlock throws `.backingStoreError` code `.locked`. Neither the store
/// nor a result set may leave a block: returning one does not compile in Swift 6, and result sets
/// that a block leaves open are closed at its end.
public class SecureDatabaseQueue: SecureDatabaseWriter, @unchecked Sendable {
    // @unchecked: `store` is used only by the thread whose turn it is.
    let store: SecureDatabaseStore

    /// Creates a queue for a store, which from now on must be used only through the queue.
    ///
    /// Several queues of one store also take turns with each other.
    ///
    /// - Parameter databaseStore: Open already, or opened later in a block.
    public init(databaseStore: SecureDatabaseStore) {
        store = databaseStore
        suspension = databaseStore.sharing.suspension
        interruption = databaseStore.interruption
    }

    /// The store's, for any thread.
    let suspension: Suspension
    let interruption: Interruption

    /// Whether the calling thread is in a block of this queue.
    var isInTurn: Bool { store.turn.isHeld }

    /// The store of this queue.
    ///
    /// For settings that are fixed at its initializer, such as ``SecureDatabaseStore/databaseURL``,
    /// and for opening and closing it while no other thread uses the queue.
    public var databaseStore: SecureDatabaseStore { store }

    /// Runs `block` with exclusive access to the store.
    ///
    /// Result sets that the block leaves open are closed. A transaction that is begun in a block
    /// must be committed in it; otherwise it is rolled back at the block's end.
    ///
    /// - Parameter block: Runs on the calling thread.
    /// - Returns: What the block returns.
    /// - Throws: What the block throws; `.backingStoreError` code `.misuse` if it leaves a
    ///   transaction open, which is rolled back, and if one was begun on ``databaseStore`` directly
    ///   and is still open.
    public func inDatabase<T>(
        _ block: (SecureDatabaseStore) throws -> sending T
    ) throws -> sending T {
        try perform(.access, block)
    }

    /// Runs `block` with exclusive access to the store; for a block that is a function or a
    /// variable.
    ///
    /// Otherwise as the `inDatabase(_:)` for a closure.
    ///
    /// - Parameter block: Runs on the calling thread.
    /// - Returns: What the block returns.
    /// - Throws: As the `inDatabase(_:)` for a closure.
    @_disfavoredOverload
    public func inDatabase<T: Sendable>(
        _ block: (SecureDatabaseStore) throws -> T
    ) throws -> T {
        try perform(.access) { try block($0) }
    }

    /// Runs `block` in an exclusive transaction: no other connection writes in the meantime.
    ///
    /// Inside a block of this queue that has begun a transaction, it becomes a savepoint. Only
    /// returning or throwing ends the transaction: `commit()`, `rollback()` and their SQL are
    /// refused in it.
    ///
    /// - Parameter block: Runs on the calling thread; true rolls back, false commits.
    /// - Throws: What the block throws, after rolling back; `.backingStoreError` if the transaction
    ///   cannot begin (code `.busy`: another connection holds a lock; code `.misuse`: one was begun
    ///   on ``databaseStore`` directly) or cannot be committed, after rolling back; `.closed`.
    public func inExclusiveTransaction(
        _ block: (SecureDatabaseStore) throws -> Bool
    ) throws {
        try perform(.write) { try $0.inTransaction(.exclusive, block) }
    }

    /// Runs `block` in a deferred transaction, which takes locks when it needs them.
    ///
    /// For reading several tables as of one moment. Otherwise as
    /// `inExclusiveTransaction(_:)`.
    ///
    /// - Parameter block: Runs on the calling thread; true rolls back, false commits.
    /// - Throws: As `inExclusiveTransaction(_:)`.
    public func inDeferredTransaction(
        _ block: (SecureDatabaseStore) throws -> Bool
    ) throws {
        try perform(.access) { try $0.inTransaction(.deferred, block) }
    }

    /// Runs `block` with exclusive access to the store.
    ///
    /// - Parameters:
    ///   - kind: What the call is, for metrics and traces.
    ///   - groups: Whether its commits may wait for the disk with those of other calls.
    ///   - block: Runs on the calling thread.
    /// - Returns: What the block returns.
    /// - Throws: As `inDatabase(_:)`.
    // Inlined: a call that is not measured must not pay for those that are.
    @inline(__always)
    func perform<T>(
        _ kind: CallKind, groups: Bool = false,
        _ block: (SecureDatabaseStore) throws -> sending T
    ) throws -> sending T {
        guard store.instruments == nil else { return try measure(kind, groups: groups, block) }
        return try performInTurn(groups: groups, block)
    }

    @inline(never)
    private func measure<T>(
        _ kind: CallKind, groups: Bool, _ block: (SecureDatabaseStore) throws -> sending T
    ) throws -> sending T {
        // A nested call is a part of the outer one.
        guard let instruments = store.instruments, !store.turn.isHeld else {
            return try performInTurn(groups: groups, block)
        }
        let call = instruments.begin(kind)
        return try call.measure {
            try performInTurn(groups: groups) { try $0.run(call, block) }
        }
    }

    /// Runs `block` in its turn, then waits until every commit it may have seen is on the disk.
    private func performInTurn<T>(
        groups: Bool, _ block: (SecureDatabaseStore) throws -> sending T
    ) throws -> sending T {
        var commits: CommitsInFlight?
        // Unsafe only to the compiler: nothing else has the value.
        nonisolated(unsafe) let value = try store.turn.run {
            defer { commits = store.commitsInFlight }
            return try store.runOutermost(grouping: groups, block)
        } nested: {
            try store.runNested(block)
        }
        try commits?.wait()
        return value
    }

    /// Runs `block` with exclusive access to the store, open or not; for calls that run no SQL.
    func inTurn<T>(_ block: (SecureDatabaseStore) throws -> sending T) throws -> sending T {
        try store.turn.run { try block(store) }
    }

    /// Runs `block` in its turn on a Dispatch thread, without waiting for it.
    func enqueue(_ block: @escaping @Sendable (SecureDatabaseStore) -> Void) {
        store.turn.enqueue { [self] in block(store) }
    }
}
