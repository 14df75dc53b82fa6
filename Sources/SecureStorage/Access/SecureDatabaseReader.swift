public import Foundation
internal import SecureStoragePlatform

/// Read access to one database from any thread, through a queue or a pool.
///
/// Code that only reads takes `any SecureDatabaseReader`, and works with both a
/// ``SecureDatabaseQueue`` and a ``SecureDatabasePool``:
///
/// ```swift
/// func noteCount(in database: any SecureDatabaseReader) throws -> Int {
///     try database.read { db in try db.int(forQuery: "SELECT count(*) FROM note") ?? 0 }
/// }
/// ```
///
/// Thread-safe. A synchronous call runs its block on the calling thread; an asynchronous one runs
/// it on a separate thread, so that no thread of the cooperative pool is blocked. Cancelling the
/// task of an asynchronous call while the call waits ends it immediately, and the block does not
/// run. While the block runs, cancelling interrupts its statement, no further one begins, and a
/// transaction is rolled back. Either way the call throws `CancellationError`.
///
/// Only the queue and the pool conform.
public protocol SecureDatabaseReader: SuspendableDatabase {
    /// The location of the file, absolute, as it was given to the initializer.
    var databaseURL: URL { get }

    /// The settings, fixed at the initializer.
    var configuration: SecureDatabaseConfiguration { get }

    /// Opens the file, and creates it if it does not exist.
    ///
    /// Only checks the key if it is open already.
    ///
    /// - Parameters:
    ///   - key: A passphrase or a raw key.
    ///   - initializationHandler: Runs once, when this call has created the file. If it returns an
    ///     error, the call throws it and removes the file. See
    ///     ``SecureDatabaseStore/open(with:initializationHandler:)-(DatabaseKey,_)``.
    /// - Throws: As the store's; `.authenticationFailed` if it is open with another key.
    func open(
        with key: DatabaseKey, initializationHandler: (SecureDatabaseStore) -> (any Error)?) throws

    /// Whether the file is open and can be used.
    func isOpen() -> Bool

    /// Closes the file.
    ///
    /// It can be opened again.
    func close()

    /// Runs `block` with a connection that reads the database as of one moment.
    ///
    /// - Parameter block: Runs on the calling thread. A statement that writes throws code
    ///   `.readOnly` (SQLITE_READONLY), except inside a write.
    /// - Returns: What the block returns.
    /// - Throws: What the block throws; `.closed`.
    func read<T>(_ block: (SecureDatabaseStore) throws -> sending T) throws -> sending T

    /// Runs `block` with a connection that reads the database as of one moment.
    ///
    /// - Parameter block: Runs on a separate thread; a synchronous call inside it is part of it.
    /// - Returns: What the block returns.
    /// - Throws: As the synchronous call; `CancellationError`.
    func read<T: Sendable>(
        _ block: @escaping @Sendable (SecureDatabaseStore) throws -> T
    ) async throws -> T

    /// Interrupts the running statements.
    ///
    /// Does not wait. See ``SecureDatabaseStore/interrupt()``.
    func interrupt()

    /// Used by the library's own calls on a reader.
    var access: SecureDatabaseAccess { get }
}

/// The parts of a queue or a pool that the library's own calls on it need.
///
/// It has no public initializer, so that no other type conforms to ``SecureDatabaseReader``.
public struct SecureDatabaseAccess: Sendable {
    let point: any AccessPoint
}

/// The parts of a queue and a pool that differ, for the calls that both have.
protocol AccessPoint: AnyObject, Sendable {
    var observed: ObservedStore { get }

    /// Returns the figures of all connections; waits for the turn of the one that writes.
    func collectStatistics() throws -> SecureDatabaseStatistics

    /// Runs `block` with a connection that reads, or with the one that writes, without a
    /// transaction of its own.
    ///
    /// - Parameters:
    ///   - kind: `.read` for a connection that reads, where there are several.
    ///   - groups: Whether its commit may wait for the disk with those of other calls.
    ///   - block: Runs on the calling thread.
    /// - Returns: What `block` returns.
    /// - Throws: What `block` throws; `.closed`, `.suspended`.
    func perform<T>(
        _ kind: CallKind, groups: Bool, _ block: (SecureDatabaseStore) throws -> sending T
    ) throws -> sending T

    func perform<T: Sendable>(
        _ kind: CallKind, groups: Bool,
        _ block: @escaping @Sendable (SecureDatabaseStore) throws -> T
    ) async throws -> T

    /// Runs `block` with the connection that writes, without a transaction around it.
    func writeWithoutTransaction<T: Sendable>(
        _ block: @escaping @Sendable (SecureDatabaseStore) throws -> T
    ) async throws -> T

    /// Opens the connection of an iteration over rows, in its snapshot.
    func makeRowReader(_ rows: any EndableRows) throws -> RowReader

    /// Runs `body` with a store that reads the file while other calls continue.
    ///
    /// - Parameters:
    ///   - progress: Ends the work by throwing.
    ///   - isSure: Whether a result is right even if the key was changed while `body` ran.
    ///   - body: Must not use the store after it returns.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; `.closed`, `.suspended`.
    func readBeside<T: Sendable>(
        _ progress: FileProgress.Handler, isSure: (T) -> Bool, _ body: SeparateReading.Body<T>
    ) throws -> T

    func readBeside<T: Sendable>(
        _ progress: @escaping @Sendable (FileProgress) throws -> Void, isSure: (T) -> Bool,
        _ body: @escaping @Sendable (SecureDatabaseStore, FileProgress.Handler) throws -> T
    ) async throws -> T
}

extension SecureDatabaseReader {
    /// Opens the file, and creates it if it does not exist.
    ///
    /// - Parameter key: A passphrase or a raw key.
    /// - Throws: As ``SecureDatabaseStore/open(with:initializationHandler:)-(DatabaseKey,_)``.
    public func open(with key: DatabaseKey) throws {
        try open(
            with: key, initializationHandler: SecureDatabaseStore.defaultInitializationHandler)
    }

    /// Opens the file, and creates it if it does not exist.
    ///
    /// Cancelling the task does not end it.
    ///
    /// - Parameters:
    ///   - key: A passphrase or a raw key.
    ///   - initializationHandler: Runs once, on a separate thread, when this call has created the
    ///     file.
    /// - Throws: As the synchronous call.
    public func open(
        with key: DatabaseKey,
        initializationHandler: @escaping @Sendable (SecureDatabaseStore) -> (any Error)? =
            SecureDatabaseStore.defaultInitializationHandler
    ) async throws {
        try await onOwnThread(evenIfCancelled: true) {
            try self.open(with: key, initializationHandler: initializationHandler)
        }
    }

    /// Closes the file.
    ///
    /// It can be opened again.
    public func close() async {
        try? await onOwnThread(evenIfCancelled: true) { self.close() }
    }

    /// Runs `block` with a connection that reads; for a block that is a function or a variable.
    ///
    /// Otherwise as the `read(_:)` for a closure.
    ///
    /// - Parameter block: Runs on the calling thread.
    /// - Returns: What the block returns.
    /// - Throws: As the `read(_:)` for a closure.
    @_disfavoredOverload
    public func read<T: Sendable>(
        _ block: (SecureDatabaseStore) throws -> T
    ) throws -> T {
        // The result is Sendable, so it may leave the block, whatever it is part of.
        try read { db -> T in try block(db) }
    }
}
