package import Foundation

/// A batch of a member's log, and by its hash all that precede it.
package struct BatchPosition: Hashable, Sendable {
    package var member: MemberID
    /// From 1; 0 is before the first batch.
    package var number: UInt64
    /// The SHA-256 of the batch's bytes: 32 bytes, or the first 16 where another member names
    /// it.
    package var hash: Data

    /// Whoever signs two batches with one number can make the beginnings of their hashes equal: of
    /// 16 bytes in 2^64 tries.
    package static let shortHashCount = 16

    package init(member: MemberID, number: UInt64, hash: Data) {
        self.member = member
        self.number = number
        self.hash = hash
    }

    /// Before the first batch of a log.
    package static func beginning(of member: MemberID) -> BatchPosition {
        BatchPosition(member: member, number: 0, hash: Data(count: 32))
    }
}
