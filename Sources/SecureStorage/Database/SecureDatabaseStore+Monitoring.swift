internal import Foundation

extension SecureDatabaseStore {
    /// Returns how SQLite would run a statement, as a tree, without running it.
    ///
    /// ```swift
    /// print(try db.explain("SELECT * FROM note WHERE at > ? ORDER BY text"))
    /// ```
    ///
    /// - Parameter sql: Exactly one statement; its placeholders need no values.
    /// - Returns: The root of the tree; it has no children for a statement such as `BEGIN`.
    /// - Throws: `.closed`; `.backingStoreError` with SQLite's code for a statement that cannot be
    ///   prepared.
    ///
    /// The corresponding statement is
    /// [`EXPLAIN QUERY PLAN`](https://sqlite.org/lang_explain.html).
    public func explain(_ sql: String) throws -> QueryPlan {
        let statement = try workingConnection().statement(
            for: "EXPLAIN QUERY PLAN " + sql, cached: false)
        defer { statement.giveBack() }
        var rows: [(id: Int64, parent: Int64, detail: String)] = []
        while try statement.step() {
            rows.append(
                (
                    statement.column(0).integer, statement.column(1).integer,
                    statement.column(3).text ?? ""
                ))
        }
        return QueryPlan(rows: rows)
    }

    /// Returns what this store has done since it was created, and the state of its file.
    ///
    /// - Returns: Counts that only grow, and the present size and age of the log.
    /// - Throws: `.closed`; `.suspended`.
    ///
    /// The corresponding C functions are
    /// [`sqlite3_db_status`](https://sqlite.org/c3ref/db_status.html),
    /// [`sqlite3_commit_hook`](https://sqlite.org/c3ref/commit_hook.html).
    public func statistics() throws -> SecureDatabaseStatistics {
        let connection = try openConnection()
        let activity = session.activity
        let pages = connection.pageCounts
        var statistics = SecureDatabaseStatistics()
        statistics.commits = activity.commits
        statistics.rollbacks = activity.rollbacks
        statistics.busyWaits = activity.lockWaits
        statistics.busyWaitTime = .nanoseconds(activity.lockWaitTime)
        statistics.cacheHits = pages.hits
        statistics.cacheMisses = pages.misses
        statistics.pagesWritten = pages.written
        // Without its file, or without permission to look at it, there is nothing to report.
        if let log = (try? connection.file.status("-wal")) ?? nil {
            statistics.logSize = Int(log.st_size)
            statistics.checkpointAge = ((try? connection.file.status("")) ?? nil)
                .map { Self.age(of: $0) }
        }
        return statistics
    }

    /// The time since a file was last written; zero if that is in the future.
    private static func age(of status: stat) -> Duration {
        #if canImport(Darwin)
            let time = status.st_mtimespec
        #else
            let time = status.st_mtim
        #endif
        let written = Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        return .seconds(max(0, Date().timeIntervalSince1970 - written))
    }
}
