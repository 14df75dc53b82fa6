import SecureStorage

/// The file's tables with merge state that the app's tables cannot hold.
///
/// - `_held_back`: live rows that are not in their table, with the reason, and for a duplicate the
///   key of the row that it collides with. `_held_back_place`: their values in UNIQUE constraints
///   and references, by which they are found; see ``MergedTable/Place``.
/// - `_later`: states of rows in tables and columns that this file does not have yet.
/// - `_due`: one row while waiting changes must be checked again, after an engine starts.
/// - `_conflict`: values that lost to a concurrent write.
enum MergeTables {
    static func create(in db: SecureDatabaseStore) throws {
        try db.executeStatements(
            """
            CREATE TABLE IF NOT EXISTS main.securestorage_sync_held_back (
                id INTEGER PRIMARY KEY, tbl INTEGER NOT NULL, key BLOB NOT NULL,
                row BLOB NOT NULL, standing INTEGER NOT NULL, blocker BLOB, UNIQUE (tbl, key));
            CREATE INDEX IF NOT EXISTS main.securestorage_sync_held_back_blocker
                ON securestorage_sync_held_back (tbl, blocker) WHERE blocker IS NOT NULL;
            CREATE TABLE IF NOT EXISTS main.securestorage_sync_held_back_place (
                place TEXT NOT NULL, value BLOB NOT NULL, id INTEGER NOT NULL,
                PRIMARY KEY (place, value, id)) WITHOUT ROWID;
            CREATE INDEX IF NOT EXISTS main.securestorage_sync_held_back_id
                ON securestorage_sync_held_back_place (id);
            CREATE TABLE IF NOT EXISTS main.securestorage_sync_later (
                tbl TEXT NOT NULL COLLATE NOCASE, key BLOB NOT NULL, state BLOB NOT NULL,
                PRIMARY KEY (tbl, key)) WITHOUT ROWID;
            CREATE TABLE IF NOT EXISTS main.securestorage_sync_due (
                id INTEGER PRIMARY KEY CHECK (id = 1));
            CREATE TABLE IF NOT EXISTS main.securestorage_sync_conflict (
                id INTEGER PRIMARY KEY AUTOINCREMENT, tbl TEXT NOT NULL COLLATE NOCASE,
                key BLOB NOT NULL, lost BLOB NOT NULL, reason INTEGER NOT NULL,
                time INTEGER NOT NULL, member BLOB NOT NULL,
                winner_time INTEGER NOT NULL, winner_member BLOB NOT NULL);
            CREATE INDEX IF NOT EXISTS main.securestorage_sync_conflict_table
                ON securestorage_sync_conflict (tbl);
            """)
    }

    /// Forgets all rows, but not the conflicts.
    static func removeAllRows(in db: SecureDatabaseStore) throws {
        for name in ["held_back", "held_back_place", "later"] {
            try db.executeUpdate("DELETE FROM main.securestorage_sync_\(name)")
        }
    }
}

extension SecureDatabaseStore {
    /// Runs a query and passes each row as stored.
    func eachRow(
        _ sql: String, _ values: [SQLiteValue] = [], columns: Int,
        _ body: ([SQLiteValue]) throws -> Void
    ) throws {
        let rows = try executeQuery(sql, values: values)
        defer { rows.close() }
        while try rows.next() { try body((0..<columns).map { try rows.sqliteValue(at: $0) }) }
    }

    func allRows(
        _ sql: String, _ values: [SQLiteValue] = [], columns: Int
    ) throws -> [[SQLiteValue]] {
        var all: [[SQLiteValue]] = []
        try eachRow(sql, values, columns: columns) { all.append($0) }
        return all
    }
}

extension SQLiteValue {
    var blobBytes: [UInt8]? {
        if case .blob(let bytes) = self { Array(bytes) } else { nil }
    }

    var number: Int64? {
        if case .integer(let number) = self { number } else { nil }
    }

    static func blob(_ bytes: [UInt8]) -> SQLiteValue { .blob(bytes.asData) }
}
