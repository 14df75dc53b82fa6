import SecureStorage

extension Settlement {
    struct RowID: Hashable {
        var table: Int
        var key: RowKey
    }

    final class Row {
        let id: RowID
        let key: [SQLiteValue]
        var clock: RowClock?
        /// nil for a row that is dead or unknown.
        var values: [SQLiteValue]?
        /// What the table has.
        var shown: [SQLiteValue]?
        /// What was held back; `shown` and this are nil for a row that is new.
        var heldBackValues: [SQLiteValue]?
        var heldBackStanding: Standing?
        var heldBackBlocker: RowKey?
        var isClockChanged = false
        /// Whether what is held back has to be written again although it stands as before.
        var isStale = false
        var isRefused = false
        var isSound = false
        var isWinner = false
        var isVisible = false
        var blocker: RowID?

        init(id: RowID, key: [SQLiteValue]) {
            self.id = id
            self.key = key
        }

        var standing: Standing {
            guard values != nil else { return .absent }
            if isVisible { return .visible }
            if isWinner { return .waiting }
            if isSound { return .duplicate }
            return isRefused ? .refused : .orphan
        }

        /// Before another row if it came first.
        func isBefore(_ other: Row) -> Bool {
            let (left, right) = (
                clock?.incarnation ?? .stablePoint, other.clock?.incarnation ?? .stablePoint
            )
            return left == right ? id.key < other.id.key : left < right
        }
    }
}
