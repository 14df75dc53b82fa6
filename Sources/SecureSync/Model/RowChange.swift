package import SecureStorage

/// What a batch says of one row: its state at its writer, as far as it was changed there.
///
/// An insertion has all columns, an update the groups of columns that it touched, a deletion none.
package struct RowChange: Equatable, Sendable {
    package var table: String
    /// The values of the primary key's columns, in the key's order.
    package var key: [SQLiteValue]
    package var life: Life
    /// The groups of columns that were written, in no particular order.
    package var registers: [Register]

    package init(table: String, key: [SQLiteValue], life: Life, registers: [Register] = []) {
        self.table = table
        self.key = key
        self.life = life
        self.registers = registers
    }

    /// The greatest stamp in it.
    package var greatestStamp: Stamp {
        registers.reduce(life.stamp) { max($0, $1.stamp) }
    }

    /// A row's beginning or its end.
    ///
    /// Each insertion begins a new life, with a stamp above those of all that the writer knew of
    /// the row.
    package struct Life: Equatable, Sendable {
        package var stamp: Stamp
        package var isAlive: Bool
        /// The greatest stamp that the writer knew of the row when it began or ended this life; nil
        /// if it knew none.
        ///
        /// What has a greater one was written without knowledge of this change, so if it loses, it
        /// is a conflict.
        package var known: Stamp?

        package init(stamp: Stamp, isAlive: Bool, known: Stamp? = nil) {
            self.stamp = stamp
            self.isAlive = isAlive
            self.known = known
        }
    }

    /// Columns that win or lose together: one column, unless the table was declared otherwise.
    package struct Register: Equatable, Sendable {
        package var columns: [String]
        package var values: [SQLiteValue]
        package var stamp: Stamp
        /// The stamp that the columns had when they were written; nil if the writer knew none, or
        /// has inserted the row itself and told nobody before.
        package var known: Stamp?

        package init(
            columns: [String], values: [SQLiteValue], stamp: Stamp, known: Stamp? = nil
        ) {
            self.columns = columns
            self.values = values
            self.stamp = stamp
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
