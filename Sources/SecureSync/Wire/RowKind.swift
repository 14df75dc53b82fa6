/// How the column groups of a row are written.
enum RowKind: UInt64 {
    /// A deleted row has none.
    case deleted
    /// Each with its timestamps.
    case ownTimestamps
    /// All have the incarnation's timestamp: an insertion.
    case incarnationTimestamps

    init(_ change: RowChange) {
        if !change.incarnation.isAlive {
            self = .deleted
        } else {
            let isInsertion = change.columnGroups.allSatisfy {
                $0.timestamp == change.incarnation.timestamp && $0.known == nil
            }
            self = isInsertion ? .incarnationTimestamps : .ownTimestamps
        }
    }
}
