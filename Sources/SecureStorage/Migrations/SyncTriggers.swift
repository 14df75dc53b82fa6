/// The triggers with which `SecureSync` notes what is written to synced tables, around a step.
struct SyncTriggers {
    private let triggers: [Trigger]

    private struct Trigger {
        let name: String
        let table: String
        let sql: String
    }

    /// Those that a file has; none if nothing in it is synced.
    init(in db: SecureDatabaseStore) throws {
        let rows = try db.executeQuery(
            """
            SELECT name, tbl_name, sql FROM main.sqlite_schema
            WHERE type = 'trigger' AND name GLOB 'securestorage_sync_[0-9]*'
            """)
        defer { rows.close() }
        var triggers: [Trigger] = []
        while try rows.next() {
            guard let name = rows.string(forColumnIndex: 0),
                let table = rows.string(forColumnIndex: 1), let sql = rows.string(forColumnIndex: 2)
            else { continue }
            triggers.append(Trigger(name: name, table: table, sql: sql))
        }
        self.triggers = triggers
    }

    /// Runs a step; in its transaction.
    ///
    /// SQLite drops no column that a trigger names: a step that does is run again without them.
    ///
    /// - Parameters:
    ///   - isCaptured: Whether what it writes is captured.
    ///   - db: The file.
    ///   - body: The step.
    /// - Throws: What `body` throws; the errors of the database.
    func around(
        _ isCaptured: Bool, in db: SecureDatabaseStore, _ body: () throws -> Void
    ) throws {
        guard !triggers.isEmpty else { return try body() }
        if isCaptured {
            do {
                try db.inSavePoint { _ in
                    try body()
                    return false
                }
            } catch let error as SecureStorageError where Self.areInTheWay(error) {
                try remove(from: db)
                try body()
            }
        } else {
            try remove(from: db)
            try body()
        }
        try putBack(into: db)
    }

    private static func areInTheWay(_ error: SecureStorageError) -> Bool {
        guard case .backingStoreError(_, let message) = error else { return false }
        return message.contains("error in trigger securestorage_sync_")
    }

    private func remove(from db: SecureDatabaseStore) throws {
        for trigger in triggers {
            try db.executeUpdate("DROP TRIGGER IF EXISTS main.\(SQLText.identifier(trigger.name))")
        }
    }

    /// Makes those again that still fit; the engine makes the others when it is created.
    private func putBack(into db: SecureDatabaseStore) throws {
        let present = Set(try SyncTriggers(in: db).triggers.map(\.name))
        for trigger in triggers where !present.contains(trigger.name) {
            guard (try? db.executeUpdate(trigger.sql)) != nil else { continue }
            if (try? Self.compile(trigger.table, in: db)) == nil {
                try db.executeUpdate("DROP TRIGGER main.\(SQLText.identifier(trigger.name))")
            }
        }
    }

    /// A trigger that names what is not there fails each write of its table, and the first to tell
    /// is the compiler.
    private static func compile(_ table: String, in db: SecureDatabaseStore) throws {
        let rows = try db.executeQuery(
            "SELECT name FROM pragma_table_info(?, 'main')", values: [table])
        var columns: [String] = []
        while try rows.next() {
            columns.append(SQLText.identifier(rows.string(forColumnIndex: 0) ?? ""))
        }
        rows.close()
        let settings = columns.map { "\($0) = \($0)" }.joined(separator: ", ")
        let table = SQLText.main(table)
        for sql in [
            "INSERT INTO \(table) DEFAULT VALUES", "DELETE FROM \(table)",
            "UPDATE \(table) SET \(settings)",
        ] {
            try db.prepare(sql).close()
        }
    }
}
