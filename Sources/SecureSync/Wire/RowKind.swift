/// How the registers of a row are written.
enum RowKind: UInt64 {
    /// A deleted row has none.
    case deleted
    /// Each with its timestamps.
    case ownTimestamps
    /// All were written when the row's life began: an insertion.
    case lifeTimestamps

    init(_ change: RowChange) {
        if !change.life.isAlive {
            self = .deleted
        } else {
            let isInsertion = change.registers.allSatisfy {
                $0.timestamp == change.life.timestamp && $0.known == nil
            }
            self = isInsertion ? .lifeTimestamps : .ownTimestamps
        }
    }
}
