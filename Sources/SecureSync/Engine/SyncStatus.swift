public import Foundation
internal import SecureStoragePlatform

/// The current state of an engine.
public struct SyncStatus: Sendable {
    /// The phases of an engine.
    public enum Phase: Sendable, Hashable {
        /// There is nothing to do, or nothing has started.
        case idle
        /// Changes are being sent or applied.
        case syncing
        /// The last attempt failed; see ``SyncStatus/failure``.
        case failed
    }

    /// The current phase.
    public internal(set) var phase = Phase.idle
    /// When everything in the store was last applied here, and all local changes were in the store;
    /// nil before the first time.
    public internal(set) var completeAt: Date?
    /// How many sealed batches the store does not have yet.
    public internal(set) var waitingBatches = 0
    /// The size of the sealed batches that the store does not have yet, in bytes.
    public internal(set) var waitingBytes = 0
    /// How many new devices of the group the app has not acknowledged yet:
    /// ``SyncEngine/newMembers()``.
    public internal(set) var newMembers = 0
    /// Why the last attempt failed; nil after a success.
    public internal(set) var failure: (any Error)?
    /// When the next attempt is due; nil if nothing has failed.
    public internal(set) var nextTry: Date?
}

extension SyncEngine {
    /// The state as of now.
    public var status: SyncStatus { changes.now }

    /// The current state and each later one; a slow reader misses some, never the last one.
    public var statuses: AsyncStream<SyncStatus> { changes.stream() }
}

/// The work done by one call of ``SyncEngine/syncOnce()``.
public struct SyncReport: Sendable, Hashable {
    /// Batches of this member that are in the store now.
    public internal(set) var sentBatches = 0
    /// Applied transactions of other members.
    public internal(set) var appliedTransactions = 0
    /// Applied rows of other members, except rows of a loaded snapshot.
    public internal(set) var appliedRows = 0
    /// Whether this member wrote a snapshot of all rows.
    public internal(set) var hasWrittenSnapshot = false
    /// Whether the rows were replaced with a snapshot's.
    ///
    /// The file has just joined, is a copy, or was offline so long that batches it needs are gone.
    /// Changes that only this file had were reapplied to the snapshot's rows.
    public internal(set) var hasLoadedSnapshot = false
    /// Whether the engine detected that this file is a copy of another member's file, and made it a
    /// separate member.
    public internal(set) var hasForked = false
}
