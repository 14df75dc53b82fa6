package import SecureStorage

/// Values that lost to a concurrent write, kept until the app forgets them.
package struct RowConflict: Equatable, Sendable {
    package let id: Int64
    package var table: String
    package var key: [SQLiteValue]
    package var lost: LostValues
}

/// The conflicts of a file.
///
/// At most ``greatestCount`` are kept, with values of at most ``greatestSize`` bytes, so they do
/// not fill the file of an app that never reads them; the oldest are removed first.
struct ConflictList {
    static let greatestCount = 10_000
    static let greatestSize = 16 << 20

    let db: SecureDatabaseStore

    func add(_ lost: LostValues, _ table: String, _ key: [SQLiteValue]) throws {
        var writer = CBORWriter()
        writer.array(lost.columns.count)
        for (column, value) in zip(lost.columns, lost.values) {
            writer.text(column)
            writer.stored(value)
        }
        try db.executeUpdate(
            """
            INSERT INTO main.securestorage_sync_conflict
                (tbl, key, lost, reason, time, member, winner_time, winner_member)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """,
            values: [
                table, RowKey(key).bytes.asData, writer.bytes.asData, lost.reason.rawValue,
                Int64(bitPattern: lost.timestamp.time), lost.timestamp.member.bytes,
                Int64(bitPattern: lost.winner.time), lost.winner.member.bytes,
            ])
    }

    /// Removes the oldest beyond the limits.
    func trim() throws {
        try db.executeUpdate(
            """
            DELETE FROM main.securestorage_sync_conflict WHERE id <= (
                SELECT max(id) FROM (
                    SELECT id, row_number() OVER new AS place, sum(length(lost)) OVER new AS size
                    FROM main.securestorage_sync_conflict
                    WINDOW new AS (ORDER BY id DESC ROWS UNBOUNDED PRECEDING))
                WHERE place > \(Self.greatestCount) OR size > \(Self.greatestSize) AND place > 1)
            """)
    }

    func all(of table: String?) throws -> [RowConflict] {
        try db.allRows(
            """
            SELECT id, tbl, key, lost, reason, time, member, winner_time, winner_member
            FROM main.securestorage_sync_conflict WHERE ?1 IS NULL OR tbl = ?1 ORDER BY id
            """, [table.map { .text($0) } ?? .null], columns: 9
        ).map { row in
            guard let id = row[0].number, case .text(let table) = row[1],
                let key = row[2].blobBytes.flatMap({ RowKey(bytes: $0).values() }),
                let reason = row[4].number.flatMap(LostValues.Reason.init(rawValue:)),
                let timestamp = Self.timestamp(row[5], row[6]),
                let winner = Self.timestamp(row[7], row[8]),
                let bytes = row[3].blobBytes, let values = HeldBackRows.decoded(bytes)
            else {
                throw SyncError.damaged("securestorage_sync_conflict", "an entry cannot be read")
            }
            let sorted = values.sorted { $0.key < $1.key }
            return RowConflict(
                id: id, table: table, key: key,
                lost: LostValues(
                    columns: sorted.map(\.key), values: sorted.map(\.value), timestamp: timestamp,
                    winner: winner, reason: reason))
        }
    }

    private static func timestamp(_ time: SQLiteValue, _ member: SQLiteValue) -> Timestamp? {
        guard let time = time.number, let member = member.blobBytes.flatMap({ MemberID($0) }) else {
            return nil
        }
        return Timestamp(time: UInt64(bitPattern: time), member: member)
    }
}
