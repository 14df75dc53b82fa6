/// How far a checkpoint goes, and for whom it waits.
///
/// The corresponding C constants are
/// [`SQLITE_CHECKPOINT_PASSIVE`](https://sqlite.org/c3ref/wal_checkpoint_v2.html) and its
/// neighbours.
public enum CheckpointMode: Sendable, CaseIterable {
    /// Moves what can be moved without waiting for anybody.
    ///
    /// On SQLite before 3.51.3 a passive checkpoint can damage the file when another connection
    /// restarts the log at the same instant. There it is taken under the writer lock, still without
    /// waiting: all of the log is moved, or none and the error is code 5.
    case passive
    /// Waits for writers, and for readers of an older state, then moves the whole log into the
    /// file.
    case full
    /// As `full`, and waits for all readers of the log, so that the next writer begins it anew.
    case restart
    /// As `restart`, and cuts the log to 0 bytes.
    case truncate
}
