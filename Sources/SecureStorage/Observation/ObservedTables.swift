/// Which changes an observer wants.
enum ObservedTables: Sendable {
    case all
    /// Lower-case names.
    case only(Set<String>)

    /// - Parameter names: Of tables, in any case; none stands for all.
    init(_ names: [String]?) {
        guard let names, !names.isEmpty else {
            self = .all
            return
        }
        self = .only(Set(names.map { Self.key(of: $0) }))
    }

    /// A name as it is compared: `sqlite_master` is the old name of `sqlite_schema`.
    static func key(of table: String) -> String {
        let key = table.lowercased()
        return key == "sqlite_master" ? "sqlite_schema" : key
    }

    /// The part of a change that concerns these tables, with or without row ids; nil when there is
    /// none.
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
