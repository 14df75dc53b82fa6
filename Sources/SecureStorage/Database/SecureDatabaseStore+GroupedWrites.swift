/// Writes of several callers that wait for the disk together; see `GroupCommit`.
extension SecureDatabaseStore {
    /// Runs a block as `runOutermost(_:)` does; if other callers wait, its commits do not wait for
    /// the disk.
    ///
    /// The caller waits for `commitsInFlight` after it has left the turn.
    func runOutermostWrite<T>(
        _ block: (SecureDatabaseStore) throws -> sending T
    ) throws -> sending T {
        guard let connection, connection.groupsCommits(hasWaiters: { turn.hasWaiters }) else {
            return try runOutermost(block)
        }
        let mark = try connection.beginGroupedCommits()
        defer { connection.endGroupedCommits(since: mark) }
        return try runOutermost(block)
    }

    /// The commits that a block of this turn may have seen and that may not be on the disk.
    var commitsInFlight: CommitsInFlight? { session.connection?.commitsInFlight }
}
