internal import CSQLCipher

/// Commits that wait for the disk together; see `GroupCommit`.
extension Connection {
    /// Returns whether the commits of a block that writes should wait for the disk with others.
    ///
    /// Only in a write-ahead log, where a commit that is not synced yet is a commit already, and
    /// where each commit would be synced by itself.
    func groupsCommits(hasWaiters: () -> Bool) -> Bool {
        guard configuration.groupsWrites, configuration.synchronousLevel == "FULL",
            !configuration.isReadOnly, !authorizer.setsSynchronous, !isInTransaction
        else { return false }
        return groupCommit.decideGrouping(hasWaiters: hasWaiters())
    }

    /// Lets commits return before they are on the disk, until `endGroupedCommits(since:)`.
    ///
    /// - Returns: The mark for that call.
    func beginGroupedCommits() throws -> Int32 {
        try setSynchronous("NORMAL")
        return writtenPages
    }

    /// Notes what was committed, and lets commits wait for the disk again.
    ///
    /// - Parameter mark: What `beginGroupedCommits()` has returned.
    func endGroupedCommits(since mark: Int32) {
        guard let handle else { return }
        if writtenPages != mark {
            var log: GroupCommit.Log?
            // Without a file, the sync fails and reports it.
            _ = sqlite3_file_control(handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log)
            hasGroupedCommits = true
            groupCommit.note(in: log)
        }
        do {
            try setSynchronous("FULL")
        } catch {
            // No later commit may seem durable.
            hasGroupedCommits = true
            groupCommit.fail(
                (error as? SecureStorageError)
                    ?? .engineFailed(.error, "PRAGMA synchronous failed", nil))
        }
    }

    /// The commits that the calling block may have seen and that may not be on the disk; nil if
    /// there are none.
    var commitsInFlight: CommitsInFlight? {
        guard hasGroupedCommits else { return nil }
        guard let number = groupCommit.pending else {
            hasGroupedCommits = false
            return nil
        }
        return CommitsInFlight(group: groupCommit, number: number)
    }

    private func setSynchronous(_ level: String) throws {
        let handle = try requireHandle()
        // The rule against it is for SQL of the app.
        let origin = authorizer.origin
        authorizer.origin = .library
        defer { authorizer.origin = origin }
        try uninterrupted {
            try check(sqlite3_exec(handle, "PRAGMA main.synchronous = \(level)", nil, nil, nil))
        }
    }

    /// The number of pages that were written to the file or its log (SQLITE_DBSTATUS_CACHE_WRITE).
    private var writtenPages: Int32 { status(SQLITE_DBSTATUS_CACHE_WRITE) }
}

/// Commits that are in the log and may not be on the disk.
struct CommitsInFlight: Sendable {
    let group: GroupCommit
    let number: Int

    /// Waits until they are on the disk; must not be called while others wait for the connection.
    ///
    /// - Throws: `.backingStoreError` code `.ioError`.
    func wait() throws { try group.wait(for: number) }

    /// Calls `body` on any thread once they are on the disk.
    func whenDurable(_ body: @escaping @Sendable (SecureStorageError?) -> Void) {
        group.whenDurable(number, body)
    }
}
