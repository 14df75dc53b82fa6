import SecureStorage

/// States of rows in tables and columns that this file does not have yet: one for each row, so they
/// grow with the number of rows, not of changes.
struct LaterChanges {
    let db: SecureDatabaseStore

    struct Entry {
        var table: String
        var key: RowKey
    }

    func add(_ change: RowChange) throws {
        let key = RowKey(change.key)
        var state = RowState(change)
        let found = try db.allRows(
            "SELECT state FROM main.securestorage_sync_later WHERE tbl = ? AND key = ?",
            [.text(change.table), .blob(key.bytes)], columns: 1)
        if let bytes = found.first?.first?.blobBytes { state.join(try Self.decoded(bytes)) }
        try db.executeUpdate(
            "INSERT OR REPLACE INTO main.securestorage_sync_later (tbl, key, state) VALUES (?, ?, ?)",
            values: [change.table, key.bytes.asData, state.encoded().asData])
    }

    /// The waiting states, each as a change.
    func all() throws -> [(RowChange, Entry)] {
        try db.allRows("SELECT tbl, key, state FROM main.securestorage_sync_later", columns: 3)
            .compactMap { row in
                guard case .text(let table) = row[0], let bytes = row[1].blobBytes,
                    let key = RowKey(bytes: bytes).values(), let content = row[2].blobBytes
                else { return nil }
                let state = try Self.decoded(content)
                let columnGroups = state.cells.sorted { $0.key < $1.key }.map {
                    RowChange.ColumnGroup(
                        columns: [$0.key], values: [$0.value.value], timestamp: $0.value.timestamp)
                }
                let change = RowChange(
                    table: table, key: key,
                    incarnation: .init(timestamp: state.incarnation, isAlive: state.isAlive),
                    columnGroups: columnGroups
                )
                return (change, Entry(table: table, key: RowKey(bytes: bytes)))
            }
    }

    func remove(_ entry: Entry) throws {
        try db.executeUpdate(
            "DELETE FROM main.securestorage_sync_later WHERE tbl = ? AND key = ?",
            values: [entry.table, entry.key.bytes.asData])
    }

    private static func decoded(_ bytes: [UInt8]) throws -> RowState {
        do { return try RowState(decoding: bytes) } catch {
            throw SyncError.damaged("securestorage_sync_later", "a state cannot be read")
        }
    }
}
