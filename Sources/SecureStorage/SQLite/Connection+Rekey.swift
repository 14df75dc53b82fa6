internal import CSQLCipher
internal import Logging

extension Connection {
    /// Re-encrypts the whole file with `newKey`, in one transaction of the engine.
    ///
    /// `sqlite3_rekey_v2` returns SQLITE_OK in all cases, and after a failure the connection would
    /// write with one key what it reads with the other. So a second connection reads the outcome
    /// from the file.
    ///
    /// - Throws: Before anything is written: the file has its old key, and this connection stays
    ///   usable.
    func rekey(to newKey: DerivedKey, _ progress: RekeyPageCounter) throws -> RekeyOutcome {
        statements.removeAll()
        // Whatever can be refused is refused here, where a code for it exists and the key is
        // untouched: a read-only file, a lock of another connection. With the exclusive lock, no
        // commit can be busy.
        guard !configuration.isReadOnly else {
            throw SecureStorageError.statementFailed(.readOnly, "the store is read-only")
        }
        interruption?.pause()
        defer { interruption?.resume() }
        // The progress handler is called from inside the engine.
        callbacks.isReporting = true
        defer { callbacks.isReporting = false }
        let handle = try requireHandle()
        try execute("BEGIN EXCLUSIVE")
        // Empties the cache, so that every page is read once, from the file.
        _ = sqlite3_db_release_memory(handle)
        progress.pageCount = Int((try? text("PRAGMA page_count")) ?? "") ?? 0
        let tap = csqlcipher_tap_begin(
            handle,
            { context, isWrite in
                guard let context else { return 0 }
                let progress = Unmanaged<RekeyPageCounter>.fromOpaque(context).takeUnretainedValue()
                return progress.tick(isWrite: isWrite != 0) ? 0 : 1
            }, Unmanaged.passUnretained(progress).toOpaque())
        defer { if let tap { csqlcipher_tap_end(tap) } }
        let code = newKey.withKeySpecification { specification in
            sqlite3_rekey_v2(
                handle, "main", specification.baseAddress, Int32(specification.count))
        }
        progress.isCommitted = true
        // The re-key commits its writes itself. The rollback ends the SQL-level transaction; after
        // a failure, a COMMIT would write with the wrong key.
        var probe = configuration
        probe.isReadOnly = true
        guard (try? execute("ROLLBACK")) != nil, code == SQLITE_OK,
            let reader = try? Connection.open(path, key: .derived(newKey), configuration: probe)
        else { return .failed }
        reader.close()
        key = newKey
        // Until a checkpoint, the old pages are still in the file, under the old key. Readers on
        // other connections may prevent it; that does not fail the re-key, which is committed.
        let isDurable: Bool
        switch runCheckpoint(SQLITE_CHECKPOINT_TRUNCATE, of: nil, waiting: true).code {
        case SQLITE_OK:
            isDurable = isOnDisk()
        case SQLITE_BUSY, SQLITE_INTERRUPT:
            isDurable = isOnDisk()
            logger.warning(
                """
                re-keyed, but the file still contains pages under the old key, because another \
                connection is reading it; the next complete checkpoint removes them
                """)
        default:
            isDurable = false
        }
        progress.finish()
        return isDurable ? .changed : .changedNotDurably
    }

    /// Moves the log into the file, and syncs the file, the log and their directory.
    ///
    /// - Returns: Whether a power cut can no longer change anything.
    func makeDurable() -> Bool {
        checkpoint(SQLITE_CHECKPOINT_TRUNCATE, waiting: true) && isOnDisk()
    }

    /// Syncs the file, its log and their directory; returns false when that fails.
    ///
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

/// The outcome of a re-key, as far as its connection can determine it.
enum RekeyOutcome {
    /// The file has the new key, also after a power cut.
    case changed
    /// The file has the new key now, but the disk has failed: a power cut may restore the old one.
    case changedNotDurably
    /// The connection may read with one key and write with the other; it must be closed, and the
    /// file examined.
    case failed
}
