/// How the registers of a row are written.
enum RowKind: UInt64 {
    /// A deleted row has none.
    case deleted
    /// Each with its stamps.
    case ownStamps
    /// All were written when the row's life began: an insertion.
    case lifeStamps

    init(_ change: RowChange) {
        if !change.life.isAlive {
            self = .deleted
        } else {
            let isInsertion = change.registers.allSatisfy {
                $0.stamp == change.life.stamp && $0.known == nil
            }
            self = isInsertion ? .lifeStamps : .ownStamps
        }
    }
}
