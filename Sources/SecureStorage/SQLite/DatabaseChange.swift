/// What one or several commits have changed.
///
/// Names tables of the main database as the schema spells them. `sqlite_schema` is among them when
/// the schema has changed. The tables behind a virtual table are not: the virtual table is.
public struct DatabaseChange: Sendable, Equatable {
    /// What has happened to the rows of a table.
    public struct Kinds: OptionSet, Sendable, Hashable {
        /// One bit a kind.
        public let rawValue: UInt8

        /// Rows were inserted.
        public static let insert = Kinds(rawValue: 1)
        /// Rows were changed.
        public static let update = Kinds(rawValue: 2)
        /// Rows were removed.
        public static let delete = Kinds(rawValue: 4)

        /// A set of kinds.
        ///
        /// - Parameter rawValue: One bit a kind.
        public init(rawValue: UInt8) { self.rawValue = rawValue }
    }

    /// What has happened to one table.
    public struct Table: Sendable, Equatable {
        /// Each kind that occurred.
        ///
        /// A row that `REPLACE` has removed counts as part of the insert. Creating a table counts
        /// as an insert, altering it as an update, dropping it as a delete.
        public internal(set) var kinds: Kinds

        /// The row ids of the rows inserted, changed and removed; nil when they are not known.
        ///
        /// Not known are those nobody has asked for, those of virtual tables and of tables without
        /// row ids, those of a statement that may have replaced rows or changed row ids, and more
        /// than 10,000.
        public internal(set) var rowIDs: Set<Int64>?

        init(kinds: Kinds, rowIDs: Set<Int64>?) {
            self.kinds = kinds
            self.rowIDs = rowIDs
        }

        /// More than these are not worth the memory.
        static let rowIDLimit = 10_000
    }

    /// The tables that are known to have changed, by name.
    public internal(set) var tables: [String: Table]

    /// Whether any other table may have changed as well.
    ///
    /// So it is for commits of other connections, and when the file could not be watched for a
    /// while.
    public internal(set) var hasUnknownTables: Bool

    /// Whether a commit of another connection or process is, or may be, among these.
    public internal(set) var includesForeign: Bool

    /// Of a file that another connection has written to, or that has not been looked at.
    static let foreign = DatabaseChange(
        tables: [:], hasUnknownTables: true, includesForeign: true)

    /// Whether the rows of a table may have changed.
    ///
    /// - Parameter table: A name, in any case.
    /// - Returns: true also when the tables are not known.
    public func mayAffect(_ table: String) -> Bool {
        hasUnknownTables || tables.keys.contains { $0.lowercased() == table.lowercased() }
    }
}

extension DatabaseChange.Table {
    mutating func merge(_ other: Self) {
        kinds.formUnion(other.kinds)
        guard let others = other.rowIDs else {
            rowIDs = nil
            return
        }
        rowIDs?.formUnion(others)
        limitRowIDs()
    }

    mutating func note(_ kinds: DatabaseChange.Kinds, _ rowIDs: [Int64]?) {
        self.kinds.formUnion(kinds)
        guard let rowIDs else {
            self.rowIDs = nil
            return
        }
        self.rowIDs?.formUnion(rowIDs)
        limitRowIDs()
    }

    private mutating func limitRowIDs() {
        if let count = rowIDs?.count, count > Self.rowIDLimit { rowIDs = nil }
    }
}

extension DatabaseChange {
    /// Adds what has changed later.
    mutating func merge(_ later: DatabaseChange) {
        for (name, table) in later.tables {
            tables[name, default: Table(kinds: table.kinds, rowIDs: [])].merge(table)
        }
        hasUnknownTables = hasUnknownTables || later.hasUnknownTables
        includesForeign = includesForeign || later.includesForeign
    }
}
