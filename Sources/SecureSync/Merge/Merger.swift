import SecureStorage

/// The result of a merge.
package struct MergeReport: Equatable, Sendable {
    /// Rows written to their tables or removed from them.
    package var written = 0
    /// Rows that are newly held back.
    package var heldBack = 0
    /// Held-back rows that returned to their tables.
    package var returned = 0
    package var conflicts = 0
    /// Changes of tables and columns that this file does not have yet.
    package var later = 0
}

/// Merges changes into a file.
///
/// Most rows only need ``DirectWrites``; the others are left to a ``Settlement``.
///
/// To be used within one transaction, with capture off.
final class Merger {
    private let db: SecureDatabaseStore
    private let tables: [MergedTable]
    private let names: [String: MergedTable]
    /// The table of the last change, as its writer names it; the next change is usually in the same
    /// table.
    private var last: (name: String, table: MergedTable)?
    private let direct: DirectWrites
    private let settlement: Settlement
    private let conflicts: ConflictList
    private let later: LaterChanges
    private(set) var report = MergeReport()
    private(set) var greatestTime: UInt64 = 0
    /// Whether lost values are a conflict.
    var isListed: (LostValues) -> Bool = { _ in true }

    init(_ shapes: [TableShape], in db: SecureDatabaseStore) throws {
        self.db = db
        // A PRAGMA makes the connection prepare every statement again.
        if try Self.hasReferences(in: db) {
            try db.executeStatements("PRAGMA defer_foreign_keys = ON")
        }
        let members = try MemberNumbers(in: db)
        let tables = try MergedTable.all(shapes, members: members, in: db)
        self.tables = tables
        names = Dictionary(
            tables.map { ($0.shape.name.sqlNameKey, $0) }, uniquingKeysWith: { $1 })
        settlement = try Settlement(tables, in: db)
        direct = DirectWrites(settlement)
        conflicts = ConflictList(db: db)
        later = LaterChanges(db: db)
    }

    /// Whether any table may have references; tables that are not synced may refer to synced ones.
    private static func hasReferences(in db: SecureDatabaseStore) throws -> Bool {
        try db.int(
            forQuery:
                """
                SELECT EXISTS (SELECT 1 FROM main.sqlite_schema
                    WHERE type = 'table' AND instr(upper(sql), 'REFERENCES'))
                """) == 1
    }

    // MARK: - Changes

    func apply(_ change: RowChange) throws {
        greatestTime = max(greatestTime, change.greatestTimestamp.time)
        guard let table = table(of: change), change.key.count == table.keyCount else {
            try later.add(change)
            report.later += 1
            return
        }
        let change = table.shape.renamed(change)
        if try direct.tryWrite(change, table) { return }
        try join(try known(change, table), table)
    }

    private func table(of change: RowChange) -> MergedTable? {
        if let last, last.name == change.table { return last.table }
        let table = names[change.table.sqlNameKey]
        last = table.map { (change.table, $0) }
        return table
    }

    /// Returns a change with the table's columns; columns that the table lacks wait.
    private func known(_ change: RowChange, _ table: MergedTable) throws -> RowChange {
        var (known, unknown) = (change, change)
        known.columnGroups = []
        unknown.columnGroups = []
        for columnGroup in change.columnGroups {
            var (own, other) = (columnGroup, columnGroup)
            (own.columns, own.values, other.columns, other.values) = ([], [], [], [])
            for (column, value) in zip(columnGroup.columns, columnGroup.values) {
                if let position = table.positions[column.sqlNameKey], position >= table.keyCount {
                    own.columns.append(table.columns[position])
                    own.values.append(value)
                } else {
                    other.columns.append(column)
                    other.values.append(value)
                }
            }
            if !own.columns.isEmpty { known.columnGroups.append(own) }
            if !other.columns.isEmpty { unknown.columnGroups.append(other) }
        }
        if !unknown.columnGroups.isEmpty {
            try later.add(unknown)
            report.later += 1
        }
        return known
    }

    /// Merges a change with the known state of its row, for the settlement to write.
    ///
    /// - Parameters:
    ///   - change: Another member's change.
    ///   - table: Its table.
    ///   - isLate: Whether it waited for its columns. Nobody wrote the defaults that a migration
    ///     gave them, so their loss is not a conflict.
    /// - Throws: The errors of the database.
    private func join(
        _ change: RowChange, _ table: MergedTable, isLate: Bool = false
    ) throws {
        let row = try settlement.rows.row(table, change.key)
        guard var state = row.state(table) else {
            try set(row, RowState(change), table)
            return
        }
        let before = state
        // An earlier incarnation's values lose as they are.
        if isLate, change.incarnation.timestamp == state.incarnation {
            for column in change.columnGroups.lazy.flatMap(\.columns)
            where state.cells[column]?.timestamp == state.incarnation {
                state.cells[column] = nil
            }
        }
        let lost = state.merge(change).filter(isListed)
        if !isLate {
            for lost in lost { try conflicts.add(lost, table.shape.name, change.key) }
            report.conflicts += lost.count
        }
        if state != before { try set(row, state, table) }
    }

