internal import Foundation
internal import SecureStorage

/// Gives changes their timestamps.
struct Timestamping {
    let member: MemberID
    /// Rows without a clock may have been written up to this time.
    let stablePoint: UInt64
    /// All timestamps are above it, whatever the clock says.
    let lowerBound: UInt64
    /// As ``Capture/clock``.
    let clock: @Sendable (Int64) -> Int64
    /// The greatest time given.
    private(set) var last: UInt64 = 0

    init(
        member: MemberID, stablePoint: UInt64, lowerBound: UInt64 = 0,
        clock: @escaping @Sendable (Int64) -> Int64
    ) {
        self.member = member
        self.stablePoint = stablePoint
        self.lowerBound = lowerBound
        self.clock = clock
    }

    /// All marks of one row.
    struct Marks {
        var key: [SQLiteValue]
        /// The places of text in the key that is not UTF-8; `key` has BLOBs of the same bytes.
        var notText: [Int] = []
        /// When it was last inserted, deleted or perhaps replaced.
        var hasInsertion = false
        var hasDeletion = false
        var isPerhapsReplaced = false
        /// The time of the last insertion, in milliseconds.
        var insertedAt: Int64 = 0
        /// The time of the last mark of any kind, in milliseconds.
        var at: Int64 = 0
        /// When each column was last changed, by its number.
        var columns: [Int64: Int64] = [:]
        /// The last mark of each kind.
        var all: UnsentRows.Marks = [:]

        /// For a row whose marks are among those of unsent rows.
        init(key: [SQLiteValue]) { self.key = key }

        /// - Parameters:
        ///   - rows: Positioned at a mark that begins with the key's columns.
        ///   - count: The number of key columns.
        /// - Throws: The errors of reading a value.
        init(in rows: SecureDatabaseResultSet, count: Int) throws {
            key = []
            for column in 0..<count {
                do { key.append(try rows.sqliteValue(at: column)) } catch SecureStorageError
                    .typeConversionFailed
                {
                    notText.append(column)
                    key.append(.blob(Data(rows.bytes(forColumnIndex: column) ?? [])))
                }
            }
        }

        mutating func add(_ mask: Int64, at time: Int64) {
            switch mask {
            case Mark.inserted:
                hasInsertion = true
                insertedAt = max(insertedAt, time)
            case Mark.deleted: hasDeletion = true
            case Mark.perhapsReplaced: isPerhapsReplaced = true
            default:
                for column in Mark.columns(mask) {
                    columns[column] = max(columns[column] ?? time, time)
                }
            }
            at = max(at, time)
            all[mask] = max(all[mask] ?? time, time)
        }
    }

    /// Returns the time of a mark, raised above `old` and the lower bound.
    mutating func time(_ milliseconds: Int64, above old: UInt64) -> UInt64 {
        let old = max(old, lowerBound)
        let clock = Timestamp.time(milliseconds: UInt64(max(self.clock(milliseconds), 0)))
        // Others refuse a greater time. No clock reaches it, but a member may have written it: then
        // the row can lose an edit, but this member's log is not blocked forever.
        let next = old < Timestamp.greatestTime ? old + 1 : Timestamp.greatestTime
        let time = max(min(clock, Timestamp.greatestClock), next)
        last = max(last, time)
        return time
    }

    mutating func timestamp(
        _ shape: TableShape, _ clocks: ClockTable, in db: SecureDatabaseStore,
        _ emit: (RowChange) throws -> Void
    ) throws {
        let rows = try RowReader(shape, in: db)
        let keys = shape.keyNames.joined(separator: ", ")
        let marks = try db.executeQuery(
            """
            SELECT \(keys), mask, max(at) FROM main.\(shape.markTable)
            GROUP BY \(keys), mask ORDER BY \(keys), mask
            """)
        defer { marks.close() }
        var current: Marks?
        var seen: Set<RowKey> = []
        let unsent = UnsentRows(db: db)
        let former = try unsent.marks(ofTable: shape.number)
        func finish(_ marks: Marks, _ timestamping: inout Timestamping) throws {
            let key = RowKey(marks.key)
            var marks = marks
            if !former.isEmpty { seen.insert(key) }
            for (mask, at) in former[key] ?? [:] { marks.add(mask, at: at) }
            guard marks.notText.isEmpty else {
                if try Self.exists(marks, shape, in: db) {
                    try unsent.set(marks.all, of: key, inTable: shape.number, .notText)
                } else {
                    try unsent.remove(key, ofTable: shape.number)
                }
                return
            }
            let row = try rows.row(of: marks.key)
            let change = try timestamping.change(of: marks, row, shape, clocks)
            if let change, change.incarnation.isAlive, let reason = row?.obstacle(to: change) {
                try unsent.set(marks.all, of: key, inTable: shape.number, reason)
                return
            }
            if former[key] != nil { try unsent.remove(key, ofTable: shape.number) }
            if let change { try emit(change) }
        }
        while try marks.next() {
            let read = try Marks(in: marks, count: shape.key.count)
            let mask = try marks.number(at: read.key.count)
            let at = try marks.number(at: read.key.count + 1)
            if let known = current, !Self.isSameRow(known, read) {
                try finish(known, &self)
                current = nil
            }
            var row = current ?? read
            row.add(mask, at: at)
            current = row
        }
        if let current { try finish(current, &self) }
        // In key order, like the others.
        for key in former.keys.sorted(by: { $0.bytes.lexicographicallyPrecedes($1.bytes) })
        where !seen.contains(key) {
            guard let values = key.values(), try unsent.isOvertaken(key, values, shape, rows)
            else { continue }
            try finish(Marks(key: values), &self)
        }
    }

