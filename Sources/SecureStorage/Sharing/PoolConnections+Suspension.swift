internal import Foundation

// How a pool leaves its file alone. The writer's turn is held until everything is closed, so that nobody writes
// in between.

extension PoolConnections {
    /// Lets nobody read any more who has not begun.
    func bar() {
        condition.withLock { isBarred = true }
    }

    /// Waits until no block reads, or `isOver` says that it is not asked for any more.
    func waitForReaders(unless isOver: () -> Bool) {
        condition.withLock {
            while readerCount > 0, phase == .open, !isOver() { condition.wait() }
        }
    }

    /// Closes all connections but keeps the pool open; with the writer's turn.
    ///
    /// - Parameter copy: What readers get meanwhile; nil to refuse them.
    func leaveFile(readingFrom copy: Reopening?) {
        rows.endAll()
        let readers: [SecureDatabaseStore] = condition.withLock {
            rest = copy.map { .copy($0) } ?? .refusal
            return takeIdle()
        }
        for reader in readers { reader.close() }
        writer.rest()
        condition.withLock {
            isBarred = false
            if copy == nil { refuseWaiting(.suspended) } else { admitWaiting() }
        }
    }

    /// Refuses readers at once, also those that wait.
    func refuseReaders() {
        condition.withLock {
            rest = .refusal
            refuseWaiting(.suspended)
        }
    }

    /// Goes back to the file.
    func returnToFile() {
        // The copy goes when they are closed, and nobody is about to open it.
        let old: (rest: Rest, readers: [SecureDatabaseStore]) = condition.withLock {
            let old = rest
            rest = .none
            isBarred = false
            condition.broadcast()
            defer { admitWaiting() }
            guard case .copy = old else { return (old, []) }
            return (old, takeIdle())
        }
        withExtendedLifetime(old.rest) {
            for reader in old.readers { reader.close() }
        }
    }

    /// Copies the file into the temporary directory, for reading without its locks.
    func copyForReading(_ configuration: SecureDatabaseConfiguration) throws -> Reopening {
        guard let source = condition.withLock({ source }) else { throw SecureStorageError.closed }
        let url = FileManager.default.temporaryDirectory.appendingPathComponent(
            "SecureStorage-\(UUID().uuidString).db")
        let copy = FileCopy(source: source, configuration: configuration, key: nil)
        try copy.write(to: NewFile(at: url, replacing: false)) { _ in }
        return Reopening(
            path: url.path, keys: source.keys, copy: ReadableCopy(path: url.path))
    }
}
