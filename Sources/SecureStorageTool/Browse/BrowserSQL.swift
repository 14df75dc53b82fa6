internal import Foundation
internal import SecureStorage

// The schema and single values, in a transaction of the caller.

extension SecureDatabaseStore {
    func browsedTables() throws -> [TableEntry] {
        let rows = try executeQuery(
            """
            SELECT name, CASE WHEN type = 'view' THEN 'view'
                WHEN sql LIKE 'CREATE VIRTUAL%' THEN 'virtual table' ELSE 'table' END
            FROM sqlite_schema
            WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
            ORDER BY name COLLATE NOCASE, name
            """)
        defer { rows.close() }
        var entries: [TableEntry] = []
        while try rows.next() {
            let kind = rows.string(forColumnIndex: 1).flatMap { TableEntry.Kind(rawValue: $0) }
            entries.append(
                TableEntry(name: rows.string(forColumnIndex: 0) ?? "", kind: kind ?? .table))
        }
        return entries
    }

    /// - Throws: `TableIsGone`.
    func shape(of name: String) throws -> TableShape {
        guard let entry = try browsedTables().first(where: { $0.name == name }) else {
            throw TableIsGone(name: name)
        }
        let table = SQLName.literal(name)
        // Hidden columns of virtual tables are arguments, not values.
        let columns = try names(
            "SELECT name FROM pragma_table_xinfo(\(table)) WHERE hidden <> 1 ORDER BY cid")
        return TableShape(
            name: name, kind: entry.kind, columns: columns, key: try key(of: entry, columns))
    }

    private func key(of entry: TableEntry, _ columns: [String]) throws -> KeyShape {
        guard entry.kind != .view else { return .offset }
        let hidden = Set(columns.map { $0.lowercased() })
        let free = ["rowid", "_rowid_", "oid"].first { !hidden.contains($0) }
        let table = SQLName.literal(entry.name)
        let index = try names(
            "SELECT name FROM pragma_index_list(\(table)) WHERE origin = 'pk'"
        ).first
        // The primary key of a WITHOUT ROWID table is the table itself: its index has all columns.
        if let index, try isTable(index) {
            let columns = try keyColumns(of: index)
            return .primaryKey(try withoutOwnCollations(columns, of: entry.name))
        }
        guard let free, (try? prepare("SELECT \(free) FROM \(SQLName.quoted(entry.name))")) != nil
        else { return .offset }
        return .rowID(free)
    }

    /// Omits the collations that are those of the columns.
    ///
    /// With an explicit collation, SQLite does not look up a row value in the key, but scans the
    /// table from its beginning. Where the order of the columns as they are needs no sorting, it is
    /// that of the key.
    private func withoutOwnCollations(
        _ columns: [KeyShape.Column], of table: String
    ) throws -> [KeyShape.Column] {
        let order = columns.map { SQLName.quoted($0.name) + ($0.isDescending ? " DESC" : "") }
        let plan = try executeQuery(
            "EXPLAIN QUERY PLAN SELECT 1 FROM \(SQLName.quoted(table)) ORDER BY "
                + order.joined(separator: ", "))
        defer { plan.close() }
        while try plan.next() {
            if plan.string(forColumnName: "detail")?.contains("TEMP B-TREE") == true {
                return columns
            }
        }
        return columns.map {
            KeyShape.Column(name: $0.name, collation: nil, isDescending: $0.isDescending)
        }
    }

    private func isTable(_ index: String) throws -> Bool {
        // An index of a table with rowids ends with the rowid, whose number is -1.
        try executeQuery(
            "SELECT count(*) FROM pragma_index_xinfo(\(SQLName.literal(index))) WHERE cid = -1"
        ).firstInteger() == 0
    }

    private func keyColumns(of index: String) throws -> [KeyShape.Column] {
        let rows = try executeQuery(
            """
            SELECT name, coll, "desc" FROM pragma_index_xinfo(\(SQLName.literal(index)))
            WHERE "key" = 1 ORDER BY seqno
            """)
        defer { rows.close() }
        var columns: [KeyShape.Column] = []
        while try rows.next() {
            columns.append(
                KeyShape.Column(
                    name: rows.string(forColumnIndex: 0) ?? "",
                    collation: rows.string(forColumnIndex: 1) ?? "BINARY",
                    isDescending: rows.int(forColumnIndex: 2) == 1))
        }
        return columns
    }

