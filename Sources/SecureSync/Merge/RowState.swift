package import SecureStorage

/// The known state of one row: when its incarnation began or ended, and each column's value with
/// its timestamp.
///
/// Joining is commutative, associative and idempotent. The greater incarnation wins as a whole, so
/// nothing of an earlier incarnation returns; within one incarnation each column's greater
/// timestamp wins. A column group has one timestamp, so it needs no extra rule.
package struct RowState: Equatable, Sendable {
    package var incarnation: Timestamp
    package var isAlive: Bool
    /// By column name; empty if the row is deleted.
    package var cells: [String: Cell]

    package struct Cell: Equatable, Sendable {
        package var value: SQLiteValue
        package var timestamp: Timestamp

        package init(value: SQLiteValue, timestamp: Timestamp) {
            self.value = value
            self.timestamp = timestamp
        }

        /// Of two values with one timestamp, which only a copied file can write, the greater one is
        /// later.
        func isAfter(_ other: Cell) -> Bool {
            timestamp == other.timestamp ? value.isAfter(other.value) : timestamp > other.timestamp
        }
    }

    package init(incarnation: Timestamp, isAlive: Bool, cells: [String: Cell] = [:]) {
        self.incarnation = incarnation
        self.isAlive = isAlive
        self.cells = isAlive ? cells : [:]
    }

    /// The state of a member that only knows this change.
    package init(_ change: RowChange) {
        self.init(incarnation: change.incarnation.timestamp, isAlive: change.incarnation.isAlive)
        guard isAlive else { return }
        for columnGroup in change.columnGroups {
            for (column, value) in zip(columnGroup.columns, columnGroup.values) {
                let cell = Cell(value: value, timestamp: columnGroup.timestamp)
                // Members may spell a column differently; here it has one name.
                if let own = cells[column], !cell.isAfter(own) { continue }
                cells[column] = cell
            }
        }
    }

    package mutating func join(_ other: RowState) {
        guard isSameIncarnation(as: other) else {
            if isEarlierIncarnation(than: other) { self = other }
            return
        }
        for (column, cell) in other.cells {
            if let own = cells[column], !cell.isAfter(own) { continue }
            cells[column] = cell
        }
    }

    private func isSameIncarnation(as other: RowState) -> Bool {
        incarnation == other.incarnation && isAlive == other.isAlive
    }

    private func isEarlierIncarnation(than other: RowState) -> Bool {
        incarnation == other.incarnation
            ? isAlive && !other.isAlive : incarnation < other.incarnation
    }
}

/// Values of a row that lost to a concurrent write.
package struct LostValues: Equatable, Sendable {
    package var columns: [String]
    package var values: [SQLiteValue]
    /// The greatest timestamp among them.
    package var timestamp: Timestamp
    /// The timestamp of the winner.
    package var winner: Timestamp
    package var reason: Reason

    package init(
        columns: [String], values: [SQLiteValue], timestamp: Timestamp, winner: Timestamp,
        reason: Reason
    ) {
        self.columns = columns
        self.values = values
        self.timestamp = timestamp
        self.winner = winner
        self.reason = reason
    }

    package enum Reason: Int64, Sendable {
        /// Another value of the same column has the greater timestamp.
        case overwritten = 1
        /// The row was deleted.
        case deleted = 2
        /// The row was inserted again, or twice.
        case replaced = 3
        /// The row was held back, unseen by the app, and the app inserted another row with its key.
        case replacedUnseen = 4
        /// The row's deletion, which has no values, came too late.
        case deletionLost = 5
    }
}

extension RowState {
    /// Merges a change, which is new and comes after everything that its writer knew.
    ///
    /// - Returns: The values that lost to a write that did not know them. A value overwritten
    ///   knowingly, or with the same value, does not count as lost.
    package mutating func merge(_ change: RowChange) -> [LostValues] {
        let other = RowState(change)
        defer { join(other) }
        guard isSameIncarnation(as: other) else {
            return isEarlierIncarnation(than: other)
                ? lost(self, to: other, unknownTo: change.incarnation.known)
                : lost(other, to: self, unknownTo: nil)
        }
        return change.columnGroups.compactMap { columnGroup in
            var (overwritten, refused): ([(String, Cell)], [(String, Cell)]) = ([], [])
            for column in columnGroup.columns {
                guard let own = cells[column], let new = other.cells[column],
                    own.value != new.value || own.timestamp == new.timestamp, own != new
                else { continue }
                if new.isAfter(own) {
                    if own.timestamp > columnGroup.known ?? .stablePoint {
                        overwritten.append((column, own))
                    }
                } else if columnGroup.timestamp > incarnation {
                    // The insertion's own values are known to all who edit the row.
                    refused.append((column, new))
                }
            }
            let winner =
                columnGroup.columns.compactMap { cells[$0]?.timestamp }.max()
                ?? columnGroup.timestamp
            return LostValues(overwritten, winner: columnGroup.timestamp, .overwritten)
                ?? LostValues(refused, winner: winner, .overwritten)
        }
    }

    private func lost(
        _ loser: RowState, to winner: RowState, unknownTo known: Timestamp?
    ) -> [LostValues] {
        let cells = loser.cells.filter { column, cell in
            cell.timestamp > known ?? .stablePoint && cell.value != winner.cells[column]?.value
        }
        let sorted = cells.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        return [
            LostValues(sorted, winner: winner.incarnation, winner.isAlive ? .replaced : .deleted)
        ].compactMap { $0 }
    }
}

extension LostValues {
    fileprivate init?(
        _ cells: [(String, RowState.Cell)], winner: Timestamp, _ reason: Reason
    ) {
        guard let timestamp = cells.map(\.1.timestamp).max() else { return nil }
        self.init(
            columns: cells.map(\.0), values: cells.map(\.1.value), timestamp: timestamp,
            winner: winner,
            reason: reason)
    }
}

extension RowState {
    package func encoded() -> [UInt8] {
        var writer = CBORWriter()
        writer.stored(incarnation)
        writer.bool(isAlive)
        writer.array(cells.count)
        for (column, cell) in cells.sorted(by: { $0.key < $1.key }) {
            writer.text(column)
            writer.stored(cell.timestamp)
            writer.stored(cell.value)
        }
        return writer.bytes
    }

    package init(decoding bytes: [UInt8]) throws {
        var reader = CBORReader(bytes)
        self.init(incarnation: try reader.storedTimestamp(), isAlive: try reader.bool())
        for _ in 0..<(try reader.array()) {
            let column = try reader.text()
            let timestamp = try reader.storedTimestamp()
            cells[column] = Cell(value: try reader.stored(), timestamp: timestamp)
        }
        try reader.expectEnd()
    }
}
