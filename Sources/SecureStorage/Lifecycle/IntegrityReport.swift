/// What a check of a whole file has found; see ``SecureDatabaseStore/verifyIntegrity(progress:)``.
public struct IntegrityReport: Sendable, Equatable, CustomStringConvertible {
    /// A row that refers to one that is not there.
    public struct ForeignKeyViolation: Sendable, Equatable {
        /// The table of the row.
        public let table: String
        /// The row's id; nil in a table without row ids.
        public let rowID: Int64?
        /// The table in which a row is missing.
        public let referencedTable: String
    }

    /// How many pages the database has.
    public let pageCount: Int

    /// The numbers of the pages (the first is 1) that are missing or not as they were written;
    /// of each kind not more than 100,000.
    public let damagedPages: [Int]

    /// What `PRAGMA integrity_check` says, a line each; empty when it says "ok".
    ///
    /// The lines name tables, indexes and row ids, no values.
    public let structureProblems: [String]

    /// Rows without the row that they refer to.
    public let foreignKeyViolations: [ForeignKeyViolation]

    /// Commits in the log that no connection finds any more; nil when nothing proves such a loss.
    public let logDamage: LogDamage?

    /// Whether nothing was found.
    public var isSound: Bool {
        logDamage == nil && damagedPages.isEmpty && structureProblems.isEmpty
            && foreignKeyViolations.isEmpty
    }

    /// A line for each finding.
    public var description: String {
        guard !isSound else { return "\(pageCount) pages, all sound" }
        let pages = damagedPages.map { "page \($0) is not as it was written" }
        let keys = foreignKeyViolations.map {
            "\($0.table)\($0.rowID.map { ", row \($0)," } ?? "") refers to a row of "
                + "\($0.referencedTable) that is not there"
        }
        let log = logDamage.map { [$0.description] } ?? []
        return (log + pages + structureProblems + keys).joined(separator: "\n")
    }
}
