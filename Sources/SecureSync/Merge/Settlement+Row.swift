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
        /// nil for a deleted or unknown row.
        var values: [SQLiteValue]?
        /// The values in the table.
        var shown: [SQLiteValue]?
        /// The held-back values; for a new row, this and `shown` are nil.
        var heldBackValues: [SQLiteValue]?
        var heldBackStanding: Standing?
        var heldBackBlocker: RowKey?
        var isClockChanged = false
        /// Whether the held-back row must be written again although its standing is unchanged.
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

        /// Whether the row was inserted before another one.
        func isBefore(_ other: Row) -> Bool {
            let (left, right) = (
                clock?.incarnation ?? .stablePoint, other.clock?.incarnation ?? .stablePoint
            )
            return left == right ? id.key < other.id.key : left < right
        }
    }
}
