internal import Foundation

/// Copies the content of a database of any kind into a new one of another kind: tables with their
/// row ids, indexes, views, triggers, virtual tables, statistics, and the header's settings.
///
/// This does not use `sqlcipher_export`, which renumbers the rows of some tables and loses
/// `user_version` and `application_id`, or VACUUM INTO, which SQLCipher (4.6.1) gets wrong unless
/// all settings are its defaults.
struct ContentCopy {
    let source: Connection
    /// A new file without content.
    let target: Connection

    /// Copies everything, in one transaction on each side.
    ///
    /// - Returns: The number of rows in each table, the same in the new file as in the old one.
    /// - Throws: `.backingStoreError`; what `progress`, which receives numbers of rows, throws.
    func run(_ progress: FileProgress.Handler) throws -> [String: Int] {
        // Fixed once the first table exists.
        for name in ["encoding", "auto_vacuum"] { try copyPragma(name) }
        // A transaction that the caller began to exclude others stays open.
        let hadTransaction = source.isInTransaction
        try source.beginSnapshot()
        defer { if !hadTransaction { try? source.endSnapshot() } }
        try target.execute("BEGIN")
        do {
            let counts = try copyContent(progress)
            try target.execute("COMMIT")
            return counts
        } catch {
            target.uninterrupted { try? target.execute("ROLLBACK") }
            throw error
        }
    }

    private func copyContent(_ progress: FileProgress.Handler) throws -> [String: Int] {
        let tables = try ContentTable.all(of: source)
        let total = tables.reduce(0) { $0 + $1.rowCount }
        var done = 0
        try progress(FileProgress(0, of: total))
        for table in tables {
            try target.runSchema(table.sql)
            try table.copyRows(from: source, to: target) { rows in
                done += rows
                try progress(FileProgress(done, of: total))
            }
        }
        try target.withTicks {
            try progress(FileProgress(done, of: total))
        } _: {
            let schema = SchemaCopy(source: source, target: target)
            try schema.copyIndexes()
            try schema.copyInternalTables()
            try schema.copyWhatHasNoPages()
        }
        for name in ["user_version", "application_id"] { try copyPragma(name) }
        for table in tables where try table.count(in: target) != table.rowCount {
            throw SecureStorageError.statementFailed(
                .corrupt, "the table \(table.name) was not copied completely")
        }
        return Dictionary(tables.map { ($0.name, $0.rowCount) }) { first, _ in first }
    }

    private func copyPragma(_ name: String) throws {
        guard let value = try source.text("PRAGMA main.\(name)") else { return }
        try target.text("PRAGMA main.\(name) = '\(value)'")
    }
}

/// Copies the parts of a schema other than the tables.
struct SchemaCopy {
    let source: Connection
    let target: Connection

    func copyIndexes() throws {
        for sql in try source.texts(
            "SELECT sql FROM main.sqlite_schema WHERE type = 'index' AND sql IS NOT NULL")
        {
            try target.runSchema(sql)
        }
    }

    /// Copies the tables that SQLite keeps for itself: AUTOINCREMENT's numbers and ANALYZE's
    /// statistics.
    func copyInternalTables() throws {
        let sql =
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'sqlite\\_%' ESCAPE '\\'"
        let names = try source.texts(sql)
        if names.contains(where: { $0.hasPrefix("sqlite_stat") }) {
            try target.run("ANALYZE main.sqlite_schema")
        }
        for name in try target.texts(sql) where names.contains(name) {
            try target.run("DELETE FROM \(SQLText.main(name))")
            try ContentTable(name: name, sql: "", on: source).copyRows(from: source, to: target) {
                _ in
            }
        }
    }

    /// Copies views, triggers and virtual tables: schema rows whose tables already exist.
    func copyWhatHasNoPages() throws {
        let rows = try Statement(
            """
            SELECT type, name, tbl_name, sql FROM main.sqlite_schema
            WHERE type IN ('view', 'trigger') OR (type = 'table' AND rootpage = 0)
            """, on: source, persistent: false)
        defer { rows.giveBack() }
        try target.writeSchemaRows { insert in
            while try rows.step() {
                try insert.bindColumns(of: rows)
                try insert.run()
                insert.rewind()
            }
        }
    }
}

extension Connection {
    /// Lets `body` insert schema rows whose tables already exist, or that have no pages: type,
    /// name, table, SQL.
    func writeSchemaRows(_ body: (_ insert: Statement) throws -> Void) throws {
        try writingSchema {
            let insert = try Statement(
                "INSERT INTO main.sqlite_schema (type, name, tbl_name, rootpage, sql) VALUES (?, ?, ?, 0, ?)",
                on: self, persistent: false)
            defer { insert.giveBack() }
            try body(insert)
        }
    }

    /// Runs a statement that is not worth caching.
    func run(_ sql: String) throws {
        let statement = try Statement(sql, on: self, persistent: false)
        defer { statement.giveBack() }
        try statement.run()
    }

    /// Returns the first column of all rows, as text.
    func texts(_ sql: String) throws -> [String] {
        let statement = try Statement(sql, on: self, persistent: false)
        defer { statement.giveBack() }
        var texts: [String] = []
        while try statement.step() { texts.append(statement.column(0).text ?? "") }
        return texts
    }
}
