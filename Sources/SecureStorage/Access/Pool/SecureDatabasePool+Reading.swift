internal import SecureStoragePlatform

extension SecureDatabasePool {
    /// Runs `block` with a read-only connection that sees the file as it is when the block begins.
    ///
    /// It does not see later commits. Up to ``SecureDatabaseConfiguration/maximumReaderCount``
    /// blocks run at the same time; the next one waits for its turn, but never for a writer.
    ///
    /// Inside a `read` of this pool it runs immediately, on the same snapshot; inside a write it
    /// runs on the writer, whose changes it sees.
    ///
    /// - Parameter block: Runs on the calling thread. A statement that writes throws code
    ///   `.readOnly` (SQLITE_READONLY), except inside a write.
    /// - Returns: What the block returns.
    /// - Throws: What the block throws; `.closed`; `.backingStoreError` if a connection cannot be
    ///   opened (code `.cannotOpen`) or the snapshot cannot be taken.
    public func read<T>(
        _ block: (SecureDatabaseStore) throws -> sending T
    ) throws -> sending T {
        try requireHome()
        if let outer = PoolBlock.current(of: self) {
            return try runInside(outer, block)
        }
        guard let instruments = configuration.instrumentation.instruments else {
            return try read(in: connections.enter(), nil, block)
        }
        let call = instruments.begin(.read)
        return try call.measure { try read(in: connections.enter(), call, block) }
    }

    /// Runs `block` with the connection of a slot, and gives the slot back in any case.
    ///
    /// - Parameters:
    ///   - slot: A slot of the pool.
    ///   - call: The call, if calls are measured.
    ///   - block: Runs on the calling thread.
    /// - Returns: What the block returns.
    /// - Throws: As `read(_:)`.
    func read<T>(
        in slot: PoolConnections.Slot, _ call: MeasuredCall?,
        _ block: (SecureDatabaseStore) throws -> sending T
    ) throws -> sending T {
        // A copy is kept as long as a block reads it.
        defer { withExtendedLifetime(slot.source) {} }
        let reader: SecureDatabaseStore
        do {
            reader = try slot.reader ?? makeReader(for: slot)
        } catch {
            connections.leave(slot.place, with: nil)
            throw error
        }
        var isUsable = false
        defer {
            if !isUsable { connections.discard(reader) }
            connections.leave(slot.place, with: isUsable ? reader : nil)
        }
        reader.connection?.noteTurnWait(slot.waitTime)
        if let call { reader.beginRunning(call) }
        defer { if let call { reader.endRunning(call) } }
        try reader.beginSnapshot()
        defer { isUsable = reader.endSnapshot() }
        return try PoolBlock.run(.reading, of: self, on: reader) {
            guard let call else { return try block(reader) }
            return try call.inContext { try block(reader) }
        }
    }

    func makeReader(for slot: PoolConnections.Slot) throws -> SecureDatabaseStore {
        let start = MonotonicTime.now
        let reader = SecureDatabaseStore(reading: slot.source, configuration: configuration)
        if slot.place == .file {
            reader.sharing.suspensionFlag = connections.writer.sharing.suspensionFlag
        }
        _ = try reader.openConnection()
        do {
            try prepare(reader)
        } catch {
            reader.close()
            throw error
        }
        connections.add(reader, slot.place)
        reader.instruments?.connectionOpened(in: MonotonicTime.now - start)
        return reader
    }

    /// Runs `block` as part of a block of this pool that the thread is already in.
    func runInside<T>(
        _ outer: PoolBlock, _ block: (SecureDatabaseStore) throws -> sending T
    ) throws -> sending T {
        guard outer.kind != .setup else {
            throw SecureStorageError.statementFailed(
                .misuse,
                "the pool cannot be called while it is opening, setting up a connection or changing its "
                    + "key; use the store passed to the closure, if any")
        }
        let store = outer.store
        let open = store.session.resultSetCount
        defer { store.closeResultSets(openedAfter: open) }
        return try block(store)
    }
}
