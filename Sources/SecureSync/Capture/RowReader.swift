package import SecureStorage

/// Reads rows of a synced table by their keys.
package final class RowReader {
    package struct Row {
        package var key: [SQLiteValue]
        /// By the columns' names.
        package var columns: [String: SQLiteValue]
        /// Whether any TEXT is not UTF-8; it is read as NULL.
        var isUnreadable = false

        /// Why a change of the row cannot be sent; nil if it can.
        func obstacle(to change: RowChange) -> UnsentRow.Reason? {
            if isUnreadable { return .notText }
            let whole = TransactionParts.size(of: key) + TransactionParts.size(of: columns.values)
            // A snapshot could not contain a larger row.
            return TransactionParts.isTooLong(change) || whole > TransactionParts.longestRowAtHome
                ? .tooLarge : nil
        }

        package func values(of names: [String]) -> [SQLiteValue] {
            names.map { columns[$0] ?? .null }
        }
    }

    private let names: [String]
    private let keyCount: Int
    private let statement: SecureDatabaseStatement

    package init(_ shape: TableShape, in db: SecureDatabaseStore) throws {
        names = shape.columns
        keyCount = shape.key.count
        let columns = names.map(\.sqlName).joined(separator: ", ")
        let condition = shape.key.map { "\($0.sqlName) = ?" }.joined(separator: " AND ")
        statement = try db.prepare(
            "SELECT \(columns) FROM main.\(shape.table.sqlName) WHERE \(condition)")
    }

    /// Returns nil if there is no row with the key.
    package func row(of key: [SQLiteValue]) throws -> Row? {
        let rows = try statement.executeQuery(row: key)
        defer { rows.close() }
        guard try rows.next() else { return nil }
        var isUnreadable = false
        let values = try names.indices.map { column -> SQLiteValue in
            do { return try rows.sqliteValue(at: column) } catch SecureStorageError
                .typeConversionFailed
                where column >= keyCount
            {
                isUnreadable = true
                return SQLiteValue.null
            }
        }
        return Row(
            key: Array(values.prefix(keyCount)),
            columns: Dictionary(uniqueKeysWithValues: zip(names, values).dropFirst(keyCount)),
            isUnreadable: isUnreadable)
    }
}
