internal import Foundation
internal import SecureStorage

/// The merging of others' changes into a file, within one transaction.
///
/// What the app sees is a function of the merged rows, whatever the order in which they came; see
/// `Docs/Decisions/0037-rows-merged-by-stamps.md`. A row that cannot be in its table now is parked:
/// kept beside it, until it can. A row without trouble is written at once; the others are parked
/// first, and ``settle()`` decides.
final class MergeTransaction {
    let db: SecureDatabaseStore
    let kept: MergeTables
    private(set) var tables: [String: MergedTable] = [:]
    private var tablesByNumber: [Int64: MergedTable] = [:]
    /// For each table, the references to it.
    private var children: [Int64: [(table: MergedTable, key: TableShape.ForeignKey)]] = [:]
    /// How far each table is from one without references, so that parents come first.
    private var depths: [Int64: Int] = [:]
    private(set) var hasParked: Bool
    /// Whether rows that are held back may have to return, or others to go.
    private var needsSettling = false
    private(set) var rows = 0
    private(set) var conflicts = 0

    init(_ shapes: [TableShape], in db: SecureDatabaseStore) throws {
        self.db = db
        kept = MergeTables(db)
        hasParked = try kept.hasParked()
        let members = try MemberNumbers(in: db)
        for shape in shapes {
            let table = try MergedTable(shape, members: members, in: db)
            tables[shape.name.sqlNameKey] = table
            tablesByNumber[shape.number] = table
        }
        for table in tables.values {
            for key in table.shape.foreignKeys {
                guard let parent = tables[key.parent.sqlNameKey] else { continue }
                children[parent.shape.number, default: []].append((table, key))
            }
        }
        for shape in shapes { depths[shape.number] = depth(shape.name, []) }
        // Until the commit a child may be without its parent.
        try db.executeStatements("PRAGMA defer_foreign_keys = ON")
    }

    private func depth(_ name: String, _ path: Set<String>) -> Int {
        guard let shape = tables[name.sqlNameKey]?.shape, !path.contains(name.sqlNameKey) else {
            return 0
        }
        let path = path.union([name.sqlNameKey])
        return shape.foreignKeys.map { 1 + depth($0.parent, path) }.max() ?? 0
    }

    // MARK: - Changes

    /// Merges changes; parents before their children, so that few are parked for a moment.
    func apply(_ changes: [RowChange], isLate: Bool = false) throws {
        var sorted: [(depth: Int, change: RowChange)] = []
        for change in changes {
            guard let table = tables[change.table.sqlNameKey],
                change.key.count == table.shape.key.count
            else {
                try kept.addLater(change)
                continue
            }
            sorted.append((depths[table.shape.number] ?? 0, change))
        }
        if depths.values.contains(where: { $0 > 0 }) { sorted.sort { $0.depth < $1.depth } }
        for (_, change) in sorted { try apply(change, isLate: isLate) }
    }

    private func apply(_ change: RowChange, isLate: Bool) throws {
        guard let table = tables[change.table.sqlNameKey] else { return }
        rows += 1
        let isSimple = table.shape.foreignKeys.isEmpty && change.life.isAlive && !isLate
        if isSimple, !hasParked, try table.insertNew(change) { return }

        let (change, unknown) = table.split(change)
        if let unknown {
            try kept.addLater(unknown)
            if isLate, change.registers.isEmpty { return }
        }
        let key = RowKey(change.key)
        let parked = hasParked ? try kept.parked(table.shape, key) : nil
        let (visible, isVisible) = try table.state(of: change.key, isLate: isLate)
        let old = parked ?? visible
        var new = old ?? RowState(change)
        if old != nil {
            for lost in new.merge(change) {
                try kept.addConflict(table.shape.name, change.key, lost)
                conflicts += 1
            }
            guard new != old else { return }
        }
        try table.setClock(new, of: change.key)
        if parked != nil {
            needsSettling = true
            if new.isAlive {
                try kept.park(table.shape, key, new, .parentMissing)
            } else {
                try kept.unpark(table.shape, key)
            }
        } else if !new.isAlive {
            guard isVisible, let visible else { return }
            try pullChildren(of: table, change.key, visible)
            try table.delete(change.key)
            // What it had may be what another one waits for.
            if hasParked { needsSettling = true }
        } else if isVisible, let visible {
            try update(table, change.key, visible, new)
        } else if try !parentsAreVisible(table, change.key, new)
            || !table.insert(change.key, new)
        {
            try park(table, change.key, new)
        } else if hasParked {
            needsSettling = true
        }
    }

