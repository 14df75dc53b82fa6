/// The triggers with which `SecureSync` notes what is written to synced tables, while a step runs
/// without them.
///
/// Each device runs the same step: what it writes is news to none, and would win over what others
/// have written since. And SQLite drops no column that a trigger names.
struct CaptureTriggerTexts {
    private let triggers: [Trigger]

    private struct Trigger {
        let name: String
        let table: String
        let sql: String
    }

    /// Removes the triggers of a file, if it has some; in the step's transaction.
    init(removedFrom db: SecureDatabaseStore) throws {
        let rows = try db.executeQuery(
            """
            SELECT name, tbl_name, sql FROM main.sqlite_schema
            WHERE type = 'trigger' AND name GLOB 'securestorage_sync_[0-9]*'
            """)
        var triggers: [Trigger] = []
        while try rows.next() {
            guard let name = rows.string(forColumnIndex: 0),
                let table = rows.string(forColumnIndex: 1), let sql = rows.string(forColumnIndex: 2)
            else { continue }
            triggers.append(Trigger(name: name, table: table, sql: sql))
        }
        rows.close()
        self.triggers = triggers
        for trigger in triggers {
            try db.executeUpdate("DROP TRIGGER main.\(SQLText.identifier(trigger.name))")
        }
    }

    /// Makes those again that still fit; the engine makes the others anew when it is created.
    func putBack(into db: SecureDatabaseStore) throws {
        for trigger in triggers where (try? db.executeUpdate(trigger.sql)) != nil {
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
        while try rows.next() { columns.append(rows.string(forColumnIndex: 0) ?? "") }
        rows.close()
        let settings = columns.map { "\(SQLText.identifier($0)) = \(SQLText.identifier($0))" }
        let table = SQLText.main(table)
        for sql in [
            "INSERT INTO \(table) DEFAULT VALUES", "DELETE FROM \(table)",
            "UPDATE \(table) SET \(settings.joined(separator: ", "))",
        ] {
            try db.prepare(sql).close()
        }
    }
}
