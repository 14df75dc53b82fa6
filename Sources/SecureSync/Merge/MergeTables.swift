internal import Foundation
internal import SecureStorage

/// What merging keeps in the file beside the rows and their clocks: rows that are held back,
/// changes of tables and columns that do not exist here yet, and values that lost.
struct MergeTables {
    let db: SecureDatabaseStore

    init(_ db: SecureDatabaseStore) { self.db = db }

    func install() throws {
        try db.executeStatements(
            """
            CREATE TABLE IF NOT EXISTS main.securestorage_sync_parked (
              tbl INTEGER, key BLOB, state BLOB NOT NULL, reason INTEGER NOT NULL,
              PRIMARY KEY (tbl, key)) WITHOUT ROWID;
            CREATE TABLE IF NOT EXISTS main.securestorage_sync_later (
              id INTEGER PRIMARY KEY, change BLOB NOT NULL);
            CREATE TABLE IF NOT EXISTS main.securestorage_sync_conflict (
              id INTEGER PRIMARY KEY, tbl TEXT NOT NULL COLLATE NOCASE, key BLOB NOT NULL,
              lost BLOB NOT NULL, loser BLOB NOT NULL, winner BLOB NOT NULL,
              reason INTEGER NOT NULL);
            """)
    }

    // MARK: - Rows that are held back

    /// Whether any row is held back.
    func hasParked() throws -> Bool {
        try db.bool(forQuery: "SELECT EXISTS (SELECT 1 FROM main.securestorage_sync_parked)")
            ?? false
    }

    func parked(_ shape: TableShape, _ key: RowKey) throws -> RowState? {
        let state: Data? = try db.object(
            forQuery: "SELECT state FROM main.securestorage_sync_parked WHERE tbl = ? AND key = ?",
            values: [shape.number, Data(key.bytes)])
        return try state.map { try decoded($0) }
    }

    /// All rows that are held back: table's number, key, state.
    func allParked() throws -> [(table: Int64, key: RowKey, state: RowState)] {
        let rows = try db.executeQuery("SELECT tbl, key, state FROM main.securestorage_sync_parked")
        defer { rows.close() }
        var all: [(table: Int64, key: RowKey, state: RowState)] = []
        while try rows.next() {
            all.append(
                (
                    try rows.number(at: 0), RowKey(bytes: rows.bytes(forColumnIndex: 1) ?? []),
                    try decoded(rows.data(forColumnIndex: 2) ?? Data())
                ))
        }
        return all
    }

    private func decoded(_ state: Data) throws -> RowState {
        do {
            return try RowState(decoding: [UInt8](state))
        } catch {
            throw SyncError.damaged("securestorage_sync_parked", "a row cannot be read")
        }
    }

    func park(
        _ shape: TableShape, _ key: RowKey, _ state: RowState, _ reason: RowConflict.Reason
    ) throws {
        try db.executeUpdate(
            """
            INSERT OR REPLACE INTO main.securestorage_sync_parked (tbl, key, state, reason)
            VALUES (?, ?, ?, ?)
            """, values: [shape.number, Data(key.bytes), Data(state.encoded()), reason.rawValue])
    }

    func setReason(
        _ shape: TableShape, _ key: RowKey, _ reason: RowConflict.Reason
    ) throws {
        try db.executeUpdate(
            """
            UPDATE main.securestorage_sync_parked SET reason = ?3
            WHERE tbl = ?1 AND key = ?2 AND reason IS NOT ?3
            """, values: [shape.number, Data(key.bytes), reason.rawValue])
    }

    func unpark(_ shape: TableShape, _ key: RowKey) throws {
        try db.executeUpdate(
            "DELETE FROM main.securestorage_sync_parked WHERE tbl = ? AND key = ?",
            values: [shape.number, Data(key.bytes)])
    }

    // MARK: - Changes for later

    func addLater(_ change: RowChange) throws {
        let body = BatchBody(time: 0, schema: 0, heads: [], changes: [change], isLast: true)
        try db.executeUpdate(
            "INSERT INTO main.securestorage_sync_later (change) VALUES (?)",
            values: [Data(body.encoded())])
    }

    /// Returns all changes that waited, which wait no more, in the order in which they came.
    func takeLater() throws -> [RowChange] {
        var changes: [RowChange] = []
        let rows = try db.executeQuery(
            "SELECT change FROM main.securestorage_sync_later ORDER BY id")
        defer { rows.close() }
        while try rows.next() {
            do {
                changes += try BatchBody(decoding: rows.bytes(forColumnIndex: 0) ?? []).changes
            } catch is CBORError {
                throw SyncError.damaged("securestorage_sync_later", "a change cannot be read")
            }
        }
        rows.close()
        if !changes.isEmpty {
            try db.executeUpdate("DELETE FROM main.securestorage_sync_later")
        }
        return changes
    }

    // MARK: - Conflicts

    /// How many are kept; the oldest go first.
    static let mostConflicts = 10_000

    func addConflict(_ table: String, _ key: [SQLiteValue], _ lost: LostValues) throws {
        var values = CBORWriter()
        values.array(2 * lost.columns.count)
        for (column, value) in zip(lost.columns, lost.values) {
            values.text(column)
            values.stored(value)
        }
        var (loser, winner) = (CBORWriter(), CBORWriter())
        loser.stored(lost.stamp)
        winner.stored(lost.winner)
        try db.executeUpdate(
            """
            INSERT INTO main.securestorage_sync_conflict (tbl, key, lost, loser, winner, reason)
            VALUES (?, ?, ?, ?, ?, ?)
            """,
            values: [
                table, Data(RowKey(key).bytes), Data(values.bytes), Data(loser.bytes),
                Data(winner.bytes), lost.reason.rawValue,
            ])
        let id = try db.lastInsertRowId()
        if id % 1000 == 0 {
            try db.executeUpdate(
                "DELETE FROM main.securestorage_sync_conflict WHERE id <= ?",
                values: [id - Int64(Self.mostConflicts)])
        }
    }
}
