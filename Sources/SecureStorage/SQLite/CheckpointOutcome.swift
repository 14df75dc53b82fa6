internal import CSQLCipher

/// The outcome of a checkpoint, as SQLite reports it.
struct CheckpointOutcome {
    var code: Int32 = SQLITE_OK
    /// Whether a lock was refused, which ended the checkpoint before its first page.
    var gaveUp = false
    /// The frames in the log; -1 for a database without a log, and where SQLite does not know.
    var logFrames: Int32 = -1
    var checkpointedFrames: Int32 = -1
}

extension Connection {
    /// Runs a checkpoint that the app requests.
    ///
    /// - Parameters:
    ///   - mode: How far to go.
    ///   - database: The database; nil for the main one and those attached, where the frames are
    ///     the main one's.
    /// - Returns: The frames in the log, and how many of them are in the file.
    /// - Throws: `.backingStoreError` code `.locked` in a transaction and beside a running query:
    ///   SQLite would refuse these too, but an interruption would hit their statements; code
    ///   `.busy` when another connection is in the way; otherwise SQLite's code.
    func checkpoint(
        _ mode: CheckpointMode, of database: String?
    ) throws -> (logFrames: Int, checkpointedFrames: Int) {
        guard !isInTransaction, !hasRunningStatement else {
            throw SecureStorageError.statementFailed(
                .locked,
                isInTransaction
                    ? "a checkpoint cannot run in a transaction; end it first"
                    : "a checkpoint cannot run while a result set is open; close it first")
        }
        guard database?.utf8.contains(0) != true else {
            throw SecureStorageError.statementFailed(
                .error, "the name of the database contains a NUL")
        }
        let outcome = try run(mode, of: database)
        guard !outcome.gaveUp, outcome.code & 0xff != SQLITE_BUSY else {
            throw SecureStorageError.engineFailed(
                .busy, "the log could not be completely copied into the file",
                ResultCode.busy.hint)
        }
        try check(outcome.code)
        return (Int(max(outcome.logFrames, 0)), Int(max(outcome.checkpointedFrames, 0)))
    }

    private func run(_ mode: CheckpointMode, of database: String?) throws -> CheckpointOutcome {
        func run(_ name: UnsafePointer<CChar>?) throws -> CheckpointOutcome {
            switch mode {
            case .passive where try !Engine.examined.get().hasWALResetBug:
                var outcome = CheckpointOutcome()
                outcome.code = sqlite3_wal_checkpoint_v2(
                    try requireHandle(), name, SQLITE_CHECKPOINT_PASSIVE, &outcome.logFrames,
                    &outcome.checkpointedFrames)
                return outcome
            case .passive:
                // A passive checkpoint does not keep writers out, which is the race of that bug.
                return runCheckpoint(SQLITE_CHECKPOINT_FULL, of: name, waiting: false)
            case .full:
                return runCheckpoint(SQLITE_CHECKPOINT_FULL, of: name, waiting: true)
            case .restart:
                return runCheckpoint(SQLITE_CHECKPOINT_RESTART, of: name, waiting: true)
            case .truncate:
                return runCheckpoint(SQLITE_CHECKPOINT_TRUNCATE, of: name, waiting: true)
            }
        }
        guard let database else { return try run(nil) }
        return try database.withCString { try run($0) }
    }
}
