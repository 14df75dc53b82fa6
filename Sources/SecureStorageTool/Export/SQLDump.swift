internal import Foundation
internal import SecureStorage

/// The whole database as SQL for the `sqlite3` shell, in the format of its own `.dump`.
struct SQLDump {
    let store: SecureDatabaseStore
    let output: Output
    let progress: ProgressBar
    private var rowCount = 0

    init(of store: SecureDatabaseStore, to output: Output, _ progress: ProgressBar) {
        self.store = store
        self.output = output
        self.progress = progress
    }

    /// - Parameter table: A single table with its indexes and triggers; nil for all.
    /// - Returns: The number of rows.
    /// - Throws: SQLite's errors, and those of the output.
    mutating func write(table: String? = nil) throws -> Int {
        try output.write("PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\n")
        if table == nil {
            try output.write("PRAGMA user_version=\(store.userVersion);\n")
            let identifier = Int32(bitPattern: try store.applicationID)
            try output.write("PRAGMA application_id=\(identifier);\n")
        }
        let only = table.map { " AND tbl_name = \(SQLName.literal($0)) COLLATE NOCASE" } ?? ""
        var writesSchema = false
        try forEach(
            """
            SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND sql IS NOT NULL\(only)
            ORDER BY name = 'sqlite_sequence', rowid
            """
        ) { name, sql in try write(name, sql, &writesSchema) }
        // Views may use tables, and triggers may use views.
        try forEach(
            """
            SELECT name, sql FROM sqlite_schema
            WHERE type IN ('index', 'view', 'trigger') AND sql IS NOT NULL\(only)
            ORDER BY type = 'trigger', type = 'view', rowid
            """
        ) { name, sql in try output.write(line: Self.terminated(sql, name)) }
        if writesSchema { try output.write(line: "PRAGMA writable_schema=OFF;") }
        try output.write(line: "COMMIT;")
        return rowCount
    }

    private func forEach(_ sql: String, _ body: (String, String) throws -> Void) throws {
        let rows = try store.executeQuery(sql)
        defer { rows.close() }
        while try rows.next() {
            try body(
                rows.string(forColumnIndex: 0) ?? "", rows.string(forColumnIndex: 1) ?? "")
        }
    }

    private mutating func write(
        _ name: String, _ sql: String, _ writesSchema: inout Bool
    ) throws {
        switch name {
        // SQLite itself creates both of these tables.
        case "sqlite_sequence": try output.write(line: "DELETE FROM sqlite_sequence;")
        case "sqlite_stat1": try output.write(line: "ANALYZE sqlite_schema;")
        case _ where name.hasPrefix("sqlite_"): return
        case _ where leadingWords(sql, 2) == ["CREATE", "VIRTUAL"]:
            // Creating the virtual table would also create its shadow tables, which are dumped
            // separately.
            if !writesSchema { try output.write(line: "PRAGMA writable_schema=ON;") }
            writesSchema = true
            try output.write(
                line: "INSERT INTO sqlite_schema(type,name,tbl_name,rootpage,sql)VALUES('table',"
                    + "\(SQLName.literal(name)),\(SQLName.literal(name)),0,\(SQLName.literal(sql)));"
            )
            return
        default: try output.write(line: Self.terminated(Self.definition(sql), name))
        }
        try writeRows(of: name)
    }

    /// Returns `sql` with its semicolon.
    ///
    /// In a hostile file it could contain several statements. SQLite itself runs only the first,
    /// but a shell would run the others too, and lines that begin with a dot as commands.
    private static func terminated(_ sql: String, _ name: String) throws -> String {
        // The second one is for text that ends with a comment.
        for end in [";", "\n;"] {
            var scanner = StatementScanner()
            let whole = Array((sql + end).utf8)
            if whole.firstIndex(where: { scanner.ends(with: $0) }) == whole.count - 1 {
                return sql + end
            }
        }
        throw Failure(
            "the schema of \"\(name)\" is not a single SQL statement",
            hint: "export the tables one by one, as CSV or JSON lines")
    }

    /// A virtual table's shadow tables already exist if a shell has created that table first.
    private static func definition(_ sql: String) -> String {
        let start = "CREATE TABLE "
        guard sql.hasPrefix(start + "'") || sql.hasPrefix(start + "\"") else { return sql }
        return "CREATE TABLE IF NOT EXISTS " + sql.dropFirst(start.count)
    }

    private mutating func writeRows(of table: String) throws {
        // Generated columns are not stored, so they are not inserted.
        let all = try store.names("SELECT name FROM pragma_table_xinfo(?)", table)
        let stored = try store.names(
            "SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0", table)
        guard !stored.isEmpty else { return }
        let list = stored.map { SQLName.quoted($0) }.joined(separator: ",")
        let columns = all.count == stored.count ? "" : "(\(list))"
        let insert = "INSERT INTO \(SQLName.quoted(table))\(columns) VALUES("
        let literal = try SQLLiteral(in: store)
        let rows = try store.executeQuery("SELECT \(list) FROM \(SQLName.quoted(table))")
        defer { rows.close() }
        while try rows.next() {
            try output.write(insert)
            for column in stored.indices {
                if column > 0 { try output.write(byte: UInt8(ascii: ",")) }
                try literal.write(rows, column, to: output)
            }
            try output.write(");\n")
            rowCount += 1
            progress.advance(to: rowCount, "\(rowCount) rows")
        }
    }
}
