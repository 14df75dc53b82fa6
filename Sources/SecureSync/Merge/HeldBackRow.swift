package import SecureStorage

/// The state of a merged row: in its table, or held back and why.
///
/// A greater standing has passed the tests of the lower ones.
package enum Standing: Int64, Sendable, Comparable {
    /// Deleted, or unknown.
    case absent = -1
    /// The table rejects it: column values written by two members violate a CHECK in combination,
    /// or an index or a trigger fails for the row's values.
    case refused = 0
    /// A row that it refers to is missing.
    case orphan = 1
    /// It has a unique value of an earlier row.
    case duplicate = 2
    /// A row that it refers to is held back. It keeps its unique values.
    case waiting = 3
    case visible = 4

    package static func < (left: Standing, right: Standing) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// A live row that is held back, so the app does not see it.
package struct HeldBackRow: Equatable, Sendable {
    package var table: String
    package var key: [SQLiteValue]
    package var columns: [String]
    package var values: [SQLiteValue]
    package var standing: Standing
    /// The key of the row that has the unique value.
    package var blocker: [SQLiteValue]?
}

/// The held-back rows of a file.
struct HeldBackRows {
    let db: SecureDatabaseStore

    struct Entry {
        var key: RowKey
        var values: [String: SQLiteValue]
        var standing: Standing
        var blocker: RowKey?

        /// The row's value of a column, which may have had another name when it was held back.
        func value(of column: String, _ shape: TableShape) -> SQLiteValue? {
            if let value = values[column] { return value }
            return values.first { shape.currentName($0.key) == column }?.value
        }
    }

    func tables() throws -> Set<Int64> {
        Set(
            try db.allRows("SELECT DISTINCT tbl FROM main.securestorage_sync_held_back", columns: 1)
                .compactMap { $0[0].number })
    }

    func entry(_ table: Int64, _ key: RowKey) throws -> Entry? {
        try entries("tbl = ? AND key = ?", [.integer(table), .blob(key.bytes)]).first
    }

    func entries(_ condition: String, _ values: [SQLiteValue]) throws -> [Entry] {
        try db.allRows(
            "SELECT key, row, standing, blocker FROM main.securestorage_sync_held_back WHERE "
                + condition, values, columns: 4
        ).map { row in
            guard let key = row[0].blobBytes, let content = row[1].blobBytes,
                let standing = row[2].number.flatMap(Standing.init(rawValue:)),
                let values = Self.decoded(content)
            else {
                throw SyncError.damaged("securestorage_sync_held_back", "a row cannot be read")
            }
            return Entry(
                key: RowKey(bytes: key), values: values, standing: standing,
                blocker: row[3].blobBytes.map(RowKey.init(bytes:)))
        }
    }

    func keys(of table: Int64) throws -> [RowKey] {
        try keys(
            "SELECT key FROM main.securestorage_sync_held_back WHERE tbl = ?", [.integer(table)])
    }

    func keys(of table: Int64, blockedBy key: RowKey) throws -> [RowKey] {
        try keys(
            "SELECT key FROM main.securestorage_sync_held_back WHERE tbl = ? AND blocker = ?",
            [.integer(table), .blob(key.bytes)])
    }

    func keys(at place: MergedTable.Place, _ bytes: [UInt8]) throws -> [RowKey] {
        try keys(
            """
            SELECT key FROM main.securestorage_sync_held_back_place JOIN
                main.securestorage_sync_held_back USING (id) WHERE place = ? AND value = ?
            """, [.text(place.name), .blob(bytes)])
    }

    private func keys(_ sql: String, _ values: [SQLiteValue]) throws -> [RowKey] {
        try db.allRows(sql, values, columns: 1).compactMap { $0[0].blobBytes }
            .map(RowKey.init(bytes:))
    }

    func remove(_ table: Int64, _ key: RowKey) throws {
        let values: [SQLiteValue] = [.integer(table), .blob(key.bytes)]
        try db.executeUpdate(
            """
            DELETE FROM main.securestorage_sync_held_back_place WHERE id IN
                (SELECT id FROM main.securestorage_sync_held_back WHERE tbl = ? AND key = ?)
            """, values: values)
        try db.executeUpdate(
            "DELETE FROM main.securestorage_sync_held_back WHERE tbl = ? AND key = ?",
            values: values)
    }

    func set(
        _ row: [SQLiteValue], of table: MergedTable, _ key: RowKey, _ standing: Standing,
        blocker: RowKey?
    ) throws {
        try remove(table.shape.number, key)
        var writer = CBORWriter()
        writer.array(row.count)
        for (column, value) in zip(table.columns, row) {
            writer.text(column)
            writer.stored(value)
        }
        try db.executeUpdate(
            """
            INSERT INTO main.securestorage_sync_held_back (tbl, key, row, standing, blocker)
            VALUES (?, ?, ?, ?, ?)
            """,
            values: [
                table.shape.number, key.bytes.asData, writer.bytes.asData, standing.rawValue,
                blocker?.bytes.asData,
            ])
        let id = try db.lastInsertRowId()
        for place in table.uniques + table.references.map(\.place) {
            guard let bytes = place.bytes(of: row) else { continue }
            try db.executeUpdate(
                "INSERT INTO main.securestorage_sync_held_back_place (place, value, id) VALUES (?, ?, ?)",
                values: [place.name, bytes.asData, id])
        }
    }

    static func decoded(_ bytes: [UInt8]) -> [String: SQLiteValue]? {
        var reader = CBORReader(bytes)
        do {
            var values: [String: SQLiteValue] = [:]
            for _ in 0..<(try reader.array()) {
                let name = try reader.text()
                values[name] = try reader.stored()
            }
            try reader.expectEnd()
            return values
        } catch { return nil }
    }
}
