/// The findings of a check of a whole file; see ``SecureDatabaseStore/verifyIntegrity(progress:)``.
public struct IntegrityReport: Sendable, Equatable, CustomStringConvertible {
    /// A row that refers to a missing one.
    public struct ForeignKeyViolation: Sendable, Equatable {
        /// The table of the row.
        public let table: String
        /// The row's id; nil in a table without row ids.
        public let rowID: Int64?
        /// The table from which a row is missing.
        public let referencedTable: String
    }

    /// The number of pages in the database.
    public let pageCount: Int

    /// The numbers of the pages (the first is 1) that are missing or not as they were written; at
    /// most 100,000 of each kind.
    public let damagedPages: [Int]

    /// The output of `PRAGMA integrity_check`, one line each; empty if it is "ok".
    ///
    /// The lines name tables, indexes and row ids, but no values.
    public let structureProblems: [String]

    /// Rows that refer to missing rows.
    public let foreignKeyViolations: [ForeignKeyViolation]

    /// Commits in the log that connections can no longer find; nil if nothing proves such a loss.
    public let logDamage: LogDamage?

    /// Whether there are no findings.
    public var isSound: Bool {
        logDamage == nil && damagedPages.isEmpty && structureProblems.isEmpty
            && foreignKeyViolations.isEmpty
    }

    /// One line for each finding.
    public var description: String {
        guard !isSound else { return "\(pageCount) pages, all sound" }
        let pages = damagedPages.map { "page \($0) is not as it was written" }
        let keys = foreignKeyViolations.map {
            "\($0.table)\($0.rowID.map { ", row \($0)," } ?? "") refers to a missing row of "
                + "\($0.referencedTable)"
        }
        let log = logDamage.map { [$0.description] } ?? []
        return (log + pages + structureProblems + keys).joined(separator: "\n")
    }
}
