package import SecureStorage

// Reads rows for a snapshot, and forgets clocks and tombstones at its stable point.
extension Capture {
    /// Passes everything that the file knows of its rows, one change each: rows, held-back rows,
    /// tombstones, and changes that wait for tables and columns that this file does not have.
    ///
    /// Rows come after those that they refer to. No write may wait for a timestamp: its value would
    /// get the previous value's timestamp.
    ///
    /// - Parameters:
    ///   - db: In a transaction.
    ///   - body: Called for each.
    /// - Throws: `SyncError.damaged` for bookkeeping that cannot be read; what `body` throws.
    package func eachRow(
        in db: SecureDatabaseStore, _ body: (RowChange) throws -> Void
    ) throws {
        let members = try MemberNumbers(in: db)
        var later: [String: [RowKey: RowChange]] = [:]
        for (change, entry) in try LaterChanges(db: db).all() {
            later[change.table.sqlNameKey, default: [:]][entry.key] = change
        }
        for shape in Self.parentsFirst(try shapes(in: db)) {
            let waiting = later.removeValue(forKey: shape.name.sqlNameKey) ?? [:]
            func pass(_ change: RowChange) throws {
                var change = change
                // One change for each row: waiting columns are not a separate change.
                if !waiting.isEmpty, let more = waiting[RowKey(change.key)],
                    more.incarnation.timestamp == change.incarnation.timestamp,
                    more.incarnation.isAlive == change.incarnation.isAlive
                {
                    change.columnGroups += more.columnGroups
                }
                try body(change)
            }
            try shape.reading { try eachVisibleRow(of: shape, members, in: db, pass) }
            try eachHeldBackRow(of: shape, members, in: db, pass)
            try eachTombstone(of: shape, members, in: db, body)
        }
        for change in later.values.flatMap(\.values) { try body(change) }
    }

    /// The changes above the stable point: rows inserted or deleted since, and for other rows the
    /// columns written since; in a transaction, with no write waiting for a timestamp.
    func clockedRows(in db: SecureDatabaseStore) throws -> [RowChange] {
        var rows: [RowChange] = []
        try eachRow(in: db) { change in
            guard change.greatestTimestamp > .stablePoint else { return }
            var change = change
            if change.incarnation.timestamp == .stablePoint {
                change.columnGroups.removeAll { $0.timestamp == .stablePoint }
            }
            rows.append(change)
        }
        return rows
    }

    /// The tables ordered so that references point backwards, where possible.
    private static func parentsFirst(_ shapes: [TableShape]) -> [TableShape] {
        var (ordered, rest) = ([TableShape](), shapes)
        while !rest.isEmpty {
            let next = rest.firstIndex { shape in
                shape.foreignKeys.allSatisfy { key in
                    key.parent.isSameName(as: shape.name)
                        || !rest.contains { $0.name.isSameName(as: key.parent) }
                }
            }
            ordered.append(rest.remove(at: next ?? 0))
        }
        return ordered
    }

    private static func change(
        _ shape: TableShape, _ key: [SQLiteValue], _ clock: RowClock,
        value: (String) -> SQLiteValue
    ) -> RowChange {
        RowChange(
            table: shape.name, key: key,
            incarnation: .init(timestamp: clock.incarnation, isAlive: true),
            columnGroups: shape.groups.flatMap { group -> [RowChange.ColumnGroup] in
                // A column added to the group by a migration is older than the others.
                let timestamps = group.map {
                    shape.columnNumbers[$0].map { clock[$0] } ?? clock.incarnation
                }
                return Set(timestamps).sorted().map { timestamp in
                    let columns = zip(group, timestamps).filter { $0.1 == timestamp }.map(\.0)
                    return RowChange.ColumnGroup(
                        columns: columns, values: columns.map(value), timestamp: timestamp)
                }
            })
    }

    private static func clock(
        _ value: SQLiteValue, _ shape: TableShape, _ members: MemberNumbers
    ) throws -> RowClock {
        guard case .blob(let bytes) = value else { return .stablePoint }
        guard let clock = RowClock(decoding: bytes, member: members.member(numbered:)) else {
            throw SyncError.damaged(shape.clockTable, "a row's clock cannot be read")
        }
        return clock
    }

