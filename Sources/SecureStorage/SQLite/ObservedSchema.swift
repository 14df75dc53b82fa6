/// What has to be known of the schema to understand what the hooks tell.
struct ObservedSchema {
    /// `PRAGMA schema_version`.
    var version: Int64?
    /// Lower-case names of tables that the update hook sees.
    var rowTables: Set<String> = []
    /// Lower-case names of the tables that virtual tables keep their data in.
    var shadows: Set<String> = []
    /// The column that is the row id, by lower-case name of the table.
    var rowIDColumns: [String: String] = [:]
    /// Whether a table's constraint or a trigger speaks of REPLACE.
    var mayReplace = false

    /// What one transaction has committed, by the tables' kinds.
    ///
    /// What it did to the schema counts when the schema's version is another one.
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