    /// As SQLite compares keys: 1 and 1.0 are equal.
    private static func isSameRow(_ left: Marks, _ right: Marks) -> Bool {
        left.notText == right.notText
            && zip(left.key, right.key).allSatisfy { left, right in
                switch (left, right) {
                case (.integer(let integer), .real(let real)),
                    (.real(let real), .integer(let integer)):
                    Int64(exactly: real) == integer
                default: left == right
                }
            }
    }

    /// Whether a row exists whose key has text that is not UTF-8.
    private static func exists(
        _ marks: Marks, _ shape: TableShape, in db: SecureDatabaseStore
    ) throws -> Bool {
        let conditions = shape.key.indices.map { column in
            let name = shape.key[column].sqlName
            return marks.notText.contains(column)
                ? "typeof(\(name)) = 'text' AND CAST(\(name) AS BLOB) = ?" : "\(name) = ?"
        }
        let rows = try db.allRows(
            """
            SELECT 1 FROM main.\(shape.table.sqlName)
            WHERE \(conditions.joined(separator: " AND ")) LIMIT 1
            """, marks.key, columns: 1)
        return !rows.isEmpty
    }

    private mutating func change(
        of marks: Marks, _ row: RowReader.Row?, _ shape: TableShape, _ clocks: ClockTable
    ) throws -> RowChange? {
        let known = try clocks.clock(of: marks.key)
        let clock = known ?? .stablePoint
        let greatest = known == nil ? stablePoint : clock.greatest.time

        guard let row else {
            // A missing row without a deletion mark was removed uncaptured, by a migration.
            guard marks.hasInsertion || marks.hasDeletion || marks.isPerhapsReplaced else {
                return nil
            }
            // Deleted before, and again: the tombstone stays.
            guard clock.isAlive else { return nil }
            // Without a clock, the row may be as old as the table. Other members may never have
            // seen it, but an extra tombstone is harmless.
            let incarnation = Timestamp(time: time(marks.at, above: greatest), member: member)
            try clocks.set(RowClock(incarnation: incarnation, isAlive: false), of: marks.key)
            return RowChange(
                table: shape.name, key: marks.key,
                incarnation: .init(timestamp: incarnation, isAlive: false, known: known?.greatest))
        }

        if marks.hasInsertion || marks.hasDeletion || !clock.isAlive {
            // Perhaps replaced, and deleted according to the clock: there is no row.
            guard marks.hasInsertion || marks.hasDeletion || !marks.columns.isEmpty else {
                return nil
            }
            let begun = marks.hasInsertion ? marks.insertedAt : marks.at
            let incarnation = Timestamp(time: time(begun, above: greatest), member: member)
            return try insertion(
                of: row, begun: begun,
                .init(timestamp: incarnation, isAlive: true, known: known?.greatest),
                marks, shape, clocks)
        }

        var newClock = clock
        var columnGroups: [RowChange.ColumnGroup] = []
        for group in shape.groups {
            let numbers = group.compactMap { shape.columnNumbers[$0] }
            guard let at = numbers.compactMap({ marks.columns[$0] }).max() else { continue }
            let old = numbers.map { clock[$0] }.max() ?? clock.incarnation
            let timestamp = Timestamp(
                time: time(at, above: known == nil ? stablePoint : old.time), member: member)
            for number in numbers { newClock[number] = timestamp }
            columnGroups.append(
                .init(
                    columns: group, values: row.values(of: group), timestamp: timestamp,
                    known: known == nil ? nil : old))
        }
        guard !columnGroups.isEmpty else { return nil }
        try clocks.set(newClock, of: row.key)
        return RowChange(
            table: shape.name, key: row.key,
            incarnation: .init(timestamp: clock.incarnation, isAlive: true),
            columnGroups: columnGroups)
    }

    /// A new incarnation with the time of its insertion, and each column written since with its own
    /// time: whether this member synced in between makes no difference.
    private mutating func insertion(
        of row: RowReader.Row, begun: Int64, _ incarnation: RowChange.Incarnation, _ marks: Marks,
        _ shape: TableShape, _ clocks: ClockTable
    ) throws -> RowChange {
        var clock = RowClock(incarnation: incarnation.timestamp, isAlive: true)
        var columnGroups: [RowChange.ColumnGroup] = []
        for group in shape.groups {
            let numbers = group.compactMap { shape.columnNumbers[$0] }
            var timestamp = incarnation.timestamp
            if let at = numbers.compactMap({ marks.columns[$0] }).max(), at > begun {
                timestamp = Timestamp(
                    time: time(at, above: incarnation.timestamp.time), member: member)
                for number in numbers { clock[number] = timestamp }
            }
            columnGroups.append(
                .init(columns: group, values: row.values(of: group), timestamp: timestamp))
        }
        try clocks.set(clock, of: row.key)
        return RowChange(
            table: shape.name, key: row.key, incarnation: incarnation, columnGroups: columnGroups)
    }
}
