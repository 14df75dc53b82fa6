/// What could be read from a damaged file and what was lost; see
/// ``SecureDatabaseStore/salvage(at:key:cipher:to:newKey:replacing:progress:)``.
public struct SalvageReport: Sendable, Equatable, CustomStringConvertible {
    /// The outcome for one table.
    public struct Table: Sendable, Equatable {
        /// The table's name.
        public let name: String
        /// The number of its rows in the new file.
        public internal(set) var rowsSaved = 0
        /// The number of rows that were found but could not be read to their end, or not be
        /// inserted into the new table.
        public internal(set) var rowsLost = 0
        /// The number of missing pages in the table's tree; how many rows they held cannot be
        /// known.
        public internal(set) var pagesLost = 0

        /// The number of saved rows that may be of a transaction that never committed, since the
        /// journal that would undo it is damaged.
        public internal(set) var rowsUncertain = 0

        /// Whether the whole table was read.
        public var isWhole: Bool { rowsLost == 0 && pagesLost == 0 }
    }

    /// The numbers of the pages (the first is 1) that are missing or not as they were written; at
    /// most 100,000 of each kind.
    public internal(set) var damagedPages: [Int] = []

    /// The tables, in the order of the schema, except those that SQLite keeps for itself.
    public internal(set) var tables: [Table] = []

    /// The number of rows of unknown table; they are in the table `lost_and_found` of the new file.
    public internal(set) var unassignedRows = 0

    /// The number of rows of unknown table that could not be read to their end.
    public internal(set) var unassignedRowsLost = 0

    /// Damaged full-text indexes that were rebuilt from the rows they index, without loss.
    public internal(set) var rebuilt: [String] = []

    /// Other differences, such as an index that cannot be recreated; one line each.
    public internal(set) var problems: [String] = []

    /// Whether everything was read.
    ///
    /// If this is false, the damaged file is still worth keeping: it may hold what is missing here.
    public var isWhole: Bool { isComplete && problems.isEmpty }

    /// Whether no row was lost, as far as can be known, and the table of each is known.
    var isComplete: Bool {
        tables.allSatisfy(\.isWhole) && unassignedRows == 0 && unassignedRowsLost == 0
    }

    /// One line for each table and each problem.
    public var description: String {
        let lines = tables.map { table in
            "\(table.name): \(table.rowsSaved) rows saved"
                + (table.rowsLost > 0 ? ", \(table.rowsLost) lost" : "")
                + (table.pagesLost > 0
                    ? ", \(table.pagesLost) \(table.pagesLost == 1 ? "page" : "pages") lost" : "")
                + (table.rowsUncertain > 0
                    ? ", \(table.rowsUncertain) perhaps never committed" : "")
        }
        let lost = unassignedRowsLost > 0 ? ", \(unassignedRowsLost) lost" : ""
        let found =
            unassignedRows + unassignedRowsLost > 0
            ? ["lost_and_found: \(unassignedRows) rows whose table is unknown\(lost)"] : []
        let indexes = rebuilt.map { "\($0): the full-text index was damaged and has been rebuilt" }
        return ([headline] + lines + found + indexes + problems).joined(separator: "\n")
    }

    private var headline: String {
        let count = damagedPages.count
        guard count > 0 || isComplete else {
            return "no page is damaged, but not all rows could be saved"
        }
        return "\(count) damaged \(count == 1 ? "page" : "pages")"
    }
}
