/// The facts about the schema that are needed to interpret the hooks.
struct ObservedSchema {
    /// `PRAGMA schema_version`.
    var version: Int64?
    /// Lower-case names of tables that the update hook sees.
    var rowTables: Set<String> = []
    /// Lower-case names of the tables that virtual tables keep their data in.
    var shadows: Set<String> = []
    /// The column that is the row id, by lower-case name of the table.
    var rowIDColumns: [String: String] = [:]
    /// Whether a table's constraint or a trigger mentions REPLACE.
    var mayReplace = false

    /// Returns what one transaction has committed, according to the tables' kinds.
    ///
    /// Its changes to the schema count if the schema's version has changed.
    func change(of recorded: RecordedChanges, hasNewSchema: Bool) -> DatabaseChange {
        var change = DatabaseChange(
            tables: recorded.rows, hasUnknownTables: recorded.isUnknown, includesForeign: false)
        for (table, columns) in recorded.columns where renumbers(table, columns) {
            for name in change.tables.keys where name.lowercased() == table {
                change.tables[name]?.rowIDs = nil
            }
        }
        for (table, kinds) in recorded.writes where !rowTables.contains(table.lowercased()) {
            change.add(kinds, to: table)
        }
        guard hasNewSchema else { return change }
        for (table, kinds) in recorded.schema { change.add(kinds, to: table) }
        return change
    }

    private func renumbers(_ table: String, _ columns: Set<String>) -> Bool {
        !columns.isDisjoint(with: ["rowid", "_rowid_", "oid"])
            || rowIDColumns[table].map { columns.contains($0) } == true
    }
}

extension DatabaseChange {
    fileprivate mutating func add(_ kinds: Kinds, to table: String) {
        let addition = Table(kinds: kinds, rowIDs: nil)
        tables[table]?.merge(addition)
        if tables[table] == nil { tables[table] = addition }
    }
}