    /// Writes what has changed of a row that is in its table.
    private func update(
        _ table: MergedTable, _ key: [SQLiteValue], _ old: RowState, _ new: RowState
    ) throws {
        let changed = new.cells.keys.sorted().compactMap { column in
            new.cells[column].flatMap { cell in
                old.cells[column].map { $0.value.isIdentical(to: cell.value) } == true
                    ? nil : (column: column, value: cell.value)
            }
        }
        if hasParked { needsSettling = true }
        guard !changed.isEmpty else { return }
        let isReferring = table.shape.foreignKeys.contains { reference in
            changed.contains { change in
                reference.columns.contains { $0.isSameName(as: change.column) }
            }
        }
        let isReferred = (children[table.shape.number] ?? []).contains { child in
            changed.contains { change in
                child.key.parentColumns.contains { $0.isSameName(as: change.column) }
            }
        }
        if isReferred { try pullChildren(of: table, key, old) }
        let isPossible = try !isReferring || parentsAreVisible(table, key, new)
        if try !isPossible || !table.update(key, changed) {
            try pullChildren(of: table, key, old)
            try table.delete(key)
            try park(table, key, new)
        }
    }

    // MARK: - Parking

    private func park(_ table: MergedTable, _ key: [SQLiteValue], _ state: RowState) throws {
        try kept.park(table.shape, RowKey(key), state, .parentMissing)
        (hasParked, needsSettling) = (true, true)
    }

    /// Parks the rows that refer to a row, before that goes: the engine would remove them with it,
    /// and forget them.
    func pullChildren(
        of table: MergedTable, _ key: [SQLiteValue], _ state: RowState
    ) throws {
        for child in children[table.shape.number] ?? [] {
            let values = child.key.parentColumns.map { table.value($0, key, state) }
            for childKey in try child.table.keys(where: child.key.columns, equal: values)
            where child.table !== table || RowKey(childKey) != RowKey(key) {
                try pull(child.table, childKey)
            }
        }
    }

    /// Parks a row that is in its table, and those that refer to it.
    func pull(_ table: MergedTable, _ key: [SQLiteValue]) throws {
        let (state, isVisible) = try table.state(of: key)
        guard let state, isVisible else { return }
        // First, since rows may refer to each other in a circle.
        try park(table, key, state)
        try pullChildren(of: table, key, state)
        try table.delete(key)
    }

    private func parentsAreVisible(
        _ table: MergedTable, _ key: [SQLiteValue], _ state: RowState
    ) throws -> Bool {
        try table.shape.foreignKeys.allSatisfy { reference in
            let values = reference.columns.map { table.value($0, key, state) }
            return try values.contains(.null) || isVisible(reference, values)
                || isItself(reference, values, table, key, state)
        }
    }

    private func isVisible(
        _ reference: TableShape.ForeignKey, _ values: [SQLiteValue]
    ) throws -> Bool {
        guard let parent = tables[reference.parent.sqlNameKey] else { return true }
        return try !parent.keys(where: reference.parentColumns, equal: values).isEmpty
    }

    /// Whether a row refers to itself.
    private func isItself(
        _ reference: TableShape.ForeignKey, _ values: [SQLiteValue], _ table: MergedTable,
        _ key: [SQLiteValue], _ state: RowState
    ) -> Bool {
        table.shape.name.isSameName(as: reference.parent)
            && zip(reference.parentColumns, values).allSatisfy {
                table.value($0, key, state).folded("BINARY") == $1.folded("BINARY")
            }
    }

    // MARK: - Settling

    /// A row that is parked, while it is decided whether it returns.
    private struct Waiting {
        var table: MergedTable
        var key: [SQLiteValue]
        var state: RowState
        var claims: Set<Standings.Claim>
        /// Whether all rows that it refers to, directly or not, are alive.
        var hasLivingParents = true
        var isRefused = false
    }

    /// Decides again which rows are in their tables, if that may have changed.
    ///
    /// Rows in their tables never collide, and refer to rows in their tables. So it is enough to
    /// look at the parked ones, and at those with which they collide.
    func settle() throws {
        guard needsSettling else { return }
        var refused: Set<Standings.Claim> = []
        // Each round moves a row, and a row moves a few times at most.
        while try settleRound(&refused) {}
        needsSettling = false
    }

    /// - Returns: Whether something has moved, so that another round has to look.
    private func settleRound(_ refused: inout Set<Standings.Claim>) throws -> Bool {
        var waiting = try waitingRows(refused)
        guard !waiting.isEmpty else {
            hasParked = false
            return false
        }
        try findLivingParents(&waiting)
        let rivals = try rivals(of: waiting)
        let candidates = waiting.indices.filter {
            waiting[$0].hasLivingParents && !waiting[$0].isRefused
        }
        let stands = Standings.standing(
            (candidates.map { waiting[$0] } + rivals).map {
                .init(
                    table: $0.table.shape.number, key: RowKey($0.key), life: $0.state.life,
                    claims: $0.claims)
            })
        let losers = zip(rivals, stands.dropFirst(candidates.count)).filter { !$1 }
        if !losers.isEmpty {
            for (rival, _) in losers { try pull(rival.table, rival.key) }
            return true
        }
        var returning = Set(zip(candidates, stands).filter(\.1).map(\.0))
        try keepThoseWithParents(&returning, waiting)
        let order = returning.sorted {
            (depths[waiting[$0].table.shape.number] ?? 0, $0)
                < (depths[waiting[$1].table.shape.number] ?? 0, $1)
        }
        for index in order {
            let row = waiting[index]
            guard try row.table.insert(row.key, row.state) else {
                refused.insert(Self.name(of: row))
                try pullChildren(of: row.table, row.key, row.state)
                return true
            }
            try kept.unpark(row.table.shape, RowKey(row.key))
        }
        for index in waiting.indices where !returning.contains(index) {
            let row = waiting[index]
            let isLoser = zip(candidates, stands).contains { $0 == index && !$1 }
            try kept.setReason(
                row.table.shape, RowKey(row.key),
                row.isRefused ? .checkFailed : isLoser ? .notUnique : .parentMissing)
        }
        return false
    }

