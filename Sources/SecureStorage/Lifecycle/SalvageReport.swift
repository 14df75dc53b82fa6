/// What could be read of a damaged file, and what not; see
/// ``SecureDatabaseStore/salvage(at:key:cipher:to:newKey:replacing:progress:)``.
public struct SalvageReport: Sendable, Equatable, CustomStringConvertible {
    /// What became of a table.
    public struct Table: Sendable, Equatable {
        /// The table's name.
        public let name: String
        /// How many of its rows are in the new file.
        public internal(set) var rowsSaved = 0
        /// How many rows were found and could not be read to their end, or not be put into the new table.
        public internal(set) var rowsLost = 0
        /// How many pages of the table's tree are missing; how many rows were in them cannot be known.
        public internal(set) var pagesLost = 0

        /// Whether all of the table was read.
        public var isWhole: Bool { rowsLost == 0 && pagesLost == 0 }
    }

    /// The numbers of the pages (the first is 1) that are missing or not as they were written.
    public internal(set) var damagedPages: [Int] = []

    /// The tables, in the order of the schema; without those that SQLite keeps for itself.
    public internal(set) var tables: [Table] = []

    /// Rows whose table cannot be told; they are in the table `lost_and_found` of the new file.
    public internal(set) var unassignedRows = 0

    /// What else is not as it was, such as an index that cannot be made again; a line each.
    public internal(set) var problems: [String] = []

    /// Whether everything was read.
    public var isWhole: Bool {
        tables.allSatisfy(\.isWhole) && unassignedRows == 0 && problems.isEmpty
    }

    /// A line for each table and each problem.
    public var description: String {
        let lines = tables.map { table in
            "\(table.name): \(table.rowsSaved) rows saved"
                + (table.rowsLost > 0 ? ", \(table.rowsLost) lost" : "")
                + (table.pagesLost > 0
                    ? ", \(table.pagesLost) \(table.pagesLost == 1 ? "page" : "pages") lost" : "")
        }
        let found =
            unassignedRows > 0
            ? ["lost_and_found: \(unassignedRows) rows whose table cannot be told"] : []
        let count = damagedPages.count
        return (["\(count) damaged \(count == 1 ? "page" : "pages")"] + lines + found + problems)
            .joined(separator: "\n")
    }
}