    private func set(_ row: Settlement.Row, _ state: RowState, _ table: MergedTable) throws {
        var clock = RowClock(incarnation: state.incarnation, isAlive: state.isAlive)
        guard state.isAlive else {
            settlement.set(row, nil, clock: clock)
            return
        }
        let defaults = state.cells.count < table.columns.count - table.keyCount
        var values = defaults ? try table.defaults() : table.columns.map { _ in .null }
        for position in table.columns.indices {
            if position < table.keyCount {
                values[position] = row.key[position]
            } else if let cell = state.cells[table.columns[position]] {
                values[position] = cell.value
                clock[table.numbers[position]] = cell.timestamp
            }
        }
        settlement.set(row, values, clock: clock)
    }

    // MARK: - Finishing

    /// Passes rows written by the app to the settlement.
    func note(_ changes: [RowChange]) throws {
        for change in changes {
            guard let table = table(of: change) else { continue }
            let row = try settlement.rows.row(table, change.key)
            settlement.note(row)
            if let hidden = row.heldBackValues, row.shown != hidden,
                row.shown != nil || row.values == nil
            {
                let positions = hidden.indices.filter {
                    $0 >= table.keyCount && row.shown?[$0] != hidden[$0]
                }
                try conflicts.add(
                    LostValues(
                        columns: positions.map { table.columns[$0] },
                        values: positions.map { hidden[$0] },
                        timestamp: change.incarnation.known ?? .stablePoint,
                        winner: change.incarnation.timestamp, reason: .replacedUnseen),
                    table.shape.name, change.key)
                report.conflicts += 1
            }
        }
        // A row's former values are no longer known, so all rows that may have waited for it are
        // checked.
        for table in tables where settlement.rows.heldBackTables.contains(table.shape.number) {
            let isTouched = changes.contains { change in
                change.table.isSameName(as: table.shape.name)
                    || table.references.contains {
                        tables[$0.parent].shape.name.isSameName(as: change.table)
                    }
            }
            if isTouched { try noteHeldBack(of: table) }
        }
    }

    /// Passes rows whose parents may be missing to the settlement.
    func note(_ orphans: [Orphans.Row]) throws {
        for orphan in orphans {
            guard let table = names[orphan.table.sqlNameKey] else { continue }
            settlement.note(try settlement.rows.row(table, orphan.key))
        }
    }

    private func noteHeldBack(of table: MergedTable, isAnew: Bool = false) throws {
        for key in try settlement.rows.heldBack.keys(of: table.shape.number) {
            guard let values = key.values(), values.count == table.keyCount else { continue }
            let row = try settlement.rows.row(table, values)
            if isAnew {
                row.isRefused = false
                // Written again: places and columns may have new names.
                row.isStale = true
            }
            settlement.note(row)
        }
    }

    func noteAllHeldBack(isAnew: Bool = false) throws {
        for table in tables where settlement.rows.heldBackTables.contains(table.shape.number) {
            try noteHeldBack(of: table, isAnew: isAnew)
        }
    }

    /// Merges changes that waited for a migration, and checks all held-back rows again.
    func joinLater() throws {
        for (change, entry) in try later.all() {
            guard let table = table(of: change), change.key.count == table.keyCount else {
                continue
            }
            try later.remove(entry)
            try join(try known(table.shape.renamed(change), table), table, isLate: true)
        }
        try noteAllHeldBack(isAnew: true)
    }

    /// Settles the rest; up to a number, new clocks stay in their small tables.
    func finish(keeping recentClockLimit: Int) throws {
        report.written += direct.written
        try direct.noteWritten()
        if !settlement.dirty.isEmpty {
            let outcome = try Placement(settlement: settlement, db: db).run()
            report.written += outcome.written
            report.heldBack += outcome.heldBack
            report.returned += outcome.returned
        }
        if report.conflicts > 0 { try conflicts.trim() }
        for table in tables { try table.clocks.moveRecent(keeping: recentClockLimit) }
    }
}

extension Settlement.Row {
    /// nil if the row is unknown.
    fileprivate func state(_ table: MergedTable) -> RowState? {
        guard let clock = clock ?? (values == nil ? nil : .stablePoint) else { return nil }
        guard clock.isAlive, let values else {
            return RowState(incarnation: clock.incarnation, isAlive: false)
        }
        var state = RowState(incarnation: clock.incarnation, isAlive: true)
        for position in table.keyCount..<table.columns.count {
            state.cells[table.columns[position]] = .init(
                value: values[position], timestamp: clock[table.numbers[position]])
        }
        return state
    }
}
