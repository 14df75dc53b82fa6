internal import Foundation

extension SecureDatabaseStore {
    /// Whether there is a table of this name; a view is none.
    ///
    /// - Parameter name: In any case, as SQLite compares names (A to Z only).
    /// - Returns: true also for virtual and for temporary tables, not for those of attached
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

    /// Whether a table or view has a column of this name.
    ///
    /// - Parameters:
    ///   - columnName: In any case; generated columns count, `rowid` and hidden ones do not.
    ///   - tableName: In any case.
    /// - Returns: false also when there is no such table.
    /// - Throws: `.closed`; `.backingStoreError` when the schema cannot be read.
    public func columnExists(_ columnName: String, inTable tableName: String) throws -> Bool {
        try int(
            forQuery: """
                SELECT 1 FROM pragma_table_xinfo(?)
                WHERE name = ? COLLATE NOCASE AND hidden <> 1
                """, Self.pragmaArgument(tableName), columnName) != nil
    }

    /// The tables, indexes, views and triggers, those of the temporary database too.
    ///
    /// - Returns: Rows with the columns `type`, `name`, `tbl_name`, `rootpage` and `sql` of
    ///   [`sqlite_schema`](https://sqlite.org/schematab.html), ordered by table, the table itself
    ///   before its triggers and indexes, then by name; without SQLite's own (`sqlite_…`).
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

    /// The columns of a table or view.
    ///
    /// - Parameter name: In any case, any text: it is bound, never spliced into the SQL.
    /// - Returns: Rows with the columns `cid`, `name`, `type`, `notnull`, `dflt_value` and `pk` of
    ///   [`PRAGMA table_info`](https://sqlite.org/pragma.html#pragma_table_info); none when there
    ///   is no such table.
    /// - Throws: `.closed`; `.backingStoreError` when the schema cannot be read.
    public func tableSchema(_ name: String) throws -> SecureDatabaseResultSet {
        try executeQuery(
            #"SELECT cid, name, type, "notnull", dflt_value, pk FROM pragma_table_info(?)"#,
            Self.pragmaArgument(name))
    }

    /// SQLite would cut it off at a NUL and find another table; NULL finds none.
    private static func pragmaArgument(_ name: String) -> String? {
        name.utf8.contains(0) ? nil : name
    }

    /// Checks one statement without running it.
    ///
    /// Its syntax, its tables, columns and functions, as of the present schema.
    ///
    /// - Parameter sql: Exactly one statement; placeholders need no values. Not a PRAGMA: many of
    ///   them act while they are being prepared.
    /// - Throws: `.closed`; `.backingStoreError` with SQLite's code and message when it is not
    ///   valid, code 1 also for text after it, code 21 for a PRAGMA.
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

    /// Whether the store is open and its file can be read now, as FMDB's `goodConnection` says.
    ///
    /// - Returns: false for a closed store, and when reading the schema fails for any reason, a
    ///   lock of another connection among them.
    public func isUsable() -> Bool {
        (try? int(forQuery: "SELECT count(*) FROM sqlite_schema")) != nil
    }
}
