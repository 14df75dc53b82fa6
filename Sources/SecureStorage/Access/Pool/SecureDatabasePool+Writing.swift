extension SecureDatabasePool {
    /// Runs `block` in a transaction that is committed when the block returns.
    ///
    /// Writers wait for each other, in order of arrival, but never for a reader. The transaction is
    /// an immediate one: it excludes other writers from its beginning.
    ///
    /// Inside a write of this pool it runs immediately, in a savepoint if there is a transaction
    /// already. Only returning or throwing ends the transaction: `COMMIT` and `ROLLBACK` are
    /// refused in it.
    ///
    /// - Parameter block: Runs on the calling thread.
    /// - Returns: What the block returns.
    /// - Throws: What the block throws, after rolling back; `.backingStoreError` if the transaction
    ///   cannot begin (code `.busy`: another process holds the lock) or cannot be committed, after
    ///   rolling back, and with code `.misuse` inside a `read` of this pool; `.closed`.
    @discardableResult
    public func write<T>(
        _ block: (SecureDatabaseStore) throws -> sending T
    ) throws -> sending T {
        try performWrite(.write, groups: true) { try $0.inImmediateTransaction(block) }
    }

    /// Runs `block` with the writer, without a transaction around it.
    ///
    /// For VACUUM and other statements that cannot run in one, and for a block that begins and ends
    /// several. Inside a `write` of this pool it runs immediately, in its transaction.
    ///
    /// - Parameter block: Runs on the calling thread.
    /// - Returns: What the block returns.
    /// - Throws: What the block throws; `.backingStoreError` code `.misuse` if it leaves a
    ///   transaction open, which is rolled back, and inside a `read` of this pool; `.closed`.
    @discardableResult
    public func writeWithoutTransaction<T>(
        _ block: (SecureDatabaseStore) throws -> sending T
    ) throws -> sending T {
        try performWrite(.access, groups: false, block)
    }

    func performWrite<T>(
        _ kind: CallKind, groups: Bool, _ block: (SecureDatabaseStore) throws -> sending T
    ) throws -> sending T {
        try requireHome()
        if let outer = PoolBlock.current(of: self) {
            guard outer.kind != .reading else { throw SecureStorageError.writeInsideRead }
            return try runInside(outer, block)
        }
        guard let instruments = configuration.instrumentation.instruments else {
            return try writeInTurn(groups: groups, block)
        }
        let call = instruments.begin(kind)
        return try call.measure {
            try writeInTurn(groups: groups) { try $0.run(call, block) }
        }
    }

    /// Runs `block` with the writer when its turn comes, and then waits until everything that it
    /// may have seen is on the disk.
    private func writeInTurn<T>(
        groups: Bool, _ block: (SecureDatabaseStore) throws -> sending T
    ) throws -> sending T {
        var commits: CommitsInFlight?
        // Unsafe only to the compiler: nothing else has the value.
        nonisolated(unsafe) let value = try writeInTurn(groups: groups, &commits, block)
        try commits?.wait()
        return value
    }

    /// Runs `block` with the writer when its turn comes.
    ///
    /// - Parameters:
    ///   - groups: Whether its commits may wait for the disk with those of other calls.
    ///   - commits: What the caller then has to wait for.
    ///   - block: Runs on the calling thread.
    /// - Returns: What the block returns.
    /// - Throws: What the block throws; `.closed`.
    func writeInTurn<T>(
        groups: Bool, _ commits: inout CommitsInFlight?,
        _ block: (SecureDatabaseStore) throws -> sending T
    ) throws -> sending T {
        try connections.withWriter { writer in
            try prepareWriter(writer)
            defer { commits = writer.commitsInFlight }
            return try PoolBlock.run(.writing, of: self, on: writer) {
                try writer.runOutermost(grouping: groups, block)
            }
        }
    }
}
