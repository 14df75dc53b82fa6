package import SecureStorage

/// A row of this file that cannot be sent as it is; the others have its former state, or no row.
package struct UnsentRow: Equatable, Sendable {
    package var table: String
    package var key: [SQLiteValue]
    package var reason: Reason

    package enum Reason: Int64, Sendable {
        /// One write exceeds 16 MiB, or the row 47 MiB.
        case tooLarge = 1
        /// A TEXT value is not UTF-8.
        case notText = 2
    }
}

/// The marks of rows that cannot be sent.
///
/// They wait here so that other rows can be sent, and are used with their row's next mark: the row
/// may have changed by then.
struct UnsentRows {
    let db: SecureDatabaseStore

    /// The mask of each mark, and its time.
    typealias Marks = [Int64: Int64]

    static func create(in db: SecureDatabaseStore) throws {
        try db.executeStatements(
            """
            CREATE TABLE IF NOT EXISTS main.securestorage_sync_unsent (
                tbl INTEGER NOT NULL, key BLOB NOT NULL, mask INTEGER NOT NULL, at INTEGER NOT NULL,
                reason INTEGER NOT NULL, PRIMARY KEY (tbl, key, mask)) WITHOUT ROWID;
            """)
    }

    func isEmpty() throws -> Bool {
        try db.int(forQuery: "SELECT EXISTS (SELECT 1 FROM main.securestorage_sync_unsent)") == 0
    }

    func marks(ofTable table: Int64) throws -> [RowKey: Marks] {
        var marks: [RowKey: Marks] = [:]
        try db.eachRow(
            "SELECT key, mask, at FROM main.securestorage_sync_unsent WHERE tbl = ?",
            [.integer(table)], columns: 3
        ) { row in
            guard let key = row[0].blobBytes, let mask = row[1].number, let at = row[2].number
            else { return }
            marks[RowKey(bytes: key), default: [:]][mask] = at
        }
        return marks
    }

    func set(
        _ marks: Marks, of key: RowKey, inTable table: Int64, _ reason: UnsentRow.Reason
    ) throws {
        try remove(key, ofTable: table)
        for (mask, at) in marks {
            try db.executeUpdate(
                """
                INSERT INTO main.securestorage_sync_unsent (tbl, key, mask, at, reason)
                VALUES (?, ?, ?, ?, ?)
                """, values: [table, key.bytes.asData, mask, at, reason.rawValue])
        }
    }

    func remove(_ key: RowKey, ofTable table: Int64) throws {
        try db.executeUpdate(
            "DELETE FROM main.securestorage_sync_unsent WHERE tbl = ? AND key = ?",
            values: [table, key.bytes.asData])
    }

    /// Whether others deleted a row, or overwrote its unsent values, which no mark records.
    func isOvertaken(
        _ key: RowKey, _ values: [SQLiteValue], _ shape: TableShape, _ rows: RowReader
    ) throws -> Bool {
        // TEXT that is not UTF-8 is a BLOB of the same bytes here.
        let conditions = zip(shape.key, values.indices).map { column, index in
            let (name, value) = (column.sqlName, "?\(index + 1)")
            guard case .blob = values[index] else { return "\(name) = \(value)" }
            return
                "(\(name) = \(value) OR typeof(\(name)) = 'text' AND CAST(\(name) AS BLOB) = \(value))"
        }
        let found = try db.allRows(
            """
            SELECT 1 FROM main.\(shape.table.sqlName) WHERE \(conditions.joined(separator: " AND "))
            """, values, columns: 1)
        guard !found.isEmpty else { return true }
        let isTooLarge = try db.bool(
            forQuery: """
                SELECT EXISTS (SELECT 1 FROM main.securestorage_sync_unsent
                WHERE tbl = ? AND key = ? AND reason = ?)
                """,
            values: [shape.number, key.bytes.asData, UnsentRow.Reason.tooLarge.rawValue])
        guard isTooLarge != true, let row = try rows.row(of: values) else { return false }
        return !row.isUnreadable
    }

    func removeAll(ofTable table: Int64) throws {
        try db.executeUpdate(
            "DELETE FROM main.securestorage_sync_unsent WHERE tbl = ?", values: [table])
    }
}

extension Capture {
    /// The rows that cannot be sent as they are.
    package func unsentRows(in db: SecureDatabaseStore) throws -> [UnsentRow] {
        try shapes(in: db).flatMap { shape in
            try db.allRows(
                """
                SELECT DISTINCT key, reason FROM main.securestorage_sync_unsent WHERE tbl = ?
                """, [.integer(shape.number)], columns: 2
            ).compactMap { row in
                guard let key = row[0].blobBytes.flatMap({ RowKey(bytes: $0).values() }),
                    let reason = row[1].number.flatMap(UnsentRow.Reason.init)
                else { return nil }
                return UnsentRow(table: shape.name, key: key, reason: reason)
            }
        }
    }

    /// Checks that all rows can be sent, before the file's rows replace the group's.
    ///
    /// - Throws: ``SyncError/unsuitableTable(_:_:)`` with the first that cannot.
    func requireNoUnsentRows(in db: SecureDatabaseStore) throws {
        guard let row = try unsentRows(in: db).first else { return }
        let key = row.key.map(\.forPeople).joined(separator: ", ")
        throw SyncError.unsuitableTable(
            row.table, "the row with the key \(key) \(row.reason.text)")
    }
}

extension UnsentRow.Reason {
    /// The problem, and what to do.
    var text: String {
        switch self {
        case .tooLarge:
            "has more than 16 MiB that were written at once, or more than 47 MiB, which cannot travel; keep "
                + "large content in files, or in several rows"
        case .notText:
            "has a TEXT that is not UTF-8, which cannot travel; store a BLOB instead"
        }
    }
}

extension SQLiteValue {
    /// A key in a message, shortened if long.
    var forPeople: String {
        switch self {
        case .null: "NULL"
        case .integer(let number): "\(number)"
        case .real(let number): "\(number)"
        case .text(let text): "'\(text.prefix(80))'"
        case .blob(let bytes):
            "x'" + bytes.prefix(40).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
                + "'"
        }
    }
}
