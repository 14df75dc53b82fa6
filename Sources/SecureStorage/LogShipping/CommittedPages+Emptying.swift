internal import SecureStoragePlatform

// While writers never pause, each commit finds frames in the log that the file does not hold, so
// that none restarts the log, and it grows.

extension CommittedPages {
    /// Whether the log has become so long that ``emptyLog()`` is worth what it costs.
    package var hasLongLog: Bool {
        state.withLock { $0.holdsLog && $0.position.frame >= $0.triedFrames + 1000 }
    }

    /// Copies the log into the file in a moment without commits, so that the next one restarts it.
    ///
    /// Takes the writers' turn for the time of a checkpoint, if it comes within a tenth of a
    /// second. The log remains if somebody is in the way.
    ///
    /// - Returns: What was committed since the last call of `next()`, in memory; nil for nothing,
    ///   or if the log remains.
    /// - Throws: As `next()`.
    package func emptyLog() async throws -> Changes? {
        state.withLock { $0.triedFrames = $0.position.frame }
        // Begins before writers wait, since it may have to wait for other readers.
        let second = try await onOwnThread { [self] in try newReader() }
        let emptying = Task {
            try await access.writeWithoutTransaction { [self] in try empty($0, second) }
        }
        let patience = Task {
            try await Task.sleep(for: .milliseconds(100))
            emptying.cancel()
        }
        // After an error the next call of `next()` throws as well, or the log remains.
        _ = await emptying.result
        patience.cancel()
        return state.withLock { state in
            if state.reader !== second { second.close() }
            return state.rest.take()
        }
    }

    private func empty(_ writer: SecureDatabaseStore, _ second: SnapshotReader) throws {
        let isEmpty = try writer.openConnection().checkpoint(after: {
            try state.withLock { try readRest(&$0) }
            try second.beginAnew()
        })
        guard isEmpty else { return }
        try state.withLock { state in
            // If no other process has committed in between, it holds only the file. Until then the
            // first one holds the log.
            try second.beginAnew()
            let index = try second.use { try WALIndex(of: $0) }
            guard index.isBackfilled, index.salts == state.position.salts,
                index.frameCount == state.position.frame
            else { return }
            state.reader.close()
            (state.reader, state.holdsLog, state.triedFrames) = (second, false, 0)
        }
    }

    /// Reads what was committed, while nobody commits, and lets a checkpoint copy it.
    private func readRest(_ state: inout State) throws {
        let index = try state.reader.use { try WALIndex(of: $0) }
        let limit = (8 << 20) / pageSize
        guard state.rest == nil, index.salts == state.position.salts,
            Int(index.frameCount) - Int(state.position.frame) <= limit
        else { throw Self.lostTrack }
        var rest: Changes?
        if index.frameCount > state.position.frame {
            rest = try changes(upTo: index, state)
            try rest?.keep()
        }
        do {
            // Without commits, none is missed between the end of one transaction and the next.
            try state.reader.beginAnew()
        } catch {
            state.reader.end(with: error as? SecureStorageError ?? .closed)
            throw error
        }
        if let rest {
            state.advance(to: rest.end)
            state.sample = try PageSample(of: rest)
            state.rest = rest
        }
    }
}
