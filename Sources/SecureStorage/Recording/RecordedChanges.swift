/// The changes of statements as a connection's hooks report them: by name, not yet compared with
/// the schema.
struct RecordedChanges {
    /// The name of the table of the change log; see `Connection+ChangeLog`.
    static let changeLog = "securestorage_changes"

    /// Changes to tables with row ids, which the update hook sees row by row.
    var rows: [String: DatabaseChange.Table] = [:]
    /// The writes that the authorizer has seen in statements that have changed something.
    ///
    /// These count for the tables that the update hook does not see.
    var writes: [String: DatabaseChange.Kinds] = [:]
    /// Changes by schema statements; they count when the schema's version has changed.
    var schema: [String: DatabaseChange.Kinds] = [:]
    /// The columns that were set, by lower-case name of the table: one may be the row id.
    var columns: [String: Set<String>] = [:]
    /// Whether something has happened that was not recorded.
    var isUnknown = false

    /// Whether a row of the change log already covers these changes.
    var isLogged: Bool { rows[Self.changeLog] != nil }

    var isEmpty: Bool { rows.isEmpty && writes.isEmpty && schema.isEmpty && !isUnknown }

    /// Notes what the update hook has seen of a table.
    mutating func note(_ table: String, _ kinds: DatabaseChange.Kinds, _ rowIDs: [Int64]?) {
        rows[table, default: .init(kinds: kinds, rowIDs: [])].note(kinds, rowIDs)
    }

    mutating func merge(_ later: RecordedChanges) {
        for (table, changes) in later.rows {
            rows[table, default: .init(kinds: changes.kinds, rowIDs: [])].merge(changes)
        }
        writes.merge(later.writes) { $0.union($1) }
        schema.merge(later.schema) { $0.union($1) }
        columns.merge(later.columns) { $0.union($1) }
        isUnknown = isUnknown || later.isUnknown
    }
}

/// The actions that a statement may take, as the authorizer sees them while SQLite prepares it.
struct StatementFacts {
    enum Savepoint { case begin, release, rollback }

    /// A different number for each statement; 0 while it is prepared.
    var number = 0
    var writes: [String: DatabaseChange.Kinds] = [:]
    var columns: [String: Set<String>] = [:]
    var schema: [String: DatabaseChange.Kinds] = [:]
    /// The operation on a savepoint, with the savepoint's name.
    var savepoint: (Savepoint, String)?
    /// Whether it drops something; its deletions must not be answered with SQLITE_IGNORE.
    var isDrop = false

    func merging(_ other: StatementFacts) -> StatementFacts {
        var merged = self
        merged.writes.merge(other.writes) { $0.union($1) }
        merged.columns.merge(other.columns) { $0.union($1) }
        merged.schema.merge(other.schema) { $0.union($1) }
        merged.savepoint = other.savepoint ?? savepoint
        return merged
    }
}
