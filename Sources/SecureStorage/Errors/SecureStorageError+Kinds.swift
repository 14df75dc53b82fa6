// The questions that apps ask of an error, whichever call has thrown it.

extension SecureStorageError {
    /// Whether another connection held a lock for longer than the busy timeout (SQLITE_BUSY).
    ///
    /// The same call may succeed later.
    public var isBusy: Bool { primaryCode == .busy }

    /// Whether `interrupt()`, a deadline or the cancellation of the task ended a statement
    /// (SQLITE_INTERRUPT); see ``interruption`` for which of them.
    ///
    /// False for a suspension: see ``isSuspended``.
    public var isInterrupted: Bool { primaryCode == .interrupted }

    /// Whether the database was suspended; the same call succeeds after `resume()`.
    public var isSuspended: Bool { self == .suspended }

    /// Whether a constraint was violated (SQLITE_CONSTRAINT).
    ///
    /// ``resultCode`` has the kind, such as `.constraintUnique`.
    public var isConstraintViolation: Bool { primaryCode == .constraint }

    /// Whether the disk is full (SQLITE_FULL); nothing of the statement was stored.
    public var isDiskFull: Bool { primaryCode == .full }

    /// Whether a statement tried to write where only reading is allowed (SQLITE_READONLY): a
    /// read-only store or file, or a block of `read`.
    public var isReadOnly: Bool { primaryCode == .readOnly }

    /// Whether a page of the file, of its log or of its journal is damaged (SQLITE_CORRUPT).
    ///
    /// ``SecureDatabaseStore/salvage(at:key:cipher:to:newKey:replacing:progress:)`` recovers what
    /// can still be read.
    public var isCorrupt: Bool { primaryCode == .corrupt }

    private var primaryCode: ResultCode? { resultCode?.primary }
}