    private func eachVisibleRow(
        of shape: TableShape, _ members: MemberNumbers, in db: SecureDatabaseStore,
        _ body: (RowChange) throws -> Void
    ) throws {
        // Keys are compared as stored. The plus removes the column's affinity; otherwise the
        // clocks' index could not be used.
        let joins = shape.clockTables.enumerated().map { index, table in
            let keys = zip(shape.keyNames, shape.key).map { "c\(index).\($0) = +t.\($1.sqlName)" }
            return "LEFT JOIN main.\(table) AS c\(index) ON \(keys.joined(separator: " AND "))"
        }
        let names = shape.columns.map { "t.\($0.sqlName)" } + ["ifnull(c0.clock, c1.clock)"]
        let positions = Dictionary(
            uniqueKeysWithValues: shape.columns.enumerated().map { ($1, $0) })
        try db.eachRow(
            """
            SELECT \(names.joined(separator: ", ")) FROM main.\(shape.table.sqlName) AS t
            \(joins.joined(separator: "\n"))
            """, columns: names.count
        ) { row in
            let clock = try Self.clock(row[names.count - 1], shape, members)
            try body(
                Self.change(shape, Array(row.prefix(shape.key.count)), clock) {
                    positions[$0].map { row[$0] } ?? .null
                })
        }
    }

    private func eachHeldBackRow(
        of shape: TableShape, _ members: MemberNumbers, in db: SecureDatabaseStore,
        _ body: (RowChange) throws -> Void
    ) throws {
        let clocks = try ClockTable(of: shape, members: members, in: db)
        for entry in try HeldBackRows(db: db).entries("tbl = ?", [.integer(shape.number)]) {
            guard let key = entry.key.values() else { continue }
            let clock = try clocks.clock(of: key) ?? .stablePoint
            guard clock.isAlive else { continue }
            try body(Self.change(shape, key, clock) { entry.values[$0] ?? .null })
        }
    }

    private func eachTombstone(
        of shape: TableShape, _ members: MemberNumbers, in db: SecureDatabaseStore,
        _ body: (RowChange) throws -> Void
    ) throws {
        let keys = shape.keyNames
        try db.eachRow(
            shape.clockTables.map {
                "SELECT \(keys.joined(separator: ", ")), clock FROM main.\($0)"
            }.joined(separator: " UNION ALL "), columns: keys.count + 1
        ) { row in
            let clock = try Self.clock(row[keys.count], shape, members)
            guard !clock.isAlive else { return }
            try body(
                RowChange(
                    table: shape.name, key: Array(row.prefix(keys.count)),
                    incarnation: .init(timestamp: clock.incarnation, isAlive: false)))
        }
    }

    // MARK: - The stable point

    /// Forgets clocks and tombstones up to a stable point, which all members know; in a write
    /// transaction, with no write waiting for a timestamp.
    package func forget(through stablePoint: StablePoint, in db: SecureDatabaseStore) throws {
        guard stablePoint.time > 0 else { return }
        try raiseStablePoint(to: Timestamp.time(milliseconds: stablePoint.time) | 0xffff, in: db)
        try raiseLowerBound(to: stablePoint.time, in: db)
        try forgetLaterOfEndedRows(in: db)
        let members = try MemberNumbers(in: db)
        for shape in try shapes(in: db) {
            let clocks = try ClockTable(of: shape, members: members, in: db)
            try clocks.forEach { key, clock in
                let reduced = stablePoint.reduced(clock)
                if reduced == .stablePoint
                    || !reduced.isAlive && reduced.incarnation == .stablePoint
                {
                    try clocks.remove(key)
                } else if reduced != clock {
                    try clocks.set(reduced, of: key)
                }
            }
        }
        let later = LaterChanges(db: db)
        for (change, entry) in try later.all() {
            let reduced = stablePoint.reduced(change)
            guard reduced != change else { continue }
            try later.remove(entry)
            if reduced.incarnation.isAlive || reduced.incarnation.timestamp > .stablePoint {
                try later.add(reduced)
            }
        }
        try settleAll(in: db)
    }

    /// Removes values held for a column that the file does not have yet if their row's incarnation
    /// has ended.
    ///
    /// Otherwise, once the tombstone is forgotten, they would create a row without other values.
    private func forgetLaterOfEndedRows(in db: SecureDatabaseStore) throws {
        let later = LaterChanges(db: db)
        let rows = try KnownRows(self, in: db)
        for (change, entry) in try later.all() where rows.canHave(change) {
            if try rows.incarnation(of: change) != change.incarnation.timestamp {
                try later.remove(entry)
            }
        }
    }
}

extension StablePoint {
    /// A row's clock without timestamps below the stable point.
    func reduced(_ clock: RowClock) -> RowClock {
        RowClock(
            incarnation: reduced(clock.incarnation), isAlive: clock.isAlive,
            columns: clock.columns.mapValues(reduced))
    }
}
