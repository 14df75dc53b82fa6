internal import CSQLCipher
internal import Logging

extension Connection {
    /// Re-encrypts the whole file with `newKey`, in one transaction of the engine.
    ///
    /// `sqlite3_rekey_v2` returns SQLITE_OK whatever happens, and after a failure the connection
    /// would write with one key what it reads with the other. So the outcome is read from the file
    /// with a second connection.
    ///
    /// - Throws: Before anything is written: the file has its old key, and this connection goes on.
    func rekey(to newKey: DerivedKey, _ progress: RekeyProgress) throws -> RekeyOutcome {
        statements.removeAll()
        // What can be refused is refused here, where there is a code for it and the key is
        // untouched: a read-only file, a lock of another connection. With this one no commit can be
        // busy.
        guard !configuration.isReadOnly else {
            throw SecureStorageError.statementFailed(.readOnly, "the store is read-only")
        }
        interruption?.pause()
        defer { interruption?.resume() }
        // The handler of the progress is called from inside the engine.
        callbacks.isReporting = true
        defer { callbacks.isReporting = false }
        let handle = try requireHandle()
        try execute("BEGIN EXCLUSIVE")
        // So that every page is read once, from the file.
        _ = sqlite3_db_release_memory(handle)
        progress.pageCount = Int((try? text("PRAGMA page_count")) ?? "") ?? 0
        let tap = csqlcipher_tap_begin(
            handle,
            { context, isWrite in
                guard let context else { return 0 }
                let progress = Unmanaged<RekeyProgress>.fromOpaque(context).takeUnretainedValue()
                return progress.tick(isWrite: isWrite != 0) ? 0 : 1
            }, Unmanaged.passUnretained(progress).toOpaque())
        defer { if let tap { csqlcipher_tap_end(tap) } }
        let code = newKey.withKeySpecification { specification in
            sqlite3_rekey_v2(
                handle, "main", specification.baseAddress, Int32(specification.count))
        }
        progress.isCommitted = true
        // It commits what it has written by itself. The rollback ends the transaction of the SQL
        // level; a COMMIT would, after a failure, write with the wrong key.
        var probe = configuration
        probe.isReadOnly = true
        guard (try? execute("ROLLBACK")) != nil, code == SQLITE_OK,
            let reader = try? Connection.open(path, key: .derived(newKey), configuration: probe)
        else { return .failed }
        reader.close()
        key = newKey
        // Until a checkpoint the old pages are still in the file, under the old key. Readers of
        // other connections may prevent it; that is no failure of the re-key, which is committed.
        let isDurable: Bool
        switch runCheckpoint(SQLITE_CHECKPOINT_TRUNCATE, of: nil, waiting: true).code {
        case SQLITE_OK:
            isDurable = isOnDisk()
        case SQLITE_BUSY, SQLITE_INTERRUPT:
            isDurable = isOnDisk()
            logger.warning(
                """
                re-keyed, but the file still holds pages under the old key, since another \
                connection reads it; they go with the next complete checkpoint
                """)
        default:
            isDurable = false
        }
        progress.finish()
        return isDurable ? .changed : .changedNotDurably
    }

    /// Moves the log into the file, and sees to it that file, log and their names are on the disk.
    ///
    /// - Returns: Whether a power cut changes nothing any more.
    func makeDurable() -> Bool {
        checkpoint(SQLITE_CHECKPOINT_TRUNCATE, waiting: true) && isOnDisk()
    }

    /// A commit syncs the log only with `synchronous = .full`, and a directory that could not be
    /// synced after a journal was removed from it leaves no trace in the file.
    private func isOnDisk() -> Bool {
        do {
            let file = DatabaseFile(resolvedPath: path)
            for suffix in try ["", "-wal"].filter({ try file.status($0) != nil }) {
                try RawFile(path + suffix).sync()
            }
            return file.syncDirectory()
        } catch {
            return false
        }
    }
}

/// What a re-key has come to, as far as its connection can tell.
enum RekeyOutcome {
    /// The new key is the file's, also after a power cut.
    case changed
    /// The new key is the file's now; the disk has failed, and a power cut may bring the old one
    /// back.
    case changedNotDurably
    /// The connection's two halves disagree about the key; it must be closed, and the file looked
    /// at.
    case failed
}

/// What a re-key is told by the file as it reads and writes it.
final class RekeyProgress {
    private let handler: FileProgress.Handler
    fileprivate var pageCount = 0
    fileprivate var isCommitted = false
    private var pagesRead = 0
    private var pagesWritten = 0
    /// What the handler has thrown: it has ended the re-key.
    private(set) var failure: (any Error)?

    /// Not escaping: it is only called in the scope of `run`.
    private init(_ handler: @escaping FileProgress.Handler) { self.handler = handler }

    static func run<R>(
        _ handler: FileProgress.Handler, _ body: (RekeyProgress) throws -> R
    ) throws -> R {
        try withoutActuallyEscaping(handler) { try body(RekeyProgress($0)) }
    }

    /// Each page is read and re-encrypted, and then comes into the file.
    private var present: FileProgress {
        FileProgress(
            min(pagesRead, pageCount) + min(pagesWritten, pageCount), of: pageCount * 2)
    }

    /// False to end the re-key.
    fileprivate func tick(isWrite: Bool) -> Bool {
        if isWrite { pagesWritten += 1 } else if !isCommitted { pagesRead += 1 }
        guard failure == nil, (pagesRead + pagesWritten) % 256 == 1 else { return true }
        do {
            try handler(present)
            return true
        } catch {
            // Behind the commit it is too late to end it.
            guard !isCommitted, !isWrite else { return true }
            failure = error
            return false
        }
    }

    fileprivate func finish() {
        guard failure == nil else { return }
        try? handler(FileProgress(pageCount * 2, of: pageCount * 2))
    }
}
