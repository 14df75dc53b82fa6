/// Up to where all members of a group have the same history, so that clocks and tombstones of it
/// decide nothing any more.
///
/// Whether a change is covered must be seen from its timestamp alone, by each member alike, since a
/// clock has no number of a batch. So a floor is a time: each batch promises that all later ones of
/// its log have timestamps above the batch's time, and the floor's time is below the promises of
/// all that is not yet known to all. Timestamps of clocks that are ahead are above it and are kept.
package struct Floor: Hashable, Sendable {
    /// The number of the last batch of each log that all members have applied.
    package var heads: Heads
    /// In milliseconds since 1970: timestamps up to it, its last millisecond included, are
    /// forgotten.
    package var time: UInt64

    package init(heads: Heads = [:], time: UInt64 = 0) {
        self.heads = heads
        self.time = time
    }

    /// The numbers of batches, of each log the last; a log that is missing has none.
    package typealias Heads = [MemberID: UInt64]

    /// Whether a timestamp says nothing any more: it counts as ``Timestamp/floor``.
    package func covers(_ timestamp: Timestamp) -> Bool {
        timestamp == .floor || (timestamp.milliseconds <= time && time > 0)
    }

    /// The timestamp, or ``Timestamp/floor`` if it is covered.
    package func reduced(_ timestamp: Timestamp) -> Timestamp {
        covers(timestamp) ? .floor : timestamp
    }

    /// Returns a change with the timestamps that count above this floor.
    ///
    /// Writers forget at different moments: one of two equal lives may be forgotten at its writer
    /// and not here, or the other way round. Each change is reduced before it is merged.
    package func reduced(_ change: RowChange) -> RowChange {
        var change = change
        change.life.timestamp = reduced(change.life.timestamp)
        change.life.known = change.life.known.map(reduced)
        for index in change.registers.indices {
            change.registers[index].timestamp = reduced(change.registers[index].timestamp)
            change.registers[index].known = change.registers[index].known.map(reduced)
        }
        return change
    }
}

extension Floor.Heads {
    /// Whether all batches that `others` name are among these.
    package func cover(_ others: Floor.Heads) -> Bool {
        others.allSatisfy { member, number in self[member, default: 0] >= number }
    }

    /// The greater number of each log.
    package func joined(with others: Floor.Heads) -> Floor.Heads {
        merging(others) { Swift.max($0, $1) }
    }
}
