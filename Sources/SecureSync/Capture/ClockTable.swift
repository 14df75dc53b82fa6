package import SecureStorage

/// The local numbers of members, which make clocks short.
///
/// To be used within one transaction; a rollback may take numbers back.
package final class MemberNumbers {
    private let db: SecureDatabaseStore
    private var numbers: [MemberID: Int64] = [.none: 0]
    private var members: [Int64: MemberID] = [0: .none]

    package init(in db: SecureDatabaseStore) throws {
        self.db = db
        let rows = try db.executeQuery("SELECT number, id FROM main.securestorage_sync_member")
        defer { rows.close() }
        while try rows.next() {
            guard case .integer(let number) = try rows.sqliteValue(at: 0),
                case .blob(let bytes) = try rows.sqliteValue(at: 1), let id = MemberID(bytes)
            else { continue }
            numbers[id] = number
            members[number] = id
        }
    }

    /// Returns a member's number; gives it one the first time.
    package func number(of member: MemberID) throws -> Int64 {
        if let number = numbers[member] { return number }
        let number = (members.keys.max() ?? 0) + 1
        try db.executeUpdate(
            "INSERT INTO main.securestorage_sync_member (number, id) VALUES (?, ?)",
            values: [number, member.bytes])
        numbers[member] = number
        members[number] = member
        return number
    }

    /// Returns nil if no member has the number.
    package func member(numbered number: Int64) -> MemberID? { members[number] }
}

/// The clocks of one table's rows, read and written through prepared statements.
///
/// To be used within one transaction.
package final class ClockTable {
    private let db: SecureDatabaseStore
    private let shape: TableShape
    private let members: MemberNumbers
    private let select: SecureDatabaseStatement
    private let insert: SecureDatabaseStatement
    private let delete: SecureDatabaseStatement

    package init(
        of shape: TableShape, members: MemberNumbers, in db: SecureDatabaseStore
    ) throws {
        self.db = db
        self.shape = shape
        self.members = members
        let keys = shape.keyNames
        let condition = keys.map { "\($0) = ?" }.joined(separator: " AND ")
        let table = "main.\(shape.clockTable)"
        select = try db.prepare("SELECT clock FROM \(table) WHERE \(condition)")
        insert = try db.prepare(
            "INSERT OR REPLACE INTO \(table) (\(keys.joined(separator: ", ")), clock) VALUES ("
                + keys.map { _ in "?, " }.joined() + "?)")
        delete = try db.prepare("DELETE FROM \(table) WHERE \(condition)")
    }

    /// Returns nil for a row that has no clock: it is unknown, or alive at the floor.
    ///
    /// - Throws: `SyncError.damaged` for bytes that are no clock.
    package func clock(of key: [SQLiteValue]) throws -> RowClock? {
        let rows = try select.executeQuery(row: key)
        defer { rows.close() }
        guard try rows.next() else { return nil }
        guard case .blob(let bytes) = try rows.sqliteValue(at: 0),
            let clock = RowClock(decoding: bytes, member: members.member(numbered:))
        else { throw SyncError.damaged(shape.clockTable, "a row's clock cannot be read") }
        return clock
    }

    package func set(_ clock: RowClock, of key: [SQLiteValue]) throws {
        let bytes = try clock.encoded(number: members.number(of:))
        try insert.executeUpdate(row: key + [.blob(bytes.asData)])
    }

    /// Passes each clock, in the order of the keys; `body` may change that of its row.
    package func forEach(_ body: ([SQLiteValue], RowClock) throws -> Void) throws {
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
            for row in page {
                guard case .blob(let bytes) = row[keys.count],
                    let clock = RowClock(decoding: bytes, member: members.member(numbered:))
                else { throw SyncError.damaged(shape.clockTable, "a row's clock cannot be read") }
                try body(Array(row.prefix(keys.count)), clock)
            }
            guard let end = page.last else { return }
            last = Array(end.prefix(keys.count))
        }
    }

    /// The row is alive at the floor from now on, if it exists.
    package func remove(_ key: [SQLiteValue]) throws { try delete.executeUpdate(row: key) }
}
