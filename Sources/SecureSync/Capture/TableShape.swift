import SecureStorage

/// A synced table, as described by the file's schema and its declaration.
package struct TableShape: Equatable, Sendable {
    /// On every member.
    package var name: String
    /// The name in this file, which differs only for a key-value store.
    package var table: String
    /// Whether it is the table of a key-value store.
    package var isKeyValueStore: Bool { table != name }
    /// The number of the table in this file: part of the names of its bookkeeping tables.
    package var number: Int64
    /// The columns of the primary key, in the key's order.
    package var key: [String]
    /// The other writable columns, in column groups; generated columns are excluded.
    package var groups: [[String]]
    /// The columns of each UNIQUE constraint and unique index other than the primary key's.
    package var uniques: [Unique]
    package var foreignKeys: [ForeignKey]
    /// Whether the table may refuse a merged row because of its values: it is STRICT, or has a
    /// CHECK, a generated column, an index with an expression or a condition, or a trigger of the
    /// app.
    package var mayRefuseRows: Bool
    /// The number of each column that is in a group: its bit in a mark, its name in a clock.
    ///
    /// A number is never given to another name, even after the column is dropped.
    package var columnNumbers: [String: Int64]
    /// The present names of columns, by the keys of their former names.
    package var formerly: [String: String]

    package init(
        name: String, table: String? = nil, number: Int64, key: [String], groups: [[String]],
        uniques: [Unique] = [], foreignKeys: [ForeignKey] = [], mayRefuseRows: Bool = false,
        columnNumbers: [String: Int64] = [:], formerly: [String: String] = [:]
    ) {
        self.name = name
        self.table = table ?? name
        self.number = number
        self.key = key
        self.groups = groups
        self.uniques = uniques
        self.foreignKeys = foreignKeys
        self.mayRefuseRows = mayRefuseRows
        self.columnNumbers = columnNumbers
        self.formerly = formerly
    }

    /// A column's present name.
    func currentName(_ column: String) -> String {
        formerly.isEmpty ? column : formerly[column.sqlNameKey] ?? column
    }

    /// A change with the present column names.
    ///
    /// A change from a member with an older version may have both: the former column with its own
    /// value, and a waiting value of the new column from others. The later one counts; on a tie,
    /// the one under the new name.
    package func renamed(_ change: RowChange) -> RowChange {
        guard !formerly.isEmpty,
            change.columnGroups.contains(where: { columnGroup in
                columnGroup.columns.contains { formerly[$0.sqlNameKey] != nil }
            })
        else { return change }
        var timestamps: [String: Timestamp] = [:]
        for columnGroup in change.columnGroups {
            for column in columnGroup.columns where formerly[column.sqlNameKey] == nil {
                timestamps[column.sqlNameKey] = columnGroup.timestamp
            }
        }
        var former: [String: Timestamp] = [:]
        var change = change
        for index in change.columnGroups.indices {
            let columnGroup = change.columnGroups[index]
            guard let name = columnGroup.columns.first.flatMap({ formerly[$0.sqlNameKey] }),
                columnGroup.columns.count == 1
            else { continue }
            if let timestamp = timestamps[name.sqlNameKey], timestamp >= columnGroup.timestamp {
                change.columnGroups[index].columns = []
            } else {
                change.columnGroups[index].columns = [name]
                former[name.sqlNameKey] = columnGroup.timestamp
            }
        }
        change.columnGroups.removeAll { columnGroup in
            columnGroup.columns.isEmpty
                || columnGroup.columns.contains { column in
                    former[column.sqlNameKey].map { $0 > columnGroup.timestamp } ?? false
                }
        }
        return change
    }

    /// Runs `body`, and names this table in the error if a row has invalid text.
    func reading<R>(_ body: () throws -> R) throws -> R {
        do { return try body() } catch SecureStorageError.typeConversionFailed {
            throw SyncError.unsuitableTable(
                name,
                "a row has a TEXT that is not UTF-8, which cannot travel; store a BLOB instead")
        }
    }

    package struct Unique: Equatable, Sendable {
        package var columns: [String]
        /// The collation of each column, which decides equality.
        package var collations: [String]

        package init(columns: [String], collations: [String]) {
            self.columns = columns
            self.collations = collations
        }
    }

    /// A reference to another synced table.
    package struct ForeignKey: Equatable, Sendable {
        package var columns: [String]
        package var parent: String
        package var parentColumns: [String]
        /// The action of ON DELETE, in capitals: `CASCADE`, `NO ACTION`.
        package var onDelete: String

        package init(columns: [String], parent: String, parentColumns: [String], onDelete: String) {
            self.columns = columns
            self.parent = parent
            self.parentColumns = parentColumns
            self.onDelete = onDelete
        }
    }

    /// All sent columns: the key's, then the groups'.
    package var columns: [String] { key + groups.joined() }
    /// The names of the key's columns in the bookkeeping tables: `k0`, `k1` and so on.
    package var keyNames: [String] { key.indices.map { "k\($0)" } }
    package var markTable: String { "securestorage_sync_mark_\(number)" }
    package var clockTable: String { "securestorage_sync_row_\(number)" }
    /// With the same columns, for new clocks; see ``ClockTable``.
    package var recentClockTable: String { "securestorage_sync_recent_\(number)" }
    /// The two tables; a clock is in one of them.
    package var clockTables: [String] { [recentClockTable, clockTable] }
}
