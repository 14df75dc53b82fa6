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
        /// What was parked; `shown` and this are nil for a row that is new.
        var parkedValues: [SQLiteValue]?
        var parkedStanding: Standing?
        var parkedBlocker: RowKey?
        var isClockChanged = false
        /// Whether what is parked has to be written again although it stands as before.
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
            let (left, right) = (clock?.life ?? .floor, other.clock?.life ?? .floor)
            return left == right ? id.key < other.id.key : left < right
        }
    }
}
