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
/// Thread-safe. Calls run in the order of their arrival, each on the thread that makes it, which
/// waits for its turn. A call from inside a block of the same queue runs at once, as part of that
/// block. Where a block uses a second queue, all threads have to nest the two in the same order, as
/// with any lock; a call that would wait for ever throws `.backingStoreError` code 6
/// (SQLITE_LOCKED). Neither the store nor a result set may leave a block: returning one does not
/// compile in Swift 6, and result sets that a block leaves open are closed at its end.
public class SecureDatabaseQueue: SecureDatabaseWriter, @unchecked Sendable {
    // @unchecked: `store` is only touched in `perform`, by the thread whose turn it is.
    let store: SecureDatabaseStore

    /// Puts a store behind this queue; from now on use it through the queue only.
    ///
    /// Several queues of one store take turns with each other as well.
    ///
    /// - Parameter databaseStore: Open already, or opened later in a block.
    public init(databaseStore: SecureDatabaseStore) {
        store = databaseStore
        suspension = databaseStore.suspension
        interruption = databaseStore.interruption
    }

    /// Of the store, for any thread.
    let suspension: Suspension
    let interruption: Interruption

    /// Whether the calling thread is in a block of this queue.
    var isInTurn: Bool { store.turn.isHeld }

    /// The store of this queue.
    ///
    /// For what is fixed at its initializer, such as ``SecureDatabaseStore/databaseURL``, and for
    /// opening and closing it while no other thread uses the queue.
    public var databaseStore: SecureDatabaseStore { store }

    /// Runs `block` with the store, alone.
    ///
    /// Result sets that the block leaves open are closed. So is a transaction: one that is begun in
    /// a block is committed in it, or rolled back at its end.
    ///
    /// - Parameter block: Runs on the calling thread.
    /// - Returns: What the block returns.
    /// - Throws: What the block throws; `.backingStoreError` code 21 (SQLITE_MISUSE) when it
    ///   leaves a transaction open, which is rolled back, and when one was begun on
    ///   ``databaseStore`` directly and is still open.
    public func inDatabase<T>(
        _ block: (SecureDatabaseStore) throws -> sending T
    ) throws -> sending T {
        try perform(block)
    }

    /// Runs `block` with the store, alone; for a block that is a function or a variable.
    ///
    /// Otherwise as the `inDatabase(_:)` for a closure.
    ///
    /// - Parameter block: Runs on the calling thread.
    /// - Returns: What the block returns.
    /// - Throws: As there.
    @_disfavoredOverload
    public func inDatabase<T: Sendable>(
        _ block: (SecureDatabaseStore) throws -> T
    ) throws -> T {
        try perform { try block($0) }
    }

    /// Runs `block` in an exclusive transaction: no other connection writes meanwhile.
    ///
    /// In a block of this queue that has begun a transaction, it becomes a savepoint. Its own
    /// transaction is ended by what the block returns or throws only: `commit()`, `rollback()` and
    /// their SQL are refused in it.
    ///
    /// - Parameter block: Runs on the calling thread; true rolls back, false commits.
    /// - Throws: What the block throws, after rolling back; `.backingStoreError` when the
    ///   transaction cannot begin (code 5: another connection holds a lock; code 21: one was begun
    ///   on ``databaseStore`` directly) or cannot be committed, after rolling back; `.closed`.
    public func inExclusiveTransaction(
        _ block: (SecureDatabaseStore) throws -> Bool
    ) throws {
        try perform { try $0.inTransaction(.exclusive, block) }
    }

    /// Runs `block` in a deferred transaction, which takes locks when it needs them.
    ///
    /// For reading several tables as of one moment. Otherwise as
    /// `inExclusiveTransaction(_:)`.
    ///
    /// - Parameter block: Runs on the calling thread; true rolls back, false commits.
    /// - Throws: as `inExclusiveTransaction(_:)`.
    public func inDeferredTransaction(
        _ block: (SecureDatabaseStore) throws -> Bool
    ) throws {
        try perform { try $0.inTransaction(.deferred, block) }
    }

    private func perform<T>(
        _ block: (SecureDatabaseStore) throws -> sending T
    ) throws -> sending T {
        try store.turn.run {
            try store.runOutermost(block)
        } nested: {
            try store.runNested(block)
        }
    }

    /// Runs `block` with the store, alone, whether it is open or not; for calls that run no SQL.
    func inTurn<T>(_ block: (SecureDatabaseStore) throws -> sending T) throws -> sending T {
        try store.turn.run { try block(store) }
    }

    /// Runs `block` in its turn, on a thread of Dispatch's, and does not wait for it.
    func enqueue(_ block: @escaping @Sendable (SecureDatabaseStore) -> Void) {
        store.turn.enqueue { [self] in block(store) }
    }
}
