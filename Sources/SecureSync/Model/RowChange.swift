package import SecureStorage

/// A batch's change of one row: the changed part of the row's state on its writer.
///
/// An insertion has all columns, an update the written column groups, a deletion none.
package struct RowChange: Equatable, Sendable {
    package var table: String
    /// The values of the primary key's columns, in the key's order.
    package var key: [SQLiteValue]
    package var incarnation: Incarnation
    /// The written column groups, in no particular order.
    package var columnGroups: [ColumnGroup]

    package init(
        table: String, key: [SQLiteValue], incarnation: Incarnation,
        columnGroups: [ColumnGroup] = []
    ) {
        self.table = table
        self.key = key
        self.incarnation = incarnation
        self.columnGroups = columnGroups
    }

    /// The greatest timestamp in it.
    package var greatestTimestamp: Timestamp {
        columnGroups.reduce(incarnation.timestamp) { max($0, $1.timestamp) }
    }

    /// A row's insertion or deletion.
    ///
    /// Each insertion begins a new incarnation, with a timestamp above any that the writer knew of
    /// the row.
    package struct Incarnation: Equatable, Sendable {
        package var timestamp: Timestamp
        package var isAlive: Bool
        /// The greatest timestamp that the writer knew of the row when it began or ended this
        /// incarnation; nil if it knew none.
        ///
        /// A value with a greater timestamp is concurrent with this change, so it is a conflict if
        /// it loses.
        package var known: Timestamp?

        package init(timestamp: Timestamp, isAlive: Bool, known: Timestamp? = nil) {
            self.timestamp = timestamp
            self.isAlive = isAlive
            self.known = known
        }
    }

    /// Columns that win or lose together: one column, unless the table was declared otherwise.
    package struct ColumnGroup: Equatable, Sendable {
        package var columns: [String]
        package var values: [SQLiteValue]
        package var timestamp: Timestamp
        /// The columns' previous timestamp, known to the writer; nil if it knew none, or inserted
        /// the row itself and had not sent it.
        package var known: Timestamp?

        package init(
            columns: [String], values: [SQLiteValue], timestamp: Timestamp, known: Timestamp? = nil
        ) {
            self.columns = columns
            self.values = values
            self.timestamp = timestamp
            self.known = known
        }
    }
}

/// The row of a change; the table's name is case-insensitive.
struct RowPlace: Hashable {
    private let table: String
    private let key: RowKey

    init(_ change: RowChange) {
        (table, key) = (change.table.sqlNameKey, RowKey(change.key))
    }
}
