/// How far a long piece of work on a file has come.
///
/// Whoever gets it may throw: that ends the work, which leaves everything as it was before, and the
/// error goes to the caller.
public struct FileProgress: Sendable, Equatable {
    /// How many are done: pages, or rows where a call says so.
    public let completed: Int
    /// How many there are, as far as that is known; it may change with the file.
    public let total: Int

    init(_ completed: Int, of total: Int) {
        self.completed = completed
        self.total = max(total, completed)
    }

    /// From 0 to 1; 1 when there is nothing to do.
    public var fraction: Double { total == 0 ? 1 : Double(completed) / Double(total) }

    /// As part of work that has as much to do afterwards, or has had before.
    var asFirstHalf: FileProgress { FileProgress(completed, of: total * 2) }
    var asSecondHalf: FileProgress { FileProgress(total + completed, of: total * 2) }

    /// A block that is told how far the work has come, and ends it by throwing.
    public typealias Handler = (FileProgress) throws -> Void
}
