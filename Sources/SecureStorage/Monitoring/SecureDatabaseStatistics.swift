/// What a store, queue or pool has done since it was created, and the state of its file.
///
/// Each count only grows, also when connections are closed and opened again: two values, one some
/// time after the other, give a rate. Other processes, and other stores of the file, do not count.
public struct SecureDatabaseStatistics: Sendable, Equatable {
    /// The transactions that changed something and were committed; a statement outside of a
    /// transaction is one of its own.
    public internal(set) var commits = 0

    /// The transactions that were rolled back: by the caller, or after an error.
    ///
    /// The end of a `read`, which the library ends in this way, does not count.
    public internal(set) var rollbacks = 0

    /// How often a statement had to wait for the lock of another connection.
    ///
    /// Those of a pool's readers do not count. After `PRAGMA busy_timeout`, which replaces the wait
    /// that is counted, it no longer grows.
    public internal(set) var busyWaits = 0

    /// The time of these waits.
    public internal(set) var busyWaitTime = Duration.zero

    /// How often a page was found in the cache of its connection.
    ///
    /// The figures of a pool's reader that is in use are those of an earlier call.
    public internal(set) var cacheHits = 0

    /// How often a page was not in the cache, and was read from the file or its log and decrypted.
    public internal(set) var cacheMisses = 0

    /// The pages that were encrypted and written to the file or its log, without those that a
    /// checkpoint copies.
    public internal(set) var pagesWritten = 0

    /// The size of the write-ahead log in bytes; 0 if there is none.
    ///
    /// The log does not shrink when it is emptied: its next content overwrites it.
    public internal(set) var logSize = 0

    /// The time since pages were last copied from the log into the file, by any process; nil
    /// without a write-ahead log.
    ///
    /// It is taken from the file's modification time.
    public internal(set) var checkpointAge: Duration?

    /// The read-only connections of a pool that are open.
    public internal(set) var openReaderCount = 0

    /// How many of them run a block now.
    public internal(set) var readersInUse = 0

    /// The part of the requested pages that was found in a cache, from 0 to 1; nil before the first
    /// request.
    public var cacheHitRate: Double? {
        let requests = cacheHits + cacheMisses
        return requests > 0 ? Double(cacheHits) / Double(requests) : nil
    }
}
