/// When a value was written, and by whom: of two values of one place, that of the greater timestamp
/// wins.
///
/// A time is the milliseconds since 1970 in its upper 48 bits, and a counter in its lower 16. A
/// writer always timestamps above what it overwrites, so that its clock decides only between writes
/// that did not know each other; see `Capture/Timestamping`.
package struct Timestamp: Hashable, Sendable {
    package var time: UInt64
    package var member: MemberID

    package init(time: UInt64, member: MemberID) {
        self.time = time
        self.member = member
    }

    /// What a row has that was there before the table was synced, or whose clock is forgotten:
    /// below every timestamp that a writer gives.
    package static let stablePoint = Timestamp(time: 0, member: .none)

    /// The time of so many milliseconds since 1970, with a counter of 0.
    package static func time(milliseconds: UInt64) -> UInt64 {
        min(milliseconds, UInt64.max >> 16) << 16
    }

    package var milliseconds: UInt64 { time >> 16 }

    /// The greatest time that a member's clock can give, in the year 4199, whatever the clock says:
    /// so there is always room above.
    package static let greatestClock = time(milliseconds: 1 << 46)

    /// The greatest time of a timestamp; a batch with a greater one is refused.
    ///
    /// It is an `Int64`, and so far above ``greatestClock`` that counting never gets there.
    package static let greatestTime = UInt64(Int64.max)
}

extension Timestamp: Comparable {
    package static func < (left: Timestamp, right: Timestamp) -> Bool {
        (left.time, left.member) < (right.time, right.member)
    }
}
