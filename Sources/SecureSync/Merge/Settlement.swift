import SecureStorage

/// Finds out which rows are visible after some have changed, without looking at all.
///
/// What is visible is a function of the merged rows alone, whatever the order in which they came:
/// 1. A row is *sound* if the table takes it, and all that it refers to is sound.
/// 2. A sound row *wins* unless it has a unique value of a winner of lower rank. Ranks are a total
///    order, so this defines the winners one after the other.
/// 3. A winner is *visible* if all that it refers to is visible. One that is not keeps its unique
///    values: else its waiting could let in a row that keeps it waiting.
///
/// Rows outside of those that changed influence downwards only: from a row to those that refer to
/// it, and to those of higher rank with its unique values. So the work follows changes until
/// nothing changes.
final class Settlement {
    let tables: [MergedTable]
    let db: SecureDatabaseStore
    let parked: ParkedRows
    private(set) var rows: [RowID: Row] = [:]
    /// Rows that have changed, or may stand otherwise for another reason.
    private(set) var dirty: Set<RowID> = []
    /// Tables, by their numbers, that have parked rows in the file.
    let parkedTables: Set<Int64>

    private var index: [PlaceValue: Set<RowID>] = [:]
    private var blocked: [RowID: Set<RowID>] = [:]
    private var sought: Set<PlaceValue> = []
    private var soughtParked: Set<PlaceValue> = []

    struct RowID: Hashable {
        var table: Int
        var key: RowKey
    }

    private struct PlaceValue: Hashable {
        var table: Int
        /// Of the table's uniques, then of its references.
        var place: Int
        var bytes: [UInt8]
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

    /// The three tests; each has its own truth about a row.
    private enum Level { case sound, visible }

    init(_ tables: [MergedTable], in db: SecureDatabaseStore) throws {
        self.tables = tables
        self.db = db
        parked = ParkedRows(db: db)
        parkedTables = try parked.tables()
    }

    func holds(_ table: MergedTable, _ key: [SQLiteValue]) -> Bool {
        !rows.isEmpty && rows[RowID(table: table.index, key: RowKey(key))] != nil
    }

    // MARK: - Rows

    /// Returns a row as the file has it, or as it was set since.
    func row(_ table: MergedTable, _ key: [SQLiteValue]) throws -> Row {
        let id = RowID(table: table.index, key: RowKey(key))
        if let row = rows[id] { return row }
        let row = Row(id: id, key: key)
        row.clock = try table.clocks.clock(of: key)
        row.shown = try table.row(of: key)
        if let shown = row.shown {
            row.values = shown
            (row.isSound, row.isWinner, row.isVisible) = (true, true, true)
        }
        if parkedTables.contains(table.shape.number),
            let entry = try parked.entry(table.shape.number, id.key)
        {
            let defaults = try table.defaults()
            let values = table.columns.indices.map { position in
                position < table.keyCount
                    ? key[position] : entry.values[table.columns[position]] ?? defaults[position]
            }
            row.parkedValues = values
            row.parkedStanding = entry.standing
            row.parkedBlocker = entry.blocker
            if row.shown == nil, row.clock?.isAlive ?? true {
                row.values = values
                row.isRefused = entry.standing == .refused
                row.isSound = entry.standing >= .duplicate
                row.isWinner = entry.standing >= .waiting
                row.blocker = entry.blocker.map { RowID(table: table.index, key: $0) }
            }
        }
        rows[id] = row
        enter(row)
        return row
    }

    private func row(_ table: MergedTable, _ key: RowKey) throws -> Row? {
        if let row = rows[RowID(table: table.index, key: key)] { return row }
        guard let values = key.values(), values.count == table.keyCount else { return nil }
        return try row(table, values)
    }

    /// Changes what a row is; nil if it has died.
    func set(_ row: Row, _ values: [SQLiteValue]?, clock: RowClock) throws {
        leave(row)
        row.values = values
        row.clock = clock
        row.isClockChanged = true
        row.isRefused = false
        enter(row)
        dirty.insert(row.id)
    }

    /// Has a row looked at again, for what it is in the file.
    func note(_ row: Row) { dirty.insert(row.id) }

    func refuse(_ row: Row) {
        row.isRefused = true
        dirty.insert(row.id)
    }

    /// Has the rows looked at again that refer to what a row was in the file, if it is that no
    /// more.
    private func noteReferrersOfFormer() throws {
        for row in rows.values where row.isClockChanged {
            let table = tables[row.id.table]
            for former in [row.shown, row.parkedValues].compactMap({ $0 }) {
                if let values = row.values,
                    former.indices.allSatisfy({
                        !table.isReferredTo[$0] || former[$0] == values[$0]
                    })
                {
                    continue
                }
                for (child, reference) in table.referrers {
                    for row in try referrers(of: former, tables[child], reference) { note(row) }
                }
            }
        }
    }

    /// Has the rows looked at again that refer to such values.
    func noteReferrers(
        _ child: MergedTable, _ reference: Int, _ bytes: [UInt8], _ values: [SQLiteValue]
    ) throws {
        let number = child.uniques.count + reference
        let place = child.references[reference].place
        for row in try rows(child, number, place, bytes, values) { note(row) }
    }

