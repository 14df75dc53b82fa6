package import SecureStorage

/// What a batch says of one row: its state at its writer, as far as it was changed there.
///
/// An insertion has all columns, an update the groups of columns that it touched, a deletion none.
package struct RowChange: Equatable, Sendable {
    package var table: String
    /// The values of the primary key's columns, in the key's order.
    package var key: [SQLiteValue]
    package var incarnation: Incarnation
    /// The groups of columns that were written, in no particular order.
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

    /// A row's beginning or its end.
    ///
    /// Each insertion begins a new incarnation, with a timestamp above those of all that the writer
    /// knew of the row.
    package struct Incarnation: Equatable, Sendable {
        package var timestamp: Timestamp
        package var isAlive: Bool
        /// The greatest timestamp that the writer knew of the row when it began or ended this
        /// incarnation; nil if it knew none.
        ///
        /// What has a greater one was written without knowledge of this change, so if it loses, it
        /// is a conflict.
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
        /// The timestamp that the columns had when they were written; nil if the writer knew none,
        /// or has inserted the row itself and told nobody before.
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

/// Which row a change is of, whatever case its table is written in.
struct RowPlace: Hashable {
    private let table: String
    private let key: RowKey

    init(_ change: RowChange) {
        (table, key) = (change.table.sqlNameKey, RowKey(change.key))
    }
}
