import SecureStorage

/// Determines which rows are visible after some have changed, without checking all rows.
///
/// Visibility is a function of the merged rows alone, whatever their order:
/// 1. A row is *sound* if the table accepts it, and all rows that it refers to are sound.
/// 2. A sound row *wins* unless it has a unique value of a winner of lower rank. Ranks are a total
///    order, so this defines the winners one by one.
/// 3. A winner is *visible* if all rows that it refers to are visible. An invisible winner keeps
///    its unique values: otherwise its waiting could let in a row that keeps it waiting.
///
/// Effects only spread from a row to the rows that refer to it, and to rows of higher rank with its
/// unique values. So the work follows changes until nothing changes.
final class Settlement {
    let rows: SettlementRows
    let tables: [MergedTable]
    /// Rows that changed, or whose standing may change for another reason.
    private(set) var dirty: Set<RowID> = []

    /// The tests decided by references; each has its own result for a row.
    private enum Level { case sound, visible }

    init(_ tables: [MergedTable], in db: SecureDatabaseStore) throws {
        self.tables = tables
        rows = try SettlementRows(tables, in: db)
    }

    // MARK: - Rows to check

    /// Changes a row's values; nil if it is deleted.
    func set(_ row: Row, _ values: [SQLiteValue]?, clock: RowClock) {
        rows.change(row, to: values)
        row.clock = clock
        row.isClockChanged = true
        row.isRefused = false
        dirty.insert(row.id)
    }

    /// Marks a row to be checked again.
    func note(_ row: Row) { dirty.insert(row.id) }

    func refuse(_ row: Row) {
        row.isRefused = true
        dirty.insert(row.id)
    }

    /// Marks the rows that refer to a changed row's former values to be checked again.
    private func noteReferrersOfFormer() throws {
        for row in rows.all where row.isClockChanged {
            let table = rows.tables[row.id.table]
            for former in [row.shown, row.heldBackValues].compactMap({ $0 }) {
                if let values = row.values,
                    former.indices.allSatisfy({
                        !table.isReferredTo[$0] || former[$0] == values[$0]
                    })
                {
                    continue
                }
                for (child, reference) in table.referrers {
                    for row in try rows.referrers(of: former, tables[child], reference) {
                        note(row)
                    }
                }
            }
        }
    }

    // MARK: - The three tests

    func settle() throws {
        rows.forgetSought()
        try noteReferrersOfFormer()
        var changed = dirty
        try support(.sound, &changed)
        try compete(&changed)
        try support(.visible, &changed)
        dirty = changed
    }

    private func passes(_ level: Level) -> (Row) -> Bool {
        switch level {
        case .sound: { $0.isSound }
        case .visible: { $0.isVisible }
        }
    }

    private func isBase(_ row: Row, _ level: Level) -> Bool {
        switch level {
        case .sound: row.values != nil && !row.isRefused
        case .visible: row.isWinner && row.values != nil
        }
    }

    private func set(_ row: Row, _ level: Level, _ value: Bool) {
        switch level {
        case .sound: row.isSound = value
        case .visible: row.isVisible = value
        }
    }

    /// Whether all rows that a row refers to pass.
    private func isSupported(_ row: Row, _ passes: (Row) -> Bool) throws -> Bool {
        guard let values = row.values else { return false }
        for reference in tables[row.id.table].references {
            guard let bytes = reference.place.bytes(of: values) else { continue }
            let parent = tables[reference.parent]
            let own = reference.place.values(of: values)
            if let order = reference.keyOrder {
                let found = try rows.row(parent, order.map { own[$0] })
                guard found.values != nil, passes(found) else { return false }
            } else {
                guard
                    let unique = parent.uniques.firstIndex(where: {
                        Set($0.positions) == Set(reference.parentPlace.positions)
                    })
                else { continue }
                let positions = parent.uniques[unique].positions
                let values = positions.compactMap { position in
                    reference.parentPlace.positions.firstIndex(of: position).map { own[$0] }
                }
                var parentRow = parent.columns.map { _ in SQLiteValue.null }
                for (position, value) in zip(positions, values) { parentRow[position] = value }
                let key = parent.uniques[unique].bytes(of: parentRow) ?? bytes
                guard try rows.holders(parent, unique, key, values).contains(where: passes) else {
                    return false
                }
            }
        }
        return true
    }

    /// The greatest set of rows that support each other: first all possible rows are added, then
    /// unsupported ones are removed.
    private func support(_ level: Level, _ changed: inout Set<RowID>) throws {
        let passes = passes(level)
        var before: [RowID: Bool] = [:]
        var queue = changed.compactMap { rows[$0] }
        var work = queue
        var seen = changed
        while let row = queue.popLast() {
            before[row.id] = before[row.id] ?? passes(row)
            guard isBase(row, level) else { continue }
            set(row, level, true)
            for child in try rows.referrers(of: row, shown: false)
            where !passes(child) && isBase(child, level) && seen.insert(child.id).inserted {
                queue.append(child)
                work.append(child)
            }
        }
        while let row = work.popLast() {
            guard passes(row) || changed.contains(row.id) else { continue }
            before[row.id] = before[row.id] ?? passes(row)
            let was = passes(row)
            let isSupported = try isBase(row, level) && isSupported(row, passes)
            set(row, level, isSupported)
            guard !isSupported, was || before[row.id] == true else { continue }
            work += try rows.referrers(of: row, shown: true).filter {
                passes($0) && $0.id != row.id
            }
        }
        for (id, was) in before {
            if let row = rows[id], passes(row) != was { changed.insert(id) }
        }
    }

    /// The winners among rows with the same unique values, lowest rank first.
    private func compete(_ changed: inout Set<RowID>) throws {
        var queue = changed.compactMap { rows[$0] }.filter { !tables[$0.id.table].uniques.isEmpty }
        for row in changed.compactMap({ rows[$0] }) where tables[row.id.table].uniques.isEmpty {
            if row.isWinner != row.isSound { row.isWinner = row.isSound }
        }
        let first = Set(queue.map(\.id))
        var isFirst = first
        queue.sort { $1.isBefore($0) }
        var queued = first
        while let row = queue.popLast() {
            queued.remove(row.id)
            let table = tables[row.id.table]
            let was = row.isWinner
            var blocker: Row?
            var rivals: [Row] = []
            if let values = row.values {
                for (number, unique) in table.uniques.enumerated() {
                    guard let bytes = unique.bytes(of: values) else { continue }
                    rivals += try rows.holders(table, number, bytes, unique.values(of: values))
                        .filter { $0 !== row }
                }
            }
            if row.isSound {
                for rival in rivals where rival.isWinner && rival.isBefore(row) {
                    if blocker.map({ rival.isBefore($0) }) ?? true { blocker = rival }
                }
            }
            rows.setBlocker(blocker?.id, of: row)
            row.isWinner = row.isSound && blocker == nil
            guard row.isWinner != was || isFirst.remove(row.id) != nil else { continue }
            changed.insert(row.id)
            var next = try rows.blocked(by: row)
            next += rivals.filter { row.isBefore($0) }
            for other in next where other !== row && queued.insert(other.id).inserted {
                let place = queue.firstIndex { $0.isBefore(other) } ?? queue.count
                queue.insert(other, at: place)
            }
        }
    }
}
