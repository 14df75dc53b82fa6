package import SecureStorage

// What a snapshot has of the rows, and what is forgotten of them at its floor.
extension Capture {
    /// Passes all that the file knows of its rows, each as one change: rows, those held back,
    /// tombstones, and what waits for tables and columns that this file does not have.
    ///
    /// Rows come after those that they refer to. Nothing may wait for a timestamp: a value would
    /// have the timestamp of the one before it.
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
                // One change for a row: its columns that wait are no change of their own.
                if !waiting.isEmpty, let more = waiting[RowKey(change.key)],
                    more.life.timestamp == change.life.timestamp,
                    more.life.isAlive == change.life.isAlive
                {
                    change.registers += more.registers
                }
                try body(change)
            }
            try shape.reading { try eachVisibleRow(of: shape, members, in: db, pass) }
            try eachParkedRow(of: shape, members, in: db, pass)
            try eachTombstone(of: shape, members, in: db, body)
        }
        for change in later.values.flatMap(\.values) { try body(change) }
    }

    /// What the file knows above the floor: rows that were born or ended since, and of others the
    /// columns that were written since; in a transaction, with nothing waiting for a timestamp.
    func clockedRows(in db: SecureDatabaseStore) throws -> [RowChange] {
        var rows: [RowChange] = []
        try eachRow(in: db) { change in
            guard change.greatestTimestamp > .floor else { return }
            var change = change
            if change.life.timestamp == .floor {
                change.registers.removeAll { $0.timestamp == .floor }
            }
            rows.append(change)
        }
        return rows
    }

    /// The tables in an order in which references point backwards, where that can be.
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
            table: shape.name, key: key, life: .init(timestamp: clock.life, isAlive: true),
            registers: shape.groups.flatMap { group -> [RowChange.Register] in
                // A column that a migration has added to the group is older than the others.
                let timestamps = group.map {
                    shape.columnNumbers[$0].map { clock[$0] } ?? clock.life
                }
                return Set(timestamps).sorted().map { timestamp in
                    let columns = zip(group, timestamps).filter { $0.1 == timestamp }.map(\.0)
                    return RowChange.Register(
                        columns: columns, values: columns.map(value), timestamp: timestamp)
                }
            })
    }

    private static func clock(
        _ value: SQLiteValue, _ shape: TableShape, _ members: MemberNumbers
    ) throws -> RowClock {
        guard case .blob(let bytes) = value else { return .floor }
        guard let clock = RowClock(decoding: bytes, member: members.member(numbered:)) else {
            throw SyncError.damaged(shape.clockTable, "a row's clock cannot be read")
        }
        return clock
    }

    private func eachVisibleRow(
        of shape: TableShape, _ members: MemberNumbers, in db: SecureDatabaseStore,
        _ body: (RowChange) throws -> Void
    ) throws {
        // Keys are compared as they are stored. A plus keeps the column's affinity away, without
        // which the clocks' index could not be used.
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

    private func eachParkedRow(
        of shape: TableShape, _ members: MemberNumbers, in db: SecureDatabaseStore,
        _ body: (RowChange) throws -> Void
    ) throws {
        let clocks = try ClockTable(of: shape, members: members, in: db)
        for entry in try ParkedRows(db: db).entries("tbl = ?", [.integer(shape.number)]) {
            guard let key = entry.key.values() else { continue }
            let clock = try clocks.clock(of: key) ?? .floor
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
                    life: .init(timestamp: clock.life, isAlive: false)))
        }
    }

    // MARK: - The floor

    /// Forgets what a floor covers: clocks, and tombstones of rows whose end all members know; in a
    /// write transaction, with nothing waiting for a timestamp.
    package func forget(through floor: Floor, in db: SecureDatabaseStore) throws {
        guard floor.time > 0 else { return }
        try raiseFloor(to: Timestamp.time(milliseconds: floor.time) | 0xffff, in: db)
        try promise(upTo: floor.time, in: db)
        try forgetLaterOfEndedRows(in: db)
        let members = try MemberNumbers(in: db)
        for shape in try shapes(in: db) {
            let clocks = try ClockTable(of: shape, members: members, in: db)
            try clocks.forEach { key, clock in
                let reduced = floor.reduced(clock)
                if reduced == .floor || !reduced.isAlive && reduced.life == .floor {
                    try clocks.remove(key)
                } else if reduced != clock {
                    try clocks.set(reduced, of: key)
                }
            }
        }
        let later = LaterChanges(db: db)
        for (change, entry) in try later.all() {
            let reduced = floor.reduced(change)
            guard reduced != change else { continue }
            try later.remove(entry)
            if reduced.life.isAlive || reduced.life.timestamp > .floor { try later.add(reduced) }
        }
        try settleAll(in: db)
    }

    /// Removes values that wait for a column if the life of their row is over: the tombstone that
    /// says so may be forgotten now, and the values would make a row of nothing else.
    private func forgetLaterOfEndedRows(in db: SecureDatabaseStore) throws {
        let later = LaterChanges(db: db)
        let rows = try KnownRows(self, in: db)
        for (change, entry) in try later.all() where rows.canHave(change) {
            if try rows.life(of: change) != change.life.timestamp { try later.remove(entry) }
        }
    }
}

extension Floor {
    /// A row's clock without the timestamps that say nothing any more.
    func reduced(_ clock: RowClock) -> RowClock {
        RowClock(
            life: reduced(clock.life), isAlive: clock.isAlive,
            columns: clock.columns.mapValues(reduced))
    }
}
