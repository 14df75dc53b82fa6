public import Foundation
internal import SecureStoragePlatform

/// What an engine does, and what stands still, and why.
public struct SyncStatus: Sendable {
    /// What the engine does now.
    public enum Phase: Sendable, Hashable {
        /// Nothing is to be done, or nothing was begun.
        case idle
        /// Something is sent or applied.
        case syncing
        /// The last try failed; see ``SyncStatus/failure``.
        case failed
    }

    /// What the engine does now.
    public internal(set) var phase = Phase.idle
    /// When everything that was in the store had been applied and everything written here was in
    /// the store; nil before the first time.
    public internal(set) var completeAt: Date?
    /// How many sealed batches the store does not have yet.
    public internal(set) var waitingBatches = 0
    /// The size of the sealed batches that the store does not have yet, in bytes.
    public internal(set) var waitingBytes = 0
    /// How many devices have come into the group that the app has not acknowledged yet:
    /// ``SyncEngine/newMembers()``.
    public internal(set) var newMembers = 0
    /// Why the last try failed; nil after one that did not.
    public internal(set) var failure: (any Error)?
    /// When it is tried again; nil if nothing has failed.
    public internal(set) var nextTry: Date?
}

extension SyncEngine {
    /// The state as of now.
    public var status: SyncStatus { changes.now }

    /// The current state and each later one; a slow reader misses some, never the last one.
    public var statuses: AsyncStream<SyncStatus> { changes.stream() }
}

/// What one call of ``SyncEngine/syncOnce()`` has done.
public struct SyncReport: Sendable, Hashable {
    /// Batches of this member that are in the store now.
    public internal(set) var sentBatches = 0
    /// Transactions of other members that were applied.
    public internal(set) var appliedTransactions = 0
    /// Rows of other members that were applied; those of a loaded snapshot are not counted.
    public internal(set) var appliedRows = 0
    /// Whether this member has written a snapshot of all rows.
    public internal(set) var hasWrittenSnapshot = false
    /// Whether the rows were replaced by those of a snapshot.
    ///
    /// The file has just joined, is a copy, or was away for so long that batches which it lacks are
    /// gone. What only this file had written was put onto the snapshot's rows.
    public internal(set) var hasLoadedSnapshot = false
    /// Whether the file has found out that it is a copy of another one that goes on, and is now a
    /// member of its own.
    public internal(set) var hasForked = false
}
