internal import CSQLCipher
internal import Foundation

extension Connection {
    /// Replaces automatic checkpoints where the engine has the WAL-reset bug.
    ///
    /// The engine's automatic checkpoint is passive: it lets another connection commit and restart
    /// the log while it runs, which is the race of that bug (SQLite 3.7.0 to 3.51.2, two processes,
    /// the same instant). A FULL checkpoint holds the writer lock; see
    /// ``checkpoint(_:of:waiting:)``.
    func installCheckpointing(_ engine: Engine) {
        guard engine.hasWALResetBug, !configuration.isReadOnly, let handle else { return }
        _ = sqlite3_wal_hook(
            handle,
            { connection, _, database, pages in
                guard let connection, let database else { return SQLITE_OK }
                let owner = Unmanaged<Connection>.fromOpaque(connection).takeUnretainedValue()
                owner.checkpointIfDue(pages, of: database)
                return SQLITE_OK
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Tries a checkpoint after each 1000 pages, the engine's default for `wal_autocheckpoint`.
    ///
    /// An attempt sorts the whole log before it finds a reader in the way, so not each commit
    /// makes one.
    private func checkpointIfDue(_ pages: Int32, of database: UnsafePointer<CChar>) {
        // The log was restarted.
        if pages < pagesAtCheckpoint { pagesAtCheckpoint = 0 }
        // A checkpoint beside a running statement would interrupt that as well.
        guard pages - pagesAtCheckpoint >= 1000, !hasRunningStatement else { return }
        // Busy is not an error here: the commit is done.
        _ = checkpoint(SQLITE_CHECKPOINT_FULL, of: database, waiting: false)
        pagesAtCheckpoint = pages
    }

    /// Copies the log into the file, right after `body` has run while nobody could commit.
    ///
    /// The engine refuses a checkpoint in a transaction, so another process may commit between the
    /// two, though only within microseconds. Waits for nobody.
    ///
    /// - Returns: Whether the whole log is in the file now.
    /// - Throws: What `body` throws.
    func checkpoint(after body: () throws -> Void) throws -> Bool {
        guard !isInTransaction, !hasRunningStatement, takeWriterLock() else { return false }
        do {
            defer { giveBackWriterLock() }
            try body()
        }
        return checkpoint(SQLITE_CHECKPOINT_FULL, of: "main", waiting: false)
    }

    /// Copies the log into the file under the writer lock, or does nothing.
    ///
    /// If SQLite cannot get the writer lock it continues without it, which is the race described at
    /// `installCheckpointing(_:)`. So the first refusal (or the first after the busy timeout)
    /// interrupts the checkpoint, which then ends before its first page.
    ///
    /// - Parameters:
    ///   - mode: `SQLITE_CHECKPOINT_FULL`, `…_RESTART` or `…_TRUNCATE`.
    ///   - database: The database's name; nil for the main one and those attached.
    ///   - waiting: Whether to wait for writers and readers, up to the busy timeout.
    /// - Returns: Whether the whole log is in the file now.
    func checkpoint(
        _ mode: Int32, of database: UnsafePointer<CChar>? = nil, waiting: Bool
    ) -> Bool {
        runCheckpoint(mode, of: database, waiting: waiting).code == SQLITE_OK
    }

    /// Does the same as ``checkpoint(_:of:waiting:)`` and returns everything that SQLite reports.
    func runCheckpoint(
        _ mode: Int32, of database: UnsafePointer<CChar>?, waiting: Bool
    ) -> CheckpointOutcome {
        var outcome = CheckpointOutcome()
        guard let handle else {
            outcome.code = SQLITE_MISUSE
            return outcome
        }
        // Defers the caller's interruptions. The busy handler's own ends only a checkpoint that has
        // not begun.
        interruption?.pause()
        defer { interruption?.resume() }
        dropIdleInterruption()
        // Non-nil when the app has set another timeout with `PRAGMA busy_timeout`.
        let ownTimeout =
            authorizer.setsBusyTimeout ? Engine.text(of: "PRAGMA busy_timeout", handle) : nil
        let timeout = ownTimeout.flatMap { Int32($0) }
        var patience = Patience(
            handle: handle, remaining: waiting ? timeout ?? busyMilliseconds : 0)
        withUnsafeMutablePointer(to: &patience) { patience in
            _ = sqlite3_busy_handler(
                handle,
                { context, _ in
                    guard let patience = context?.assumingMemoryBound(to: Patience.self) else {
                        return 0
                    }
                    guard patience.pointee.remaining > 0 else {
                        patience.pointee.gaveUp = true
                        sqlite3_interrupt(patience.pointee.handle)
                        return 0
                    }
                    patience.pointee.remaining -= 1
                    usleep(1000)
                    return 1
                }, patience)
            // nil means every attached database.
            outcome.code = sqlite3_wal_checkpoint_v2(
                handle, database, mode, &outcome.logFrames, &outcome.checkpointedFrames)
            if let timeout {
                _ = sqlite3_busy_timeout(handle, timeout)
            } else {
                // The same call has been made before, with the same handle.
                try? installBusyHandler()
            }
        }
        outcome.gaveUp = patience.gaveUp
        return outcome
    }

    /// Whether a statement has begun and has neither ended nor been given back.
    var hasRunningStatement: Bool {
        guard let handle else { return false }
        var statement = sqlite3_next_stmt(handle, nil)
        while let running = statement {
            if sqlite3_stmt_busy(running) != 0 { return true }
            statement = sqlite3_next_stmt(handle, running)
        }
        return false
    }

    /// The state of a checkpoint's busy handler.
    private struct Patience {
        let handle: OpaquePointer?
        /// The time left to wait, in milliseconds.
        var remaining: Int32
        /// Whether a lock was refused for good.
        var gaveUp = false
    }

    /// Rewrites the file, and moves the resulting log into it if no other connection is in the way.
    func vacuum() throws {
        try execute("VACUUM")
        // The vacuum is committed; a reader that keeps the log from being moved does not fail it.
        _ = checkpoint(SQLITE_CHECKPOINT_TRUNCATE, of: "main", waiting: false)
    }
}