    private func places(of row: Row) -> [PlaceValue] {
        guard let values = row.values else { return [] }
        let table = tables[row.id.table]
        return (table.uniques + table.references.map(\.place)).enumerated().compactMap {
            place in
            place.element.bytes(of: values).map {
                PlaceValue(table: table.index, place: place.offset, bytes: $0)
            }
        }
    }

    private func enter(_ row: Row) {
        for place in places(of: row) { index[place, default: []].insert(row.id) }
        if let blocker = row.blocker { blocked[blocker, default: []].insert(row.id) }
    }

    private func leave(_ row: Row) {
        for place in places(of: row) { index[place]?.remove(row.id) }
    }

    // MARK: - Looking rows up

    /// All rows that have these values in a place.
    private func rows(
        _ table: MergedTable, _ number: Int, _ place: MergedTable.Place, _ bytes: [UInt8],
        _ values: [SQLiteValue], shown: Bool = true
    ) throws -> [Row] {
        let sought = PlaceValue(table: table.index, place: number, bytes: bytes)
        if parkedTables.contains(table.shape.number), soughtParked.insert(sought).inserted {
            for key in try parked.keys(at: place, bytes) { _ = try row(table, key) }
        }
        if shown, self.sought.insert(sought).inserted {
            for key in try table.keys(at: place, values) { _ = try row(table, key) }
        }
        return (index[sought] ?? []).compactMap { rows[$0] }
    }

    /// The rows of a table that have the values of a unique.
    private func holders(
        _ table: MergedTable, _ unique: Int, _ bytes: [UInt8], _ values: [SQLiteValue]
    ) throws -> [Row] { try rows(table, unique, table.uniques[unique], bytes, values) }

    /// The rows that refer to a row with these values.
    private func referrers(
        of parent: [SQLiteValue], _ child: MergedTable, _ reference: Int, shown: Bool = true
    ) throws -> [Row] {
        let found = child.references[reference]
        guard let bytes = found.parentPlace.bytes(of: parent) else { return [] }
        return try rows(
            child, child.uniques.count + reference, found.place, bytes,
            found.parentPlace.values(of: parent), shown: shown)
    }

    /// The rows that refer to a row; those in their tables only if they are asked for, since there
    /// may be many.
    private func referrers(of row: Row, shown: Bool) throws -> [Row] {
        guard let values = row.values else { return [] }
        return try tables[row.id.table].referrers.flatMap {
            try referrers(of: values, tables[$0.table], $0.reference, shown: shown)
        }
    }

    /// Whether each row that a row refers to passes.
    private func isSupported(_ row: Row, _ passes: (Row) -> Bool) throws -> Bool {
        guard let values = row.values else { return false }
        for reference in tables[row.id.table].references {
            guard let bytes = reference.place.bytes(of: values) else { continue }
            let parent = tables[reference.parent]
            let own = reference.place.values(of: values)
            if let order = reference.keyOrder {
                let found = try self.row(parent, order.map { own[$0] })
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
                guard try holders(parent, unique, key, values).contains(where: passes) else {
                    return false
                }
            }
        }
        return true
    }

    // MARK: - The three tests

    func settle() throws {
        // Rows may have been written since they were sought.
        sought = []
        soughtParked = []
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

    /// The greatest set of rows that support each other: first, all that could have come in are
    /// taken as in, then those without support go.
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
            for child in try referrers(of: row, shown: false)
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
            work += try referrers(of: row, shown: true).filter { passes($0) && $0.id != row.id }
        }
        for (id, was) in before {
            if let row = rows[id], passes(row) != was { changed.insert(id) }
        }
    }

    /// The winners among rows with the same unique values, the lowest rank first.
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
                    rivals += try holders(table, number, bytes, unique.values(of: values))
                        .filter { $0 !== row }
                }
            }
            if row.isSound {
                for rival in rivals where rival.isWinner && rival.isBefore(row) {
                    if blocker.map({ rival.isBefore($0) }) ?? true { blocker = rival }
                }
            }
            if let old = row.blocker { blocked[old]?.remove(row.id) }
            row.blocker = blocker?.id
            if let blocker { blocked[blocker.id, default: []].insert(row.id) }
            row.isWinner = row.isSound && blocker == nil
            guard row.isWinner != was || isFirst.remove(row.id) != nil else { continue }
            changed.insert(row.id)
            if parkedTables.contains(table.shape.number) {
                for key in try parked.keys(of: table.shape.number, blockedBy: row.id.key) {
                    _ = try self.row(table, key)
                }
            }
            var next = (blocked[row.id] ?? []).compactMap { rows[$0] }
            next += rivals.filter { row.isBefore($0) }
            for other in next where other !== row && queued.insert(other.id).inserted {
                let place = queue.firstIndex { $0.isBefore(other) } ?? queue.count
                queue.insert(other, at: place)
            }
        }
    }
}
