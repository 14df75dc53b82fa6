/// The time up to which all members of a group have the same history, so its clocks and tombstones
/// are no longer needed.
///
/// Each member must decide from a timestamp alone whether a change is covered, since a clock has no
/// batch number. So a stable point is a time. Each batch's time is a lower bound for later batches
/// of its log, and the stable point stays at or below the lower bounds of everything that some
/// member may not know. Timestamps from clocks that are ahead are above it, and are kept.
package struct StablePoint: Hashable, Sendable {
    /// For each log, the number of the last batch that all members have applied.
    package var positions: VersionVector
    /// In milliseconds since 1970: timestamps up to and including this millisecond are forgotten.
    package var time: UInt64

    package init(positions: VersionVector = [:], time: UInt64 = 0) {
        self.positions = positions
        self.time = time
    }

    /// Whether a timestamp is at or below the stable point: it counts as ``Timestamp/stablePoint``.
    package func covers(_ timestamp: Timestamp) -> Bool {
        timestamp == .stablePoint || (timestamp.milliseconds <= time && time > 0)
    }

    /// The timestamp, or ``Timestamp/stablePoint`` if it is covered.
    package func reduced(_ timestamp: Timestamp) -> Timestamp {
        covers(timestamp) ? .stablePoint : timestamp
    }

    /// Returns a change in which covered timestamps are replaced with ``Timestamp/stablePoint``.
    ///
    /// Members forget at different moments: one of two equal incarnations may be forgotten on its
    /// writer but not here, or the reverse. So each change is reduced before it is merged.
    package func reduced(_ change: RowChange) -> RowChange {
        var change = change
        change.incarnation.timestamp = reduced(change.incarnation.timestamp)
        change.incarnation.known = change.incarnation.known.map(reduced)
        for index in change.columnGroups.indices {
            change.columnGroups[index].timestamp = reduced(change.columnGroups[index].timestamp)
            change.columnGroups[index].known = change.columnGroups[index].known.map(reduced)
        }
        return change
    }
}
