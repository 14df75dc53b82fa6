/// The progress of making, verifying or restoring a backup.
///
/// A handler may throw: that ends the work, leaves everything unchanged, and passes the error to
/// the caller.
public struct VaultBackupProgress: Sendable, Equatable {
    /// A step of the work; not every call has every step, and each step begins at 0.
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

    /// The current step.
    public let step: Step

    /// The completed fraction of the step, from 0 to 1.
    public let fraction: Double

    /// A block that receives the progress of the work, and ends it by throwing.
    public typealias Handler = (VaultBackupProgress) throws -> Void
}
