public import Foundation
public import SecureStorage
internal import SecureStoragePlatform

/// Keeps a database in a store, continuously: what was committed survives the loss of this machine.
///
/// ```swift
/// let mirror = try DatabaseMirror(of: pool, in: store, name: "notes")
/// let running = Task { try await mirror.run() }
/// try await mirror.flush()
/// ```
///
/// It ships the pages that commits have changed as they lie in the write-ahead log, which is
/// ciphertext: the store sees no key and no content. The database is in journal mode WAL. Writers
/// go on as without a mirror; while the store cannot be reached, the log grows.
///
/// One mirror writes under a name. A second one that begins takes over, and the first one stops
/// with ``SyncError/otherMirror(_:)``.
///
/// Thread-safe.
public final class DatabaseMirror: Sendable {
    /// The mirror's name in the store.
    public let name: String

    private let database: any SecureDatabaseReader
    private let writer: MirrorWriter
    private let shipping = Locked(Shipping())

    private struct Shipping {
        var task: Task<Void, any Error>?
        var status = Status()
    }

    /// The state of a mirror.
    public struct Status: Sendable {
        /// When everything that had been committed until then was in the store; nil before the
        /// first time.
        public internal(set) var completeAt: Date?
        /// Bytes that this mirror has stored.
        public internal(set) var storedBytes = 0
        /// The last failure, until something succeeds.
        public internal(set) var failure: (any Error)?
    }

    /// Creates a mirror; nothing happens before ``run()`` or ``flush()``.
    ///
    /// - Parameters:
    ///   - database: An open queue or pool.
    ///   - store: Where the objects go.
    ///   - name: The beginning of their names: one or more components of ``SyncObjectName``.
    /// - Throws: ``SyncError/invalidName(_:)``.
    public init(
        of database: any SecureDatabaseReader, in store: any SyncObjectStore, name: String
    ) throws {
        self.name = name
        self.database = database
        writer = MirrorWriter(database, try MirrorNames(name), store)
    }

    /// The state as of now.
    public var status: Status { shipping.withLock { $0.status } }

    /// Stores everything that was committed before the call, and returns when it is in the store.
    ///
    /// - Throws: ``SyncError``; the errors of the database.
    public func flush() async throws {
        try await serially { [self] in
            let start = Date()
            do {
                try await writer.ship { bytes in
                    shipping.withLock { $0.status.storedBytes += bytes }
                }
                shipping.withLock {
                    $0.status.completeAt = start
                    $0.status.failure = nil
                }
            } catch {
                shipping.withLock { $0.status.failure = error }
                throw error
            }
        }
    }

    /// Runs `work` when no other is running, to its end even if the caller's task is cancelled.
    private func serially(_ work: @escaping @Sendable () async throws -> Void) async throws {
        while true {
            let earlier = shipping.withLock { $0.task }
            _ = await earlier?.result
            let mine: Task<Void, any Error>? = shipping.withLock { state in
                guard state.task == nil else { return nil }
                let task = Task { [self] in
                    defer { shipping.withLock { $0.task = nil } }
                    try await work()
                }
                state.task = task
                return task
            }
            if let mine { return try await mine.value }
        }
    }

    /// Ships what is committed until the task is cancelled, at most a second behind.
    ///
    /// A failure of the store that may pass is shown in ``status``, and the call goes on trying,
    /// after 1 second, then 2, and so on up to a minute. While the queue or pool is suspended,
    /// nothing is shipped and no lock is held.
    ///
    /// - Throws: `CancellationError`; ``SyncError`` of other kinds; the errors of the database.
    public func run() async throws {
        // A checkpoint that empties the log waits for the mirror's read transaction.
        let leaving = Task {
            while true {
                try await Task.sleep(for: .seconds(1))
                if !writer.leavesLog.withLock({ $0 }) { try? await flush() }
            }
        }
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await follow())
        } catch {
            outcome = .failure(error)
        }
        leaving.cancel()
        try await serially { [self] in await writer.rest() }
        try outcome.get()
    }

    private func follow() async throws {
        var pause = Duration.seconds(1)
        var commits = database.changes().makeAsyncIterator()
        while true {
            do {
                try await flush()
                pause = .seconds(1)
            } catch let error as SyncError where error.isTransient {
                try await Task.sleep(for: pause)
                pause = min(pause * 2, .seconds(60))
                continue
            } catch let error as SecureStorageError where error.isSuspended {
                // The next commit is one after the suspension.
            }
            // The sequence ends when the task is cancelled, or the database is gone.
            guard try await commits.next() != nil else {
                try Task.checkCancellation()
                return
            }
            // What follows soon goes along.
            try await Task.sleep(for: .milliseconds(100))
        }
    }
}
