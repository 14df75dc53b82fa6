/// The progress of a long operation on a file.
///
/// A handler that receives it may throw: that ends the operation, which leaves everything as it was
/// before, and the caller receives the error.
public struct FileProgress: Sendable, Equatable {
    /// A step of an operation that has several; each begins at 0.
    public enum Step: Sendable, CaseIterable {
        /// The database is copied, and the copy checked.
        case copying
        /// The copy is sealed into a backup.
        case sealing
        /// A backup is opened.
        case opening
        /// The database of a backup is checked.
        case checking
    }

    /// The current step of a vault's backup or restore; nil for an operation of one step.
    public let step: Step?
    /// The number completed: pages, or rows or bytes where a call says so.
    public let completed: Int
    /// The total number, as far as it is known; it may change with the file.
    public let total: Int

    /// Creates a progress.
    ///
    /// - Parameters:
    ///   - completed: At least 0.
    ///   - total: Raised to `completed` if it is smaller.
    ///   - step: The current step of an operation that has several.
    public init(_ completed: Int, of total: Int, step: Step? = nil) {
        self.step = step
        self.completed = completed
        self.total = max(total, completed)
    }

    /// From 0 to 1; 1 when there is nothing to do.
    public var fraction: Double { total == 0 ? 1 : Double(completed) / Double(total) }

    /// As part of an operation with as much to do afterwards, or before.
    var asFirstHalf: FileProgress { FileProgress(completed, of: total * 2) }
    var asSecondHalf: FileProgress { FileProgress(total + completed, of: total * 2) }

    /// A block that receives the progress, and ends the operation by throwing.
    public typealias Handler = (FileProgress) throws -> Void
}
