/// Writes of several callers that wait for the disk together; see `GroupCommit`.
extension SecureDatabaseStore {
    /// Runs a block as `runOutermost(_:)` does; its commits do not wait for the disk if other
    /// callers wait.
    ///
    /// The caller waits for `commitsInFlight` after it has left the turn.
    ///
    /// - Parameters:
    ///   - mayGroup: Whether its commits may wait with those of other calls.
    ///   - block: As for `runOutermost(_:)`.
    /// - Returns: What the block returns.
    /// - Throws: As `runOutermost(_:)`.
    func runOutermost<T>(
        grouping mayGroup: Bool, _ block: (SecureDatabaseStore) throws -> sending T
    ) throws -> sending T {
        guard mayGroup, let connection,
            connection.groupsCommits(hasWaiters: { turn.hasWaiters })
        else { return try runOutermost(block) }
        let mark = try connection.beginGroupedCommits()
        defer { connection.endGroupedCommits(since: mark) }
        return try runOutermost(block)
    }

    /// The commits that a block of this turn may have seen and that may not be on the disk.
    var commitsInFlight: CommitsInFlight? { session.connection?.commitsInFlight }
}
