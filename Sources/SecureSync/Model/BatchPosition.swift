package import Foundation

/// A batch of a member's log and, through its hash, all earlier ones.
package struct BatchPosition: Hashable, Sendable {
    package var member: MemberID
    /// From 1; 0 is before the first batch.
    package var number: UInt64
    /// The SHA-256 of the batch's bytes: 32 bytes, or the first 16 in another member's
    /// acknowledgement.
    package var hash: Data

    /// The length of a shortened hash.
    ///
    /// A member that signs two batches with the same number can make their hashes collide in this
    /// prefix; for 16 bytes, that takes 2^64 attempts.
    package static let shortHashCount = 16

    package init(member: MemberID, number: UInt64, hash: Data) {
        self.member = member
        self.number = number
        self.hash = hash
    }

    /// The snapshot that its writer had adopted; of a position of no member.
    var asSnapshot: SnapshotPin { SnapshotPin(number: number, hash: hash) }

    /// Before the first batch of a log.
    package static func beginning(of member: MemberID) -> BatchPosition {
        BatchPosition(member: member, number: 0, hash: Data(count: 32))
    }
}
