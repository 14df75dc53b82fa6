/// The tables that an observer observes.
enum ObservedTables: Sendable {
    case all
    /// Names as `key(of:)` returns them.
    case only(Set<String>)

    /// - Parameter names: Names of tables, in any case; nil or an empty array means all tables.
    init(_ names: [String]?) {
        guard let names, !names.isEmpty else {
            self = .all
            return
        }
        self = .only(Set(names.map { Self.key(of: $0) }))
    }

    /// Returns a name in the form used for comparison: lower case, with `sqlite_schema` for its old
    /// name `sqlite_master`.
    static func key(of table: String) -> String {
        let key = table.lowercased()
        return key == "sqlite_master" ? "sqlite_schema" : key
    }

    /// Returns the part of a change that concerns these tables, with or without row ids; nil if no
    /// part does.
    func part(of change: DatabaseChange, withRowIDs: Bool = false) -> DatabaseChange? {
        var part = change
        if case .only(let names) = self {
            part.tables = change.tables.filter { names.contains(Self.key(of: $0.key)) }
        }
        guard part.hasUnknownTables || !part.tables.isEmpty else { return nil }
        if !withRowIDs {
            for name in part.tables.keys { part.tables[name]?.rowIDs = nil }
        }
        return part
    }
}
