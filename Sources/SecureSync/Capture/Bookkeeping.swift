package import Foundation
internal import SecureStorage

/// The file's tables with the state of capture; see
/// `Docs/Decisions/0035-changes-captured-by-triggers.md`.
enum Bookkeeping {
    static let format: Int64 = 1

    /// The first condition of the triggers: while `applying` is 1, writes are not captured.
    static let isCapturing = "(SELECT applying FROM securestorage_sync_state) = 0"

    /// The time in milliseconds since 1970, as a number; SQLite 3.41 has no `subsec`.
    static let now = "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"

    static func create(in db: SecureDatabaseStore) throws {
        try db.executeStatements(
            """
            CREATE TABLE IF NOT EXISTS main.securestorage_sync_state (
                id INTEGER PRIMARY KEY CHECK (id = 1),
                applying INTEGER NOT NULL DEFAULT 0,
                format INTEGER NOT NULL,
                member INTEGER,
                last INTEGER NOT NULL DEFAULT 0,
                lower_bound INTEGER NOT NULL DEFAULT 0,
                stable_point INTEGER NOT NULL DEFAULT 0,
                read_only INTEGER NOT NULL DEFAULT 0);
            INSERT OR IGNORE INTO main.securestorage_sync_state (id, format) VALUES (1, \(format));
            CREATE TABLE IF NOT EXISTS main.securestorage_sync_member (
                number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE);
            CREATE TABLE IF NOT EXISTS main.securestorage_sync_table (
                number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE COLLATE NOCASE,
                keys INTEGER NOT NULL, compact_at INTEGER NOT NULL DEFAULT \(compactionLimit),
                declaration TEXT);
            CREATE TABLE IF NOT EXISTS main.securestorage_sync_column (
                tbl INTEGER NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL COLLATE NOCASE,
                PRIMARY KEY (tbl, number), UNIQUE (tbl, name)) WITHOUT ROWID;
            """)
    }

    /// The number of marks at which a table is first compacted: a few megabytes, and more than an
    /// app that syncs even occasionally ever accumulates.
    static let compactionLimit = 65536

    static func createTables(of shape: TableShape, in db: SecureDatabaseStore) throws {
        let keys = shape.keyNames.joined(separator: ", ")
        try db.executeStatements(
            """
            CREATE TABLE IF NOT EXISTS main.\(shape.markTable) (
                id INTEGER PRIMARY KEY, \(keys), mask INTEGER NOT NULL, at INTEGER NOT NULL);
            """)
        for table in shape.clockTables {
            try db.executeStatements(
                """
                CREATE TABLE IF NOT EXISTS main.\(table) (
                    \(keys), clock BLOB NOT NULL, PRIMARY KEY (\(keys))) WITHOUT ROWID;
                """)
        }
    }

    /// Numbers a table and its columns; a table keeps its number as long as it keeps its name.
    ///
    /// A renamed column keeps its number.
    static func columnGroup(
        _ table: String, keyCount: Int, columns: [String], formerly: [String: String],
        in db: SecureDatabaseStore
    ) throws {
        try db.executeUpdate(
            "INSERT OR IGNORE INTO main.securestorage_sync_table (name, keys) VALUES (?, ?)",
            values: [table, keyCount])
        guard let number = try self.number(of: table, in: db) else { return }
        let keys = try db.int64(
            forQuery:
                "SELECT keys FROM main.securestorage_sync_table WHERE number = \(number)")
        if keys != Int64(keyCount) {
            // Clocks of another key mean other rows.
            try db.executeStatements(
                """
                DROP TABLE IF EXISTS main.securestorage_sync_mark_\(number);
                DROP TABLE IF EXISTS main.securestorage_sync_recent_\(number);
                DROP TABLE IF EXISTS main.securestorage_sync_row_\(number);
                UPDATE main.securestorage_sync_table SET keys = \(keyCount),
                    compact_at = \(compactionLimit) WHERE number = \(number);
                """)
        }
        for (old, new) in formerly.sorted(by: { $0.key < $1.key }) {
            try db.executeUpdate(
                """
                UPDATE OR IGNORE main.securestorage_sync_column SET name = ?3
                WHERE tbl = ?1 AND name = ?2
                """, values: [number, old, new])
        }
        for column in columns {
            try db.executeUpdate(
                """
                INSERT OR IGNORE INTO main.securestorage_sync_column (tbl, number, name)
                SELECT ?1, (SELECT ifnull(max(number), -1) + 1 FROM main.securestorage_sync_column
                    WHERE tbl = ?1), ?2
                WHERE NOT EXISTS (SELECT 1 FROM main.securestorage_sync_column
                    WHERE tbl = ?1 AND name = ?2)
                """, values: [number, column])
        }
    }

    static func number(of table: String, in db: SecureDatabaseStore) throws -> Int64? {
        let rows = try db.executeQuery(
            "SELECT number FROM main.securestorage_sync_table WHERE name = ?", values: [table])
        defer { rows.close() }
        guard try rows.next() else { return nil }
        return try rows.value(forColumnIndex: 0)
    }

    /// The numbers of a table's columns, by ``Swift/String/sqlNameKey``.
    static func columnNumbers(
        ofTable number: Int64, in db: SecureDatabaseStore
    ) throws -> [String: Int64] {
        let rows = try db.executeQuery(
            "SELECT name, number FROM main.securestorage_sync_column WHERE tbl = ?",
            values: [number])
        defer { rows.close() }
        var numbers: [String: Int64] = [:]
        while try rows.next() {
            let name: String? = try rows.value(forColumnIndex: 0)
            if let name { numbers[name.sqlNameKey] = try rows.value(forColumnIndex: 1) }
        }
        return numbers
    }
}

extension SecureDatabaseResultSet {
    func text(at index: Int) throws -> String { try value(forColumnIndex: index) ?? "" }
    func number(at index: Int) throws -> Int64 { try value(forColumnIndex: index) ?? 0 }
}

extension [UInt8] {
    package var asData: Data { Data(self) }
}
