package import SecureStorage

/// Looks up live rows, in their tables or held back.
///
/// To be used within one transaction that does not create or alter tables.
package final class KnownRows {
    private let db: SecureDatabaseStore
    private var tables: [String: Table] = [:]
    private let heldBack: HeldBackRows

    private struct Table {
        var shape: TableShape
        var rows: RowReader
        var clocks: ClockTable
    }

    package init(_ capture: Capture, in db: SecureDatabaseStore) throws {
        self.db = db
        heldBack = HeldBackRows(db: db)
        let members = try MemberNumbers(in: db)
        for shape in try capture.shapes(in: db) {
            tables[shape.name.sqlNameKey] = Table(
                shape: shape, rows: try RowReader(shape, in: db),
                clocks: try ClockTable(of: shape, members: members, in: db))
        }
    }

    /// Whether the change's table exists, with a key of this size.
    func canHave(_ change: RowChange) -> Bool { table(of: change) != nil }

    private func table(of change: RowChange) -> Table? {
        tables[change.table.sqlNameKey].flatMap {
            $0.shape.key.count == change.key.count ? $0 : nil
        }
    }

    /// A change with the present column names.
    func renamed(_ change: RowChange) -> RowChange {
        table(of: change)?.shape.renamed(change) ?? change
    }

    /// Whether a change has all of its row's columns that this file has.
    func isWhole(_ change: RowChange) -> Bool {
        guard let table = table(of: change) else { return false }
        let names = Set(change.columnGroups.flatMap(\.columns).map(\.sqlNameKey))
        return table.shape.groups.joined().allSatisfy { names.contains($0.sqlNameKey) }
    }

    /// The incarnation of a change's row; nil if there is none.
    package func incarnation(of change: RowChange) throws -> Timestamp? {
        guard let table = table(of: change), try values(of: change) != nil else { return nil }
        return try table.clocks.clock(of: change.key)?.incarnation ?? .stablePoint
    }

    /// The values of a change's row, by the keys of its columns' names; nil if there is none.
    func values(of change: RowChange) throws -> [String: SQLiteValue]? {
        guard let table = table(of: change) else { return nil }
        let found =
            try table.rows.row(of: change.key)?.columns
            ?? heldBack.entry(table.shape.number, RowKey(change.key))?.values
        return found.map { columns in
            Dictionary(
                columns.map { (table.shape.currentName($0.key).sqlNameKey, $0.value) },
                uniquingKeysWith: { $1 })
        }
    }
}
