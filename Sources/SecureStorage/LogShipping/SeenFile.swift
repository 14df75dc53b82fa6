/// When a database's file was changed last, and what its log's checkpoints had copied by then.
///
/// While the log is used, only checkpoints write into the file, and the log's index counts what
/// they do. A file that changes without them was overwritten by another program, such as `cp`.
struct SeenFile: Sendable {
    let index: WALIndex
    private let modified: [Int64]
    private let size: Int

    /// Looks at the file now.
    ///
    /// - Throws: `.openFailed`; the errors of `WALIndex(of:)`.
    init(_ path: String, _ reader: SnapshotReader) throws {
        // First the file: a checkpoint counts what it will copy before it writes.
        let file = try RawFile(path)
        (modified, size) = (file.modified, try file.size())
        index = try reader.use { try WALIndex(of: $0) }
    }

    /// Whether nothing has written into the file in between.
    func isUnchanged(since earlier: SeenFile) -> Bool {
        modified == earlier.modified && size == earlier.size
    }

    /// Whether checkpoints alone may have made this of an earlier state.
    func follows(_ earlier: SeenFile) -> Bool {
        if isUnchanged(since: earlier) { return true }
        if index.attemptedCount > index.backfilledCount { return true }
        guard index.salts == earlier.index.salts else {
            // Before the log was restarted, the rest of it was copied.
            return !earlier.index.isBackfilled || index.backfilledCount > 0
        }
        return index.backfilledCount > earlier.index.backfilledCount
    }
}