    /// A row's name among those that a constraint has refused in this settling.
    private static func name(of row: Waiting) -> Standings.Claim {
        .init(table: row.table.shape.number, unique: -1, values: RowKey(row.key))
    }

    private func waitingRows(_ refused: Set<Standings.Claim>) throws -> [Waiting] {
        try kept.allParked().compactMap { number, key, state in
            guard let table = tablesByNumber[number], let values = key.values() else { return nil }
            var row = Waiting(table: table, key: values, state: state, claims: [])
            row.claims = Standings.claims(table.shape) { table.value($0, values, state) }
            row.isRefused = refused.contains(Self.name(of: row))
            return row
        }
    }

    /// The rows in their tables that have what parked ones want.
    private func rivals(of waiting: [Waiting]) throws -> [Waiting] {
        var (rivals, seen): ([Waiting], Set<Standings.Claim>) = ([], [])
        for row in waiting where row.hasLivingParents && !row.isRefused {
            for unique in row.table.shape.uniques {
                let values = unique.columns.map { row.table.value($0, row.key, row.state) }
                guard !values.contains(.null) else { continue }
                for key in try row.table.keys(where: unique.columns, equal: values) {
                    guard let state = try row.table.state(of: key).0 else { continue }
                    var rival = Waiting(table: row.table, key: key, state: state, claims: [])
                    guard seen.insert(Self.name(of: rival)).inserted else { continue }
                    rival.claims = Standings.claims(row.table.shape) {
                        row.table.value($0, key, state)
                    }
                    rivals.append(rival)
                }
            }
        }
        return rivals
    }

    /// Finds the rows that refer to a missing one, and those that refer to these.
    private func findLivingParents(_ waiting: inout [Waiting]) throws {
        var hasChanged = true
        while hasChanged {
            hasChanged = false
            for index in waiting.indices where waiting[index].hasLivingParents {
                let row = waiting[index]
                let isLiving = try row.table.shape.foreignKeys.allSatisfy { reference in
                    let values = reference.columns.map { row.table.value($0, row.key, row.state) }
                    return try values.contains(.null) || isVisible(reference, values)
                        || waiting.contains {
                            $0.hasLivingParents
                                && isItself(reference, values, $0.table, $0.key, $0.state)
                        }
                }
                if !isLiving { (waiting[index].hasLivingParents, hasChanged) = (false, true) }
            }
        }
    }

    /// Leaves the rows whose parents are in their tables, or return as well.
    private func keepThoseWithParents(_ returning: inout Set<Int>, _ waiting: [Waiting]) throws {
        var hasChanged = true
        while hasChanged {
            hasChanged = false
            for index in returning {
                let row = waiting[index]
                let hasParents = try row.table.shape.foreignKeys.allSatisfy { reference in
                    let values = reference.columns.map { row.table.value($0, row.key, row.state) }
                    return try values.contains(.null) || isVisible(reference, values)
                        || returning.contains {
                            let parent = waiting[$0]
                            return isItself(
                                reference, values, parent.table, parent.key, parent.state)
                        }
                }
                if !hasParents {
                    returning.remove(index)
                    hasChanged = true
                }
            }
        }
    }

    // MARK: - Changes of this file

    /// Looks at what was written here: a parked row whose key was inserted again is given up, and
    /// what others wait for may be free.
    func noteLocal(_ changes: [RowChange]) throws {
        guard hasParked else { return }
        needsSettling = true
        for change in changes {
            guard let table = tables[change.table.sqlNameKey],
                let parked = try kept.parked(table.shape, RowKey(change.key)),
                change.life.stamp > parked.life
            else { continue }
            let cells = parked.cells.sorted { $0.key < $1.key }
            try kept.unpark(table.shape, RowKey(change.key))
            try kept.addConflict(
                table.shape.name, change.key,
                LostValues(
                    columns: cells.map(\.key), values: cells.map(\.value.value),
                    stamp: cells.map(\.value.stamp).max() ?? parked.life,
                    winner: change.life.stamp, reason: .replacedUnseen))
            conflicts += 1
        }
    }
}

extension SQLiteValue {
    /// Whether both are stored as the same bytes.
    func isIdentical(to other: SQLiteValue) -> Bool {
        if case .real(let left) = self, case .real(let right) = other {
            return left.bitPattern == right.bitPattern
        }
        return self == other
    }
}
