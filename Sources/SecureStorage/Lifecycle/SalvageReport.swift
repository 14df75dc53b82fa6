/// What could be read of a damaged file, and what not; see
/// ``SecureDatabaseStore/salvage(at:key:cipher:to:newKey:replacing:progress:)``.
public struct SalvageReport: Sendable, Equatable, CustomStringConvertible {
    /// What became of a table.
    public struct Table: Sendable, Equatable {
        /// The table's name.
        public let name: String
        /// How many of its rows are in the new file.
        public internal(set) var rowsSaved = 0
        /// How many rows were found and could not be read to their end, or not be put into the new
        /// table.
        public internal(set) var rowsLost = 0
        /// How many pages of the table's tree are missing; how many rows were in them cannot be
        /// known.
        public internal(set) var pagesLost = 0

        /// Whether all of the table was read.
        public var isWhole: Bool { rowsLost == 0 && pagesLost == 0 }
    }

    /// The numbers of the pages (the first is 1) that are missing or not as they were written; of
    /// each kind not more than 100,000.
    public internal(set) var damagedPages: [Int] = []

    /// The tables, in the order of the schema; without those that SQLite keeps for itself.
    public internal(set) var tables: [Table] = []

    /// Rows whose table cannot be told; they are in the table `lost_and_found` of the new file.
    public internal(set) var unassignedRows = 0

    /// Rows whose table cannot be told, and which cannot be read to their end.
    public internal(set) var unassignedRowsLost = 0

    /// Full-text indexes that were damaged, and were made again from the rows that they are about:
    /// nothing of them is lost.
    public internal(set) var rebuilt: [String] = []

    /// What else is not as it was, such as an index that cannot be made again; a line each.
    public internal(set) var problems: [String] = []

    /// Whether everything was read.
    ///
    /// Where this is false the damaged file is still worth keeping: it may hold what is missing
    /// here.
    public var isWhole: Bool { isComplete && problems.isEmpty }

    /// Whether no row was lost, as far as can be known, and each has its table.
    var isComplete: Bool {
        tables.allSatisfy(\.isWhole) && unassignedRows == 0 && unassignedRowsLost == 0
    }

    /// A line for each table and each problem.
    public var description: String {
        let lines = tables.map { table in
            "\(table.name): \(table.rowsSaved) rows saved"
                + (table.rowsLost > 0 ? ", \(table.rowsLost) lost" : "")
                + (table.pagesLost > 0
                    ? ", \(table.pagesLost) \(table.pagesLost == 1 ? "page" : "pages") lost" : "")
        }
        let lost = unassignedRowsLost > 0 ? ", \(unassignedRowsLost) lost" : ""
        let found =
            unassignedRows + unassignedRowsLost > 0
            ? ["lost_and_found: \(unassignedRows) rows whose table cannot be told\(lost)"] : []
        let indexes = rebuilt.map { "\($0): the full-text index was damaged and is made again" }
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
