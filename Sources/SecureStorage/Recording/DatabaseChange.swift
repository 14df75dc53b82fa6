/// The changes that one or several commits have made.
///
/// It names tables of the main database as the schema spells them, and `sqlite_schema` when the
/// schema has changed. For a virtual table it names the virtual table, not the tables that store
/// its data.
public struct DatabaseChange: Sendable, Equatable {
    /// The kinds of changes to the rows of a table.
    public struct Kinds: OptionSet, Sendable, Hashable {
        /// One bit per kind.
        public let rawValue: UInt8

        /// Rows were inserted.
        public static let insert = Kinds(rawValue: 1)
        /// Rows were changed.
        public static let update = Kinds(rawValue: 2)
        /// Rows were removed.
        public static let delete = Kinds(rawValue: 4)

        /// Creates a set of kinds.
        ///
        /// - Parameter rawValue: One bit per kind.
        public init(rawValue: UInt8) { self.rawValue = rawValue }
    }

    /// The changes to one table.
    public struct Table: Sendable, Equatable {
        /// Each kind that occurred.
        ///
        /// A row that `REPLACE` has removed counts as part of the insert. Creating a table counts
        /// as an insert, altering it as an update, dropping it as a delete.
        public internal(set) var kinds: Kinds

        /// The row ids of the rows inserted, changed and removed; nil when they are not known.
        ///
        /// They are unknown if no observer requested them, for virtual tables and tables without
        /// row ids, for a statement that may have replaced rows or changed row ids, and if there
        /// are more than 10,000.
        public internal(set) var rowIDs: Set<Int64>?

        init(kinds: Kinds, rowIDs: Set<Int64>?) {
            self.kinds = kinds
            self.rowIDs = rowIDs
        }

        /// The number of row ids above which they are not worth the memory.
        static let rowIDLimit = 10_000
    }

    /// The tables that are known to have changed, by name.
    public internal(set) var tables: [String: Table]

    /// Whether any other table may have changed as well.
    ///
    /// This is true for commits of other connections that no change log explains, and when the file
    /// could not be watched for a while.
    public internal(set) var hasUnknownTables: Bool

    /// Whether a commit of another connection or process is, or may be, among these.
    public internal(set) var includesForeign: Bool

    /// The change for a file that another connection has written to, or that was not examined.
    static let foreign = DatabaseChange(
        tables: [:], hasUnknownTables: true, includesForeign: true)

    /// Returns whether the rows of a table may have changed.
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
    /// Merges a later change into this one.
    mutating func merge(_ later: DatabaseChange) {
        for (name, table) in later.tables {
            tables[name, default: Table(kinds: table.kinds, rowIDs: [])].merge(table)
        }
        hasUnknownTables = hasUnknownTables || later.hasUnknownTables
        includesForeign = includesForeign || later.includesForeign
    }
}
