/// The number of the last known batch of each log; a missing log has none.
package typealias VersionVector = [MemberID: UInt64]

extension VersionVector {
    /// Whether all positions in `others` are covered.
    package func cover(_ others: VersionVector) -> Bool {
        others.allSatisfy { member, number in self[member, default: 0] >= number }
    }

    /// The greater number of each log.
    package func joined(with others: VersionVector) -> VersionVector {
        merging(others) { Swift.max($0, $1) }
    }
}
