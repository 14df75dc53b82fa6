package import SecureStorage

/// The clocks of one table's rows, read and written through prepared statements.
///
/// New clocks go to a small table first, and are moved to the large one in key order, some
/// thousands at once. Keys are mostly random: in the large table, each new one would change a
/// separate page, which the next commit encrypts and writes. A clock is in only one of the two.
///
/// To be used within one transaction, whose writer calls ``moveRecent(keeping:)`` at the end.
package final class ClockTable {
    private let db: SecureDatabaseStore
    private let shape: TableShape
    private let members: MemberNumbers
    private let select: SecureDatabaseStatement
    private var claim: LazyStatement
    private var update: LazyStatement
    private var insert: LazyStatement
    private var deletions: [LazyStatement]
    /// Whether the small table may have grown.
    private var hasNew = false

    package init(
        of shape: TableShape, members: MemberNumbers, in db: SecureDatabaseStore
    ) throws {
        self.db = db
        self.shape = shape
        self.members = members
        let (recent, large) = ("main.\(shape.recentClockTable)", "main.\(shape.clockTable)")
        let condition = shape.keyNames.enumerated().map { "\($1) = ?\($0 + 1)" }
            .joined(separator: " AND ")
        let columns = (shape.keyNames + ["clock"]).joined(separator: ", ")
        let values = (1...(shape.key.count + 1)).map { "?\($0)" }.joined(separator: ", ")
        select = try db.prepare(
            "SELECT clock FROM \(recent) WHERE \(condition) UNION ALL "
                + "SELECT clock FROM \(large) WHERE \(condition) LIMIT 1")
        claim = LazyStatement(
            "INSERT OR IGNORE INTO \(recent) (\(columns)) SELECT \(values) WHERE NOT EXISTS "
                + "(SELECT 1 FROM \(large) WHERE \(condition))")
        update = LazyStatement(
            "UPDATE \(large) SET (\(columns)) = (\(values)) WHERE \(condition)")
        insert = LazyStatement("INSERT OR REPLACE INTO \(recent) (\(columns)) VALUES (\(values))")
        deletions = [recent, large].map { LazyStatement("DELETE FROM \($0) WHERE \(condition)") }
    }

    // MARK: - One row

    /// Returns nil for a row without a clock: it is unknown, or alive at the stable point.
    ///
    /// - Throws: `SyncError.damaged` for bytes that are not a clock.
    package func clock(of key: [SQLiteValue]) throws -> RowClock? {
        let rows = try select.executeQuery(row: key)
        defer { rows.close() }
        return try rows.next() ? try clock(rows.sqliteValue(at: 0)) : nil
    }

    private func clock(_ value: SQLiteValue) throws -> RowClock {
        guard case .blob(let bytes) = value,
            let clock = RowClock(decoding: bytes, member: members.member(numbered:))
        else { throw SyncError.damaged(shape.clockTable, "a row's clock cannot be read") }
        return clock
    }

    package func set(_ clock: RowClock, of key: [SQLiteValue]) throws {
        let row = key + [.blob(try clock.encoded(number: members.number(of:)).asData)]
        try update.prepared(in: db).executeUpdate(row: row)
        guard try db.changedRowCount() == 0 else { return }
        try insert.prepared(in: db).executeUpdate(row: row)
        hasNew = true
    }

    /// Sets the clock of a row without one; returns false if it already has a clock.
    func claim(_ clock: RowClock, of key: [SQLiteValue]) throws -> Bool {
        let bytes = try clock.encoded(number: members.number(of:))
        try claim.prepared(in: db).executeUpdate(row: key + [.blob(bytes.asData)])
        hasNew = true
        return try db.changedRowCount() == 1
    }

    /// Removes a row's clock: if the row exists, it is then alive at the stable point.
    package func remove(_ key: [SQLiteValue]) throws {
        for index in deletions.indices {
            try deletions[index].prepared(in: db).executeUpdate(row: key)
        }
    }

    // MARK: - All rows

    /// Moves new clocks to the large table if there are more than `limit`.
    package func moveRecent(keeping limit: Int) throws {
        guard hasNew else { return }
        hasNew = false
        let count = try db.int(forQuery: "SELECT count(*) FROM main.\(shape.recentClockTable)")
        if count ?? 0 > limit { try moveAllRecent() }
    }

    private func moveAllRecent() throws {
        let keys = shape.keyNames.joined(separator: ", ")
        try db.executeUpdate(
            """
            INSERT INTO main.\(shape.clockTable) (\(keys), clock)
            SELECT \(keys), clock FROM main.\(shape.recentClockTable) ORDER BY \(keys)
            """)
        try db.executeUpdate("DELETE FROM main.\(shape.recentClockTable)")
    }

    /// Passes each clock, in key order; `body` may change the clock of its row.
    ///
    /// Moves new clocks to the large table first.
    package func forEach(_ body: ([SQLiteValue], RowClock) throws -> Void) throws {
        try moveAllRecent()
        let keys = shape.keyNames
        let list = keys.joined(separator: ", ")
        var last: [SQLiteValue] = []
        while true {
            let start =
                last.isEmpty
                ? "" : "WHERE (\(list)) > (\(last.map { _ in "?" }.joined(separator: ", ")))"
            let page = try db.allRows(
                """
                SELECT \(list), clock FROM main.\(shape.clockTable) \(start)
                ORDER BY \(list) LIMIT 1000
                """, last, columns: keys.count + 1)
            for row in page { try body(Array(row.prefix(keys.count)), clock(row[keys.count])) }
            guard let end = page.last else { return }
            last = Array(end.prefix(keys.count))
        }
    }
}

/// A statement that is prepared on first use.
private struct LazyStatement {
    let sql: String
    private var statement: SecureDatabaseStatement?

    init(_ sql: String) { self.sql = sql }

    mutating func prepared(in db: SecureDatabaseStore) throws -> SecureDatabaseStatement {
        if let statement { return statement }
        let new = try db.prepare(sql)
        statement = new
        return new
    }
}
