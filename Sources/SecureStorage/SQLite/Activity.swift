internal import CSQLCipher

/// What the connections of a store have done so far; outlives each of them.
///
/// Not thread-safe, like a connection.
final class Activity {
    @exclusivity(unchecked) var commits = 0
    @exclusivity(unchecked) var rollbacks = 0
    /// The waits for locks of other connections, and their time in nanoseconds.
    @exclusivity(unchecked) var lockWaits = 0
    @exclusivity(unchecked) var lockWaitTime: Int64 = 0
    /// Whether SQLite has begun to commit in the running step, which may still fail.
    @exclusivity(unchecked) var isCommitting = false
    /// The call that the connection runs, if calls are measured.
    @exclusivity(unchecked) var call: MeasuredCall?
    /// The counts of the connections that are closed.
    var closed = PageCounts()

    /// Counts the commit that a step has begun.
    ///
    /// - Parameter isDone: Whether the step has succeeded.
    func endCommit(isDone: Bool) {
        isCommitting = false
        if isDone { commits += 1 }
    }
}

/// Pages that connections have requested and written.
struct PageCounts: Equatable {
    var hits = 0
    var misses = 0
    var written = 0

    static func += (sum: inout PageCounts, other: PageCounts) {
        sum.hits += other.hits
        sum.misses += other.misses
        sum.written += other.written
    }
}

extension Connection {
    /// Lets SQLite report commits and rollbacks, to the recorder of changes too.
    func installTransactionHooks() throws {
        let handle = try requireHandle()
        let context = Unmanaged.passUnretained(self).toOpaque()
        _ = sqlite3_commit_hook(
            handle,
            { context in
                guard let context else { return 0 }
                Unmanaged<Connection>.fromOpaque(context)._withUnsafeGuaranteedRef {
                    $0.activity.isCommitting = true
                    $0.recorder?.noteCommit()
                }
                return 0
            }, context)
        _ = sqlite3_rollback_hook(
            handle,
            { context in
                guard let context else { return }
                Unmanaged<Connection>.fromOpaque(context)._withUnsafeGuaranteedRef {
                    if !$0.authorizer.refusesWrites { $0.activity.rollbacks += 1 }
                    $0.recorder?.noteRollback()
                }
            }, context)
    }

    /// The counts of all connections of the store, this one included.
    var pageCounts: PageCounts {
        var counts = activity.closed
        guard handle != nil else { return counts }
        counts += PageCounts(
            hits: Int(status(SQLITE_DBSTATUS_CACHE_HIT)),
            misses: Int(status(SQLITE_DBSTATUS_CACHE_MISS)),
            written: Int(status(SQLITE_DBSTATUS_CACHE_WRITE)))
        return counts
    }

    /// Returns a counter of this connection (`sqlite3_db_status`).
    @inline(__always)
    func status(_ counter: Int32) -> Int32 {
        guard let handle else { return 0 }
        var value: Int32 = 0
        var highest: Int32 = 0
        // Cannot fail for an open connection.
        _ = sqlite3_db_status(handle, counter, &value, &highest, 0)
        return value
    }
}
