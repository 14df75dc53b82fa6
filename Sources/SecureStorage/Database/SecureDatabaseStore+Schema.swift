internal import Foundation

extension SecureDatabaseStore {
    /// Returns whether a table of this name exists; views do not count.
    ///
    /// - Parameter name: Matched case-insensitively, as SQLite compares names (A to Z only).
    /// - Returns: true also for virtual and temporary tables, but not for those of attached
    ///   databases.
    /// - Throws: `.closed`; `.backingStoreError` when the schema cannot be read.
    public func tableExists(_ name: String) throws -> Bool {
        try int(
            forQuery: """
                SELECT 1 FROM (SELECT type, name FROM sqlite_schema
                               UNION ALL SELECT type, name FROM sqlite_temp_schema)
                WHERE type = 'table' AND name = ? COLLATE NOCASE
                """, name) != nil
    }

    /// Returns whether a table or view has a column of this name.
    ///
    /// - Parameters:
    ///   - columnName: Matched case-insensitively; generated columns count, `rowid` and hidden ones
    ///     do not.
    ///   - tableName: Matched case-insensitively.
    /// - Returns: false also when the table does not exist.
    /// - Throws: `.closed`; `.backingStoreError` when the schema cannot be read.
    public func columnExists(_ columnName: String, inTable tableName: String) throws -> Bool {
        try int(
            forQuery: """
                SELECT 1 FROM pragma_table_xinfo(?)
                WHERE name = ? COLLATE NOCASE AND hidden <> 1
                """, Self.pragmaArgument(tableName), columnName) != nil
    }

    /// Returns the tables, indexes, views and triggers, including those of the temporary database.
    ///
    /// - Returns: Rows with the columns `type`, `name`, `tbl_name`, `rootpage` and `sql` of
    ///   [`sqlite_schema`](https://sqlite.org/schematab.html), ordered by table, with the table
    ///   itself before its triggers and indexes, then by name; SQLite's own entries (`sqlite_…`)
    ///   are omitted.
    /// - Throws: `.closed`; `.backingStoreError` when the schema cannot be read.
    public func schema() throws -> SecureDatabaseResultSet {
        try executeQuery(
            #"""
            SELECT type, name, tbl_name, rootpage, sql
            FROM (SELECT * FROM sqlite_schema UNION ALL SELECT * FROM sqlite_temp_schema)
            WHERE name NOT LIKE 'sqlite\_%' ESCAPE '\'
            ORDER BY tbl_name, type IN ('table', 'view') DESC, type DESC, name
            """#)
    }

    /// Returns the columns of a table or view.
    ///
    /// - Parameter name: Any text, matched case-insensitively; it is bound, never spliced into the
    ///   SQL.
    /// - Returns: Rows with the columns `cid`, `name`, `type`, `notnull`, `dflt_value` and `pk` of
    ///   [`PRAGMA table_info`](https://sqlite.org/pragma.html#pragma_table_info); no rows when the
    ///   table does not exist.
    /// - Throws: `.closed`; `.backingStoreError` when the schema cannot be read.
    public func tableSchema(_ name: String) throws -> SecureDatabaseResultSet {
        try executeQuery(
            #"SELECT cid, name, type, "notnull", dflt_value, pk FROM pragma_table_info(?)"#,
            Self.pragmaArgument(name))
    }

    /// Returns the names of the columns that `SELECT *` returns; none if there is no such table.
    func columnNames(of table: String) throws -> [String] {
        try fetchAll(
            "SELECT name FROM pragma_table_xinfo(?) WHERE hidden <> 1", Self.pragmaArgument(table)
        ) { (name: String) in name }
    }

    /// Returns a name to bind, or nil (NULL, which matches no table) if it contains a NUL, where
    /// SQLite would truncate it and find another table.
    private static func pragmaArgument(_ name: String) -> String? {
        name.utf8.contains(0) ? nil : name
    }

    /// Checks one statement against the current schema without running it.
    ///
    /// Checks its syntax and that its tables, columns and functions exist.
    ///
    /// - Parameter sql: Exactly one statement; placeholders need no values. Not a PRAGMA: many of
    ///   them take effect while being prepared.
    /// - Throws: `.closed`; `.backingStoreError` with SQLite's code and message when it is invalid,
    ///   code `.error` also for text after it, code `.misuse` for a PRAGMA.
    ///
    /// The corresponding C function is
    /// [`sqlite3_prepare_v3`](https://sqlite.org/c3ref/prepare.html).
    public func validateSQL(_ sql: String) throws {
        let connection = try openConnection()
        guard !SQLText.isPragma(sql) else {
            throw SecureStorageError.statementFailed(
                .misuse, "a PRAGMA cannot be checked without running it", in: sql)
        }
        try Statement(sql, on: connection, persistent: false).finalize()
    }

    /// Returns whether the store is open and its file is readable, like FMDB's `goodConnection`.
    ///
    /// - Returns: false for a closed store, and when reading the schema fails for any reason,
    ///   including a lock of another connection.
    public func isUsable() -> Bool {
        (try? int(forQuery: "SELECT count(*) FROM sqlite_schema")) != nil
    }
}
