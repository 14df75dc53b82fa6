/// When a value was written, and by which member: of two values for one column, the one with the
/// greater timestamp wins.
///
/// A hybrid logical clock: the upper 48 bits of a time are milliseconds since 1970, the lower 16 a
/// counter. A writer always timestamps above what it overwrites, so clocks only decide between
/// concurrent writes; see `Capture/Timestamping`.
package struct Timestamp: Hashable, Sendable {
    package var time: UInt64
    package var member: MemberID

    package init(time: UInt64, member: MemberID) {
        self.time = time
        self.member = member
    }

    /// The timestamp of rows from before the table was synced, or whose clock is forgotten: below
    /// every timestamp given by a writer.
    package static let stablePoint = Timestamp(time: 0, member: .none)

    /// The time for milliseconds since 1970, with a counter of 0.
    package static func time(milliseconds: UInt64) -> UInt64 {
        min(milliseconds, UInt64.max >> 16) << 16
    }

    package var milliseconds: UInt64 { time >> 16 }

    /// The greatest time that a member's clock can give, in the year 4199, so there is always room
    /// above.
    package static let greatestClock = time(milliseconds: 1 << 46)

    /// The greatest time of a timestamp; a batch with a greater one is refused.
    ///
    /// It fits an `Int64`, and is so far above ``greatestClock`` that counting never reaches it.
    package static let greatestTime = UInt64(Int64.max)
}

extension Timestamp: Comparable {
    package static func < (left: Timestamp, right: Timestamp) -> Bool {
        (left.time, left.member) < (right.time, right.member)
    }
}
