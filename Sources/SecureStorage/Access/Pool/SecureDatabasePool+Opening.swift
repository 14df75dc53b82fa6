extension SecureDatabasePool {
    /// Opens the file, and creates it if it does not exist.
    ///
    /// A passphrase goes through the key derivation once: the readers that are opened later get the
    /// derived key. Only checks the key if the pool is open already. Waits for another thread that
    /// opens or closes the pool.
    ///
    /// - Parameters:
    ///   - key: A passphrase or a raw key.
    ///   - initializationHandler: As for
    ///     ``SecureDatabaseStore/open(with:initializationHandler:)-(DatabaseKey,_)``; it cannot
    ///     call the pool.
    /// - Throws: As the store's; `.authenticationFailed` if the pool is open with another key;
    ///   `.openFailed` code `.misuse` for a configuration that a pool cannot have, and inside a
    ///   block of this pool that has closed it; what the `configure` of the initializer throws.
    public func open(
        with key: DatabaseKey, initializationHandler: (SecureDatabaseStore) -> (any Error)?
    ) throws {
        try requirePoolConfiguration()
        if PoolBlock.current(of: self) != nil {
            guard !connections.isOpen else { return try requireKey(key) }
            throw SecureStorageError.openFailed(
                code: ResultCode.misuse.rawValue,
                message:
                    "the pool cannot be opened inside one of its own blocks; end the block first")
        }
        let writer = connections.writer
        try requireHome()
        var wasOpen = true
        try connections.open {
            wasOpen = false
            // The handler may change the key before there are any.
            writer.session.hasReaders = false
            defer { writer.session.hasReaders = true }
            do {
                try PoolBlock.run(.setup, of: self, on: writer) {
                    try writer.open(with: key) { store in
                        do {
                            try prepare(store)
                        } catch {
                            return error
                        }
                        return initializationHandler(store)
                    }
                }
                try prepareWriter(writer)
            } catch {
                writer.close()
                throw error
            }
        }
        if wasOpen { try requireKey(key) }
    }

    private func requireKey(_ key: DatabaseKey) throws {
        try DerivedKey.require(key, toBeIn: connections.currentKeys, configuration.cipher)
    }

    private func requirePoolConfiguration() throws {
        func refuse(_ message: String) -> SecureStorageError {
            .openFailed(code: ResultCode.misuse.rawValue, message: message)
        }
        guard configuration.journalMode == .wal else {
            throw refuse("a pool reads while it writes, which needs the journal mode .wal")
        }
        try configuration.validate()
    }

    /// Whether the pool is open and can be used.
    public func isOpen() -> Bool { isAtHome && connections.isOpen }

    /// Closes the pool: waits for the running blocks, then closes all connections.
    ///
    /// From now on calls throw `.closed`, as do those still waiting for their turn. Closing a
    /// closed pool does nothing; a closed pool can be opened again, and is not suspended then.
    /// Inside a block of this pool it does not wait: running blocks continue, and the connections
    /// are closed when the last one has ended.
    public func close() {
        let block = PoolBlock.current(of: self)
        // A block that opens the pool cannot wait for itself; in a child made with fork(), nothing
        // belongs to the child.
        guard block?.kind != .setup, isAtHome else { return }
        connections.close(waiting: block == nil)
    }

    /// Closes the readers that no block uses; they are opened again when needed.
    ///
    /// Frees their page caches, file descriptors and copies of the key. For idle moments, or when
    /// the system asks for memory.
    public func releaseMemory() {
        guard isAtHome else { return }
        connections.closeIdleReaders()
    }

    /// Interrupts the running statements of all connections.
    ///
    /// Thread-safe; does not wait. A running statement ends with `.backingStoreError` code
    /// `.interrupted` (SQLITE_INTERRUPT), and the block continues or throws it; the pool remains
    /// usable. See ``SecureDatabaseStore/interrupt()``.
    public func interrupt() {
        guard isAtHome else { return }
        connections.interrupt()
    }
}
