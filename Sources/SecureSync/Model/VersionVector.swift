/// The numbers of batches, of each log the last that is known; a log that is missing has none.
package typealias VersionVector = [MemberID: UInt64]

extension VersionVector {
    /// Whether all batches that `others` name are among these.
    package func cover(_ others: VersionVector) -> Bool {
        others.allSatisfy { member, number in self[member, default: 0] >= number }
    }

    /// The greater number of each log.
    package func joined(with others: VersionVector) -> VersionVector {
        merging(others) { Swift.max($0, $1) }
    }
}
