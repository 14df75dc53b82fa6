internal import Foundation

/// A table whose content is copied.
struct ContentTable {
    let name: String
    let sql: String
    let rowCount: Int
    /// The stored columns; the others are computed.
    let columns: [String]
    let hasRowIDs: Bool
    /// A name for the row id that no column has; nil if all are taken, or the table has no row ids.
    let rowID: String?

    /// Returns the tables of the main database that have pages, except SQLite's own.
    static func all(of connection: Connection) throws -> [ContentTable] {
        let statement = try Statement(
            """
            SELECT name, sql FROM main.sqlite_schema
            WHERE type = 'table' AND rootpage > 0 AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
            ORDER BY rowid
            """, on: connection, persistent: false)
        var found: [(String, String)] = []
        while try statement.step() {
            found.append((statement.column(0).text ?? "", statement.column(1).text ?? ""))
        }
        statement.giveBack()
        return try found.map { try ContentTable(name: $0, sql: $1, on: connection) }
    }

    init(name: String, sql: String, on connection: Connection) throws {
        self.name = name
        self.sql = sql
        var all: [String] = []
        var stored: [String] = []
        // Not with the table-valued `pragma_…`: a file from elsewhere may have tables or views of
        // those names.
        let identifier = SQLText.identifier(name)
        let info = try Statement(
            "PRAGMA main.table_xinfo(\(identifier))", on: connection, persistent: false)
        defer { info.giveBack() }
        while try info.step() {
            let column = info.column(1).text ?? ""
            all.append(column.lowercased())
            // The last column is `hidden`; 2 and 3 are generated columns.
            if info.column(6).integer < 2 { stored.append(column) }
        }
        columns = stored
        let kind = try Statement(
            "PRAGMA main.table_list(\(identifier))", on: connection, persistent: false)
        defer { kind.giveBack() }
        // The fifth column is `wr`, for WITHOUT ROWID.
        hasRowIDs = try kind.step() && kind.column(4).integer == 0
        rowID = hasRowIDs ? ["rowid", "_rowid_", "oid"].first { !all.contains($0) } : nil
        rowCount = try Self.count(name, in: connection)
    }

    func count(in connection: Connection) throws -> Int { try Self.count(name, in: connection) }

    private static func count(_ name: String, in connection: Connection) throws -> Int {
        try connection.text("SELECT count(*) FROM \(SQLText.main(name))")
            .flatMap { Int($0) } ?? 0
    }

    /// The columns that an INSERT names: the row id first, if there is one.
    var insertedColumns: [String] {
        (rowID.map { [$0] } ?? []) + columns.map { SQLText.identifier($0) }
    }

    /// Returns an INSERT with a placeholder for each of `insertedColumns`.
    func insertStatement(on connection: Connection) throws -> Statement {
        try Statement(
            SQLText.insert(into: SQLText.main(name), insertedColumns), on: connection,
            persistent: true)
    }

    /// Copies all rows as they are stored, and calls `copied` after every few thousand.
    func copyRows(
        from source: Connection, to target: Connection, _ copied: (Int) throws -> Void
    ) throws {
        let names = insertedColumns.joined(separator: ", ")
        let rows = try Statement(
            "SELECT \(names) FROM \(SQLText.main(name))", on: source, persistent: true)
        defer { rows.giveBack() }
        let insert = try insertStatement(on: target)
        defer { insert.giveBack() }
        var count = 0
        while try rows.step() {
            try insert.bindColumns(of: rows)
            try insert.run()
            insert.rewind()
            count += 1
            if count % 4096 == 0 { try copied(4096) }
        }
        try copied(count % 4096)
    }
}
