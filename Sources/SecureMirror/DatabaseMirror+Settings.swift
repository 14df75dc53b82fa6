public import Foundation

extension DatabaseMirror {
    /// How a mirror ships, and what it keeps.
    public struct Settings: Sendable, Hashable {
        /// How long commits are collected before they are shipped together; half a second.
        ///
        /// A store that charges for each object costs less with a longer interval. How far the
        /// mirror lags behind also depends on the store's speed and, at the first start, on a
        /// snapshot of the whole database.
        public var interval: Duration = .milliseconds(500)

        /// How long every state that was shipped can be restored; 24 hours.
        ///
        /// After that, about one state per hour.
        public var keepsPoints: Duration = .seconds(24 * 3600)

        /// How long states are kept at all; 30 days.
        ///
        /// They go when a snapshot is that old: content that was deleted from the database may be
        /// in the store for twice this time.
        public var keepsHours: Duration = .seconds(30 * 24 * 3600)

        /// How large the write-ahead log may become while the store cannot be reached, in bytes; 1
        /// GiB.
        ///
        /// Beyond that the mirror lets go of the log, and begins with a snapshot of all pages
        /// later.
        public var logLimit = 1 << 30

        /// Creates the settings that are named at each property.
        public init() {}
    }

    /// The state of a mirror.
    public struct Status: Sendable {
        /// When everything that had been committed until then was in the store; nil before the
        /// first time.
        public internal(set) var completeAt: Date?
        /// When the first commit was noticed that is not in the store yet, or a flush failed; nil
        /// if nothing waits.
        public internal(set) var behindSince: Date?
        /// Bytes that this mirror has stored, without those of merged objects.
        public internal(set) var storedBytes = 0
        /// The last failure, until something succeeds.
        public internal(set) var failure: (any Error)?
        /// When the store is tried again after a failure that may pass.
        public internal(set) var nextTry: Date?
    }
}
