package import Foundation

/// A batch of a member's log, and by its hash all that precede it.
package struct LogHead: Hashable, Sendable {
    package var member: MemberID
    /// From 1; 0 is before the first batch.
    package var number: UInt64
    /// The SHA-256 of the batch's bytes: 32 bytes, or the first 8 where another member mentions it.
    package var hash: Data

    package init(member: MemberID, number: UInt64, hash: Data) {
        self.member = member
        self.number = number
        self.hash = hash
    }

    /// Before the first batch of a log.
    package static func beginning(of member: MemberID) -> LogHead {
        LogHead(member: member, number: 0, hash: Data(count: 32))
    }
}
