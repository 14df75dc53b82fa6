internal import Foundation
public import SecureStorage

// The declaration saved in the file, for programs without their own.
extension SyncedTables {
    /// Reads which tables the last engine on this file synced, and how.
    ///
    /// For tools and services that work on an app's files. Empty for a file that was never synced.
    ///
    /// - Parameter database: An open queue or pool.
    /// - Throws: ``SyncError/damaged(_:_:)`` for a declaration that cannot be read; the errors of
    ///   the database.
    public init(declaredIn database: any SecureDatabaseReader) throws {
        self = try database.read { try SyncedTables(in: $0) }
    }

    /// Whether this file's device is a reader of its group, so triggers refuse writes to the synced
    /// tables.
    ///
    /// For a migration that changes rows of synced tables: a reader gets these changes from the
    /// others.
    ///
    /// - Parameter db: The file.
    /// - Returns: False for a file that is not in a group.
    /// - Throws: The errors of the database.
    public static func isReadOnly(in db: SecureDatabaseStore) throws -> Bool {
        guard try db.tableExists("securestorage_sync_state") else { return false }
        return try db.bool(forQuery: "SELECT read_only FROM main.securestorage_sync_state") ?? false
    }

    /// Starts capturing writes to these tables, like creating a ``SyncEngine``.
    ///
    /// For a migration that adds or drops columns and then makes writes that must be sent, and for
    /// a program that writes after its migrations but before it creates an engine. Tables and
    /// columns that the file does not have yet, since later migrations create them, are skipped.
    ///
    /// - Parameter db: In a write transaction, such as that of a migration.
    /// - Throws: ``SyncError/unsuitableTable(_:_:)``; the errors of the database.
    public func installTriggers(in db: SecureDatabaseStore) throws {
        var present = SyncedTables()
        for var declaration in declarations {
            let isStore = declaration.keyValueStore != nil
            guard try isStore || db.tableExists(declaration.table) else { continue }
            var columns: Set<String> = []
            try db.rows(
                "SELECT name FROM pragma_table_xinfo(?, 'main')", [declaration.table]
            ) { columns.insert(try $0.text(at: 0).sqlNameKey) }
            func has(_ name: String) -> Bool { columns.contains(name.sqlNameKey) }
            declaration.together = declaration.together.map { $0.filter(has) }.filter {
                !$0.isEmpty
            }
            declaration.formerly = declaration.formerly.filter { has($1) && !has($0) }
            present.add(declaration)
        }
        try Capture(present).install(in: db)
    }

    /// Removes the triggers that capture writes to synced tables.
    ///
    /// For a migration that drops a column with a tool other than `SchemaMigrations`: SQLite does
    /// not drop a column that a trigger names. Earlier writes are still sent; later ones are not
    /// captured until ``installTriggers(in:)`` or the next ``SyncEngine`` on the file. Does nothing
    /// on a file that was never synced.
    ///
    /// - Parameter db: In a write transaction, such as that of a migration.
    /// - Throws: The errors of the database.
    public static func removeTriggers(in db: SecureDatabaseStore) throws {
        for name in try Capture.triggers(in: db).keys {
            try db.executeUpdate("DROP TRIGGER main.\(name.sqlName)")
        }
    }

    init(in db: SecureDatabaseStore) throws {
        self.init()
        guard try db.tableExists(Self.table) else { return }
        try db.rows(
            """
            SELECT declaration FROM main.\(Self.table) WHERE declaration IS NOT NULL
            ORDER BY number
            """
        ) { row in
            let bytes = Data(try row.text(at: 0).utf8)
            guard let declaration = try? JSONDecoder().decode(Kept.self, from: bytes).declaration
            else { throw SyncError.damaged(Self.table, "a declaration is not readable") }
            add(declaration)
        }
    }

    /// A declaration as JSON.
    private struct Kept: Codable {
        var table: String
        var merging: String
        var together: [[String]]
        var ids: String
        /// Missing if empty.
        var formerly: [String: String]?

        init(_ declaration: Table) {
            (table, together) = (declaration.table, declaration.together)
            (merging, ids) = (declaration.merging.rawValue, declaration.ids.rawValue)
            formerly = declaration.formerly.isEmpty ? nil : declaration.formerly
        }

        var declaration: Table? {
            guard let merging = Merging(rawValue: merging), let ids = Identifiers(rawValue: ids)
            else { return nil }
            return Table(
                table: table, merging: merging, together: together, ids: ids,
                formerly: formerly ?? [:])
        }
    }

    private static var table: String { "securestorage_sync_table" }

    /// Saves changed declarations, by table name.
    static func keep(
        _ declarations: [(name: String, declaration: Table)], in db: SecureDatabaseStore
    ) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        for (name, declaration) in declarations {
            let text = String(decoding: try encoder.encode(Kept(declaration)), as: UTF8.self)
            try db.executeUpdate(
                """
                UPDATE main.\(table) SET declaration = ?1
                WHERE name = ?2 AND declaration IS NOT ?1
                """, values: [text, name])
        }
        let names = declarations.map(\.name.sqlLiteral).joined(separator: ", ")
        try db.executeUpdate(
            """
            UPDATE main.\(table) SET declaration = NULL
            WHERE declaration IS NOT NULL AND name NOT IN (\(names))
            """)
    }
}