    func schemaText(of name: String) throws -> String {
        let statements = try names(
            """
            SELECT sql FROM sqlite_schema WHERE tbl_name = ?1 AND sql IS NOT NULL
            ORDER BY name <> ?1, type, name
            """, name)
        guard !statements.isEmpty else { throw TableIsGone(name: name) }
        return statements.map { $0 + ";" }.joined(separator: "\n\n")
    }

    func wholeValue(_ place: CellPlace) throws -> WholeValue {
        let shape = try shape(of: place.table)
        guard shape.columns.contains(place.columnName) else {
            throw Failure("the column \(place.columnName) no longer exists")
        }
        let name = SQLName.quoted(place.columnName)
        let limit = BrowserPages.longestValue
        var values: [SQLiteValue] = []
        let condition = RowQuery.condition(shape, place.key, &values)
        var rest = condition.map { " WHERE \($0)" } ?? ""
        if case .offset(let row) = place.key {
            if let filter = place.filter { rest = " WHERE (\n\(filter)\n)" }
            rest += " LIMIT 1 OFFSET \(row)"
        } else if condition == nil {
            throw Failure("the key of the table has changed; r reads it again")
        }
        let rows = try executeQuery(
            """
            SELECT CASE WHEN typeof(\(name)) IN ('text', 'blob') THEN length(CAST(\(name) AS BLOB))
                ELSE 0 END AS size,
            CASE WHEN typeof(\(name)) IN ('text', 'blob') AND length(CAST(\(name) AS BLOB)) > \(limit)
                THEN substr(\(name), 1, \(limit)) ELSE \(name) END
            FROM \(SQLName.quoted(place.table))\(rest)
            """, values: values)
        defer { rows.close() }
        guard try rows.next() else { throw Failure("the row no longer exists") }
        let length = rows.int(forColumnIndex: 0) ?? 0
        return WholeValue(value: rows.stored(1), length: length, isWhole: length <= limit)
    }

    // MARK: - Changes

    /// Returns the number of rows that were changed, to be committed if it is 1.
    func update(_ place: CellPlace, from old: SQLiteValue, to new: SQLiteValue) throws -> Int {
        let shape = try shape(of: place.table)
        var values = [new]
        guard shape.hasRows, let condition = RowQuery.condition(shape, place.key, &values) else {
            return 0
        }
        let name = SQLName.quoted(place.columnName)
        // Not by the affinity and collation of the column: exactly the value that was shown.
        let type = "typeof(\(name)) = \(SQLName.literal(old.storageClassName))"
        values.append(old)
        try executeUpdate(
            """
            UPDATE \(SQLName.quoted(place.table)) SET \(name) = ?
            WHERE \(condition) AND \(type) AND \(name) COLLATE BINARY IS ?
            """, values: values)
        return try changedRowCount()
    }

    /// Returns the number of rows that were removed, to be committed if it is 1.
    func delete(_ row: BrowsedRow, of table: String, columns: [String]) throws -> Int {
        let shape = try shape(of: table)
        var values: [SQLiteValue] = []
        guard shape.hasRows, shape.columns == columns,
            let condition = RowQuery.condition(shape, row.key, &values)
        else { return 0 }
        var conditions = [condition]
        for (column, cell) in zip(columns, row.cells) {
            // A blob may be a text that is not UTF-8.
            if case .blob = cell.value { continue }
            conditions.append("\(RowQuery.cell(SQLName.quoted(column))) IS ?")
            values.append(cell.value)
        }
        try executeUpdate(
            "DELETE FROM \(SQLName.quoted(table)) WHERE \(conditions.joined(separator: " AND "))",
            values: values)
        return try changedRowCount()
    }
}

extension SQLiteValue {
    /// What SQLite's `typeof` returns.
    var storageClassName: String {
        switch self {
        case .null: "null"
        case .integer: "integer"
        case .real: "real"
        case .text: "text"
        case .blob: "blob"
        }
    }
}
