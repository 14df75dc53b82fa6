internal import Foundation

/// The table of one named store; see `Docs/FileFormats.md`.
///
/// A class, so that passing it around does not copy its SQL strings.
package final class KeyValueTable: Sendable {
    /// The kind of a row's value.
    enum Kind: Int64, Sendable, SQLiteDatatypeBridgeable {
        /// An explicit nil.
        case null = 0
        /// A number, text, blob or date, stored as SQLite's own type.
        case plain = 1
        /// An object with `NSCoding`, stored as a keyed archive in a BLOB.
        case archive = 2
        /// A `Codable` value, stored as TEXT: a JSON array that holds only the value.
        case json = 3
    }

    /// A value with its kind.
    struct Entry: Sendable, Equatable {
        var kind: Kind
        var value: SQLiteValue
    }

    /// The version of the table's layout; a newer one is refused.
    static let version = 1

    package let table: String
    private let select: String
    private let upsert: String
    private let delete: String
    private let deleteAll: String
    private let selectKeys: String
    private let selectKeysFrom: String
    private let countAll: String

    private init(identifier: Int) {
        table = "securestorage_kv_\(identifier)"
        let alive = Self.isValid("?1")
        select = "SELECT kind, value, expires FROM \(table) WHERE key = ?"
        upsert = """
            INSERT INTO \(table) (key, kind, value, expires) VALUES (?, ?, ?, ?)
            ON CONFLICT (key) DO UPDATE SET
                kind = excluded.kind, value = excluded.value, expires = excluded.expires
            """
        delete = "DELETE FROM \(table) WHERE key = ?"
        deleteAll = "DELETE FROM \(table)"
        selectKeys = "SELECT key FROM \(table) WHERE \(alive)"
        selectKeysFrom = "SELECT key FROM \(table) WHERE \(alive) AND key >= ?2 ORDER BY key"
        countAll = "SELECT count(*) FROM \(table) WHERE \(alive)"
    }

    /// Whether other devices write the table, too: it has triggers of SecureSync.
    func isSynced(in db: SecureDatabaseStore) throws -> Bool {
        try db.bool(
            forQuery: """
                SELECT EXISTS (
                  SELECT 1 FROM main.sqlite_schema WHERE type = 'trigger' AND tbl_name = ?
                    AND name GLOB 'securestorage_sync_*')
                """, values: [table]) ?? false
    }

    /// The condition that a row has not expired.
    ///
    /// - Parameter time: Seconds since 1970, in SQL.
    /// - Returns: An expression in parentheses.
    package static func isValid(_ time: String) -> String {
        "(expires IS NULL OR expires > \(time))"
    }

    // MARK: - Finding and making

    /// Finds or creates the table of the store called `name`.
    ///
    /// - Throws: `.openFailed` when a newer version of this library created it, the name holds a
    ///   NUL, or the database's text is not UTF-8.
    @discardableResult
    package static func prepare(
        _ name: String, in db: SecureDatabaseStore
    ) throws -> KeyValueTable {
        guard !name.utf8.contains(0) else {
            throw SecureStorageError.openFailed(
                code: ResultCode.misuse.rawValue,
                message: "the name of a key-value store must not contain a NUL")
        }
        if let table = try find(name, in: db) { return table }
        try requireUTF8(db)
        try db.inTransaction(.exclusive) { db in
            try db.executeUpdate(
                """
                CREATE TABLE IF NOT EXISTS securestorage_kv (
                    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE,
                    version INTEGER NOT NULL)
                """)
            // Another connection may have inserted it first.
            try db.executeUpdate(
                "INSERT OR IGNORE INTO securestorage_kv (name, version) VALUES (?, ?)",
                values: [name, version])
            let rs = try db.executeQuery(
                "SELECT id FROM securestorage_kv WHERE name = ?", values: [name])
            guard try rs.next(), let identifier = rs.int(forColumnIndex: 0) else { return true }
            rs.close()
            try db.executeUpdate(
                """
                CREATE TABLE IF NOT EXISTS securestorage_kv_\(identifier) (
                    key TEXT NOT NULL PRIMARY KEY, kind INTEGER NOT NULL, value, expires REAL
                ) WITHOUT ROWID
                """)
            return false
        }
        guard let table = try find(name, in: db) else {
            throw SecureStorageError.backingStoreError(
                code: ResultCode.error.rawValue,
                message: "the key-value store's table could not be created")
        }
        return table
    }

    /// Refuses a UTF-16 database, which would order keys differently and break prefix queries.
    private static func requireUTF8(_ db: SecureDatabaseStore) throws {
        let rs = try db.executeQuery("PRAGMA encoding")
        defer { rs.close() }
        guard try rs.next(), rs.string(forColumnIndex: 0) == "UTF-8" else {
            throw SecureStorageError.openFailed(
                code: ResultCode.misuse.rawValue,
                message:
                    "a key-value store needs a UTF-8 database, but this one is "
                    + "UTF-16; use a separate file")
        }
    }

    /// Returns nil if the file has no store of the name.
    package static func find(_ name: String, in db: SecureDatabaseStore) throws -> KeyValueTable? {
        let registry = try db.executeQuery(
            "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'securestorage_kv'")
        defer { registry.close() }
        guard try registry.next() else { return nil }
        let rs = try db.executeQuery(
            "SELECT id, version FROM securestorage_kv WHERE name = ?", values: [name])
        defer { rs.close() }
        guard try rs.next(), let identifier = rs.int(forColumnIndex: 0),
            let found = rs.int(forColumnIndex: 1)
        else { return nil }
        guard found <= version else {
            throw SecureStorageError.openFailed(
                code: ResultCode.misuse.rawValue,
                message: "the key-value store was created by a newer version of this library "
                    + "(format \(found); this version supports up to \(version)); update the library"
            )
        }
        return KeyValueTable(identifier: identifier)
    }

    // MARK: - Rows

    /// Returns the entry under `key`; nil when none exists or it has expired.
    ///
    /// Removes an expired entry unless the connection only reads.
    func entry(_ key: String, in db: SecureDatabaseStore) throws -> Entry? {
        let row = try db.firstRow(select, values: [key]) { row in
            (
                kind: row.storageClass(at: 0) == .integer ? row.column(0).integer : -1,
                value: row.value(at: 1),
                expires: row.storageClass(at: 2) == .null ? nil : row.column(2).real
            )
        }
        guard let row else { return nil }
        if let expires = row.expires, expires <= Self.now {
            if db.canWrite { try remove(key, in: db) }
            return nil
        }
        // `row.value` is nil for TEXT that is not UTF-8.
        guard let kind = Kind(rawValue: row.kind), let value = row.value else {
            throw SecureStorageError.typeConversionFailed
        }
        return Entry(kind: kind, value: value)
    }

    func put(
        _ entry: Entry, forKey key: String, lifetime: Duration?, in db: SecureDatabaseStore
    ) throws {
        let expires = lifetime.map { Self.now + $0 / .seconds(1) }
        try db.executeUpdate(upsert, values: [key, entry.kind, entry.value, expires])
    }

    func remove(_ key: String, in db: SecureDatabaseStore) throws {
        try db.executeUpdate(delete, values: [key])
    }

    func removeAll(in db: SecureDatabaseStore) throws {
        try db.executeUpdate(deleteAll)
    }

    /// Calls `body` with each key or, given a `prefix`, with those that begin with it, in order.
    ///
    /// - Throws: `.backingStoreError` code `.mismatch` at a key that is not UTF-8 text,
    ///   which only another program can have written. Skipping it would hide it.
    func forEachKey(
        withPrefix prefix: String? = nil, in db: SecureDatabaseStore, _ body: (String) -> Void
    ) throws {
        let rs =
            try prefix.map { try db.executeQuery(selectKeysFrom, values: [Self.now, $0]) }
            ?? db.executeQuery(selectKeys, values: [Self.now])
        defer { rs.close() }
        while try rs.next() {
            let column = rs.statement.column(0)
            if let prefix, !column.withBytes({ $0.starts(with: prefix.utf8) }) { return }
            guard column.storageClass == .text, let key = column.text else {
                throw notAKey(column.data)
            }
            body(key)
        }
    }

    private func notAKey(_ bytes: Data) -> SecureStorageError {
        let hex = bytes.prefix(64).map { String(format: "%02x", $0) }.joined()
        return .statementFailed(
            .mismatch,
            "the key x'\(hex)'\(bytes.count > 64 ? " (its first 64 bytes)" : "") is not UTF-8 text, so "
                + "another program wrote it; remove it with \"DELETE FROM \(table) WHERE "
                + "CAST(key AS BLOB) = …\" with these bytes as the value")
    }

    func count(in db: SecureDatabaseStore) throws -> Int {
        let rs = try db.executeQuery(countAll, values: [Self.now])
        defer { rs.close() }
        return try rs.next() ? rs.int(forColumnIndex: 0) ?? 0 : 0
    }

    /// Seconds since 1970, by the wall clock, because an expiry must outlive the process.
    private static var now: Double { Date().timeIntervalSince1970 }
}
