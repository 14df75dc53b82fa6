/// How far making, verifying or restoring a backup has come.
///
/// Whoever gets it may throw: that ends the work, which leaves everything as it was before, and the
/// error goes to the caller.
public struct VaultBackupProgress: Sendable, Equatable {
    /// What is being done; not every call has every step, and each step begins at 0.
    public enum Step: Sendable, CaseIterable {
        /// The database is copied, and the copy checked.
        case copying
        /// The copy is sealed into the backup.
        case sealing
        /// The backup is opened.
        case opening
        /// The database of the backup is checked.
        case checking
    }

    /// What is being done.
    public let step: Step

    /// How much of the step is done, from 0 to 1.
    public let fraction: Double

    /// A block that is told how far the work has come, and ends it by throwing.
    public typealias Handler = (VaultBackupProgress) throws -> Void
}
