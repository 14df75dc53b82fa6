/// Up to where all members of a group have the same history, so that clocks and tombstones of it
/// decide nothing any more.
///
/// Whether a change is covered must be seen from its timestamp alone, by each member alike, since a
/// clock has no number of a batch. So a stable point is a time: each batch says that all later ones
/// of its log have timestamps above the batch's time, and the stable point's time is below the
/// lower bounds of all that is not yet known to all. Timestamps of clocks that are ahead are above
/// it and are kept.
package struct StablePoint: Hashable, Sendable {
    /// The number of the last batch of each log that all members have applied.
    package var positions: VersionVector
    /// In milliseconds since 1970: timestamps up to it, its last millisecond included, are
    /// forgotten.
    package var time: UInt64

    package init(positions: VersionVector = [:], time: UInt64 = 0) {
        self.positions = positions
        self.time = time
    }

    /// Whether a timestamp says nothing any more: it counts as ``Timestamp/stable point``.
    package func covers(_ timestamp: Timestamp) -> Bool {
        timestamp == .stablePoint || (timestamp.milliseconds <= time && time > 0)
    }

    /// The timestamp, or ``Timestamp/stable point`` if it is covered.
    package func reduced(_ timestamp: Timestamp) -> Timestamp {
        covers(timestamp) ? .stablePoint : timestamp
    }

    /// Returns a change with the timestamps that count above this stable point.
    ///
    /// Writers forget at different moments: one of two equal incarnations may be forgotten at its
    /// writer and not here, or the other way round. Each change is reduced before it is merged.
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
