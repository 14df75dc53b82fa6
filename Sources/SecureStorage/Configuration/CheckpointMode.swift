/// How far a checkpoint goes and what it waits for.
///
/// The corresponding C constants are
/// [`SQLITE_CHECKPOINT_PASSIVE`](https://sqlite.org/c3ref/wal_checkpoint_v2.html) and its siblings.
public enum CheckpointMode: Sendable, CaseIterable {
    /// Moves as much of the log as possible without waiting.
    ///
    /// On SQLite before 3.51.3 a passive checkpoint can damage the file when another connection
    /// restarts the log at the same instant. On those versions it runs under the writer lock, still
    /// without waiting: it moves either the whole log or none of it and fails with code `.busy`.
    case passive
    /// Waits for writers, and for readers of an older state, then moves the whole log into the
    /// file.
    case full
    /// As `full`, and waits for all readers of the log, so that the next writer restarts it.
    case restart
    /// As `restart`, and truncates the log to 0 bytes.
    case truncate
}
