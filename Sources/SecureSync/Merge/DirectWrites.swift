import SecureStorage

/// Writes changes directly if their rows are new or changed by one member only, without collisions
/// or missing parents.
///
/// SQLite's constraints show if a row does not qualify. Written rows may let in or keep out
/// held-back rows, and their parents may be missing: ``noteWritten()`` passes those to the
/// settlement.
final class DirectWrites {
    private let settlement: Settlement
    /// Whether held-back rows may depend on writes to a table.
    private let hasInterest: [Bool]
    /// How many rows were written or removed.
    private(set) var written = 0
    /// Rows for the settlement to check.
    private var toNote: [(MergedTable, [SQLiteValue])] = []
    /// The references of the written rows.
    private var referred: [Referred: [SQLiteValue]] = [:]

    private struct Referred: Hashable {
        var table: Int
        var reference: Int
        var bytes: [UInt8]
    }

    init(_ settlement: Settlement) {
        self.settlement = settlement
        let (tables, heldBack) = (settlement.tables, settlement.rows.heldBackTables)
        hasInterest = tables.map { table in
            !table.uniques.isEmpty && heldBack.contains(table.shape.number)
                || table.referrers.contains { heldBack.contains(tables[$0.table].shape.number) }
        }
    }

    /// Returns false, without any effect, if the change does not qualify.
    func tryWrite(_ change: RowChange, _ table: MergedTable) throws -> Bool {
        guard !settlement.rows.holds(table, change.key) else { return false }
        guard change.incarnation.isAlive else { return try tryDelete(change, table) }
        let isNew =
            change.columnGroups.count == table.shape.groups.count
            && change.columnGroups.allSatisfy { $0.timestamp == change.incarnation.timestamp }
        return isNew ? try tryInsert(change, table) : try tryUpdate(change, table)
    }

    private func tryInsert(_ change: RowChange, _ table: MergedTable) throws -> Bool {
        var values = change.key
        values.reserveCapacity(table.columns.count)
        for (columnGroup, group) in zip(change.columnGroups, table.shape.groups) {
            guard columnGroup.columns == group, columnGroup.values.count == group.count else {
                return false
            }
            values += columnGroup.values
        }
        if change.incarnation.timestamp == .stablePoint {
            // A snapshot's row, which needs no clock.
            guard try table.clocks.clock(of: change.key) == nil,
                try accepts({ try table.insert(values) })
            else { return false }
            noteInsertion(change, table, values)
            return true
        }
        let clock = RowClock(incarnation: change.incarnation.timestamp, isAlive: true)
        guard try table.clocks.claim(clock, of: change.key) else { return false }
        guard try accepts({ try table.insert(values) }) else {
            try table.clocks.remove(change.key)
            return false
        }
        noteInsertion(change, table, values)
        return true
    }

    private func noteInsertion(
        _ change: RowChange, _ table: MergedTable, _ values: [SQLiteValue]
    ) {
        written += 1
        noteReferences(table, values)
        noteIfWatched(table, change.key)
    }

    private func tryUpdate(_ change: RowChange, _ table: MergedTable) throws -> Bool {
        let found = try table.clocks.clock(of: change.key)
        guard
            var clock = found
                ?? (change.incarnation.timestamp == .stablePoint ? .stablePoint : nil),
            clock.isAlive, clock.incarnation == change.incarnation.timestamp
        else { return false }
        var positions: [Int] = []
        var values: [SQLiteValue] = []
        for columnGroup in change.columnGroups {
            for (column, value) in zip(columnGroup.columns, columnGroup.values) {
                guard let position = table.positions[column.sqlNameKey],
                    position >= table.keyCount, !table.isReferredTo[position]
                else { return false }
                let number = table.numbers[position]
                let old = clock[number]
                guard columnGroup.timestamp > old, old <= columnGroup.known ?? .stablePoint else {
                    return false
                }
                clock[number] = columnGroup.timestamp
                positions.append(position)
                values.append(value)
            }
        }
        var isDecisive = false
        for position in positions {
            // Checking the parent needs the whole reference.
            if table.isInReference[position] { return false }
            if table.isInUnique[position] { isDecisive = true }
        }
        guard !positions.isEmpty,
            try accepts({ try table.update(positions, to: values, of: change.key) })
        else { return false }
        try table.clocks.set(clock, of: change.key)
        written += 1
        if isDecisive { noteIfWatched(table, change.key) }
        return true
    }

    private func tryDelete(_ change: RowChange, _ table: MergedTable) throws -> Bool {
        guard table.referrers.isEmpty, !hasInterest[table.index],
            !settlement.rows.heldBackTables.contains(table.shape.number)
        else { return false }
        let clock = try table.clocks.clock(of: change.key) ?? .stablePoint
        guard clock.isAlive, change.incarnation.timestamp > clock.incarnation,
            clock.greatest <= change.incarnation.known ?? .stablePoint
        else { return false }
        if try accepts({ try table.delete(change.key) }) { written += 1 }
        try table.clocks.set(
            RowClock(incarnation: change.incarnation.timestamp, isAlive: false), of: change.key)
        return true
    }

    private func accepts(_ write: () throws -> Bool) throws -> Bool {
        do { return try write() } catch let error as SecureStorageError where error.isRefusal {
            return false
        }
    }

    private func noteIfWatched(_ table: MergedTable, _ key: [SQLiteValue]) {
        if hasInterest[table.index] { toNote.append((table, key)) }
    }

    private func noteReferences(_ table: MergedTable, _ values: [SQLiteValue]) {
        for (number, reference) in table.references.enumerated() {
            guard let bytes = reference.place.bytes(of: values) else { continue }
            let referred = Referred(table: table.index, reference: number, bytes: bytes)
            if self.referred[referred] == nil {
                self.referred[referred] = reference.place.values(of: values)
            }
        }
    }

    /// Passes rows affected by the written ones to the settlement.
    func noteWritten() throws {
        for (table, key) in toNote { settlement.note(try settlement.rows.row(table, key)) }
        for (referred, values) in referred {
            let table = settlement.tables[referred.table]
            let reference = table.references[referred.reference]
            let parent = settlement.tables[reference.parent]
            guard try parent.keys(at: reference.parentPlace, values, limit: 1).isEmpty else {
                continue
            }
            for row in try settlement.rows.referrers(
                table, referred.reference, referred.bytes, values)
            {
                settlement.note(row)
            }
        }
    }
}
