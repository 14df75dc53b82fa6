public import Foundation

// Both read with a connection of their own, so that the calls of others do not wait for them.

extension SecureDatabaseQueue {
    /// Copies the database into a new file, while other calls of the queue go on.
    ///
    /// - Parameters:
    ///   - url: The place of the copy; see ``SecureDatabaseStore/backup(to:key:replacing:progress:)``.
    ///   - key: The copy's key; nil for that of the database.
    ///   - replacing: Whether a file that is there already is replaced.
    ///   - progress: Told of every megabyte, on the calling thread.
    /// - Throws: As the store's.
    public func backup(
        to url: URL, key: DatabaseKey? = nil, replacing: Bool = false,
        progress: FileProgress.Handler = { _ in }
    ) throws {
        try makeReadingQueue().inDatabase {
            try $0.backup(to: url, key: key, replacing: replacing, progress: progress)
        }
    }

    /// Copies the database into a new file, while other calls of the queue go on.
    ///
    /// - Parameters:
    ///   - url: The place of the copy; see ``SecureDatabaseStore/backup(to:key:replacing:progress:)``.
    ///   - key: The copy's key; nil for that of the database.
    ///   - replacing: Whether a file that is there already is replaced.
    ///   - progress: Told of every megabyte, on a thread of its own.
    /// - Throws: As the store's; `CancellationError`, and then no copy is left.
    public func backup(
        to url: URL, key: DatabaseKey? = nil, replacing: Bool = false,
        progress: @escaping @Sendable (FileProgress) throws -> Void = { _ in }
    ) async throws {
        try await makeReadingQueue().inDatabase {
            try $0.backup(to: url, key: key, replacing: replacing, progress: progress)
        }
    }

    /// Checks the whole file, while other calls of the queue go on.
    ///
    /// - Parameter progress: Told of every megabyte, on the calling thread.
    /// - Returns: What was found; see ``SecureDatabaseStore/verifyIntegrity(progress:)``.
    /// - Throws: As the store's.
    public func verifyIntegrity(
        progress: FileProgress.Handler = { _ in }
    ) throws -> IntegrityReport {
        try makeReadingQueue().inDatabase { try $0.verifyIntegrity(progress: progress) }
    }

    /// Checks the whole file, while other calls of the queue go on.
    ///
    /// - Parameter progress: Told of every megabyte, on a thread of its own.
    /// - Returns: What was found; see ``SecureDatabaseStore/verifyIntegrity(progress:)``.
    /// - Throws: As the store's; `CancellationError`.
    public func verifyIntegrity(
        progress: @escaping @Sendable (FileProgress) throws -> Void = { _ in }
    ) async throws -> IntegrityReport {
        try await makeReadingQueue().inDatabase { try $0.verifyIntegrity(progress: progress) }
    }

    /// A queue of its own on a store that reads the same file.
    private func makeReadingQueue() throws -> SecureDatabaseQueue {
        try inTurn { store in
            _ = try store.openConnection()
            guard let source = store.source else { throw SecureStorageError.closed }
            return SecureDatabaseQueue(
                databaseStore: SecureDatabaseStore(
                    reading: source, configuration: store.configuration))
        }
    }
}

extension SecureDatabasePool {
    /// Copies the database into a new file, while others read and write.
    ///
    /// - Parameters:
    ///   - url: The place of the copy; see ``SecureDatabaseStore/backup(to:key:replacing:progress:)``.
    ///   - key: The copy's key; nil for that of the database.
    ///   - replacing: Whether a file that is there already is replaced.
    ///   - progress: Told of every megabyte, on the calling thread.
    /// - Throws: As the store's.
    public func backup(
        to url: URL, key: DatabaseKey? = nil, replacing: Bool = false,
        progress: FileProgress.Handler = { _ in }
    ) throws {
        try read { try $0.backup(to: url, key: key, replacing: replacing, progress: progress) }
    }

    /// Copies the database into a new file, while others read and write.
    ///
    /// - Parameters:
    ///   - url: The place of the copy; see ``SecureDatabaseStore/backup(to:key:replacing:progress:)``.
    ///   - key: The copy's key; nil for that of the database.
    ///   - replacing: Whether a file that is there already is replaced.
    ///   - progress: Told of every megabyte, on a thread of its own.
    /// - Throws: As the store's; `CancellationError`, and then no copy is left.
    public func backup(
        to url: URL, key: DatabaseKey? = nil, replacing: Bool = false,
        progress: @escaping @Sendable (FileProgress) throws -> Void = { _ in }
    ) async throws {
        try await read {
            try $0.backup(to: url, key: key, replacing: replacing, progress: progress)
        }
    }

    /// Checks the whole file, while others read and write.
    ///
    /// - Parameter progress: Told of every megabyte, on the calling thread.
    /// - Returns: What was found; see ``SecureDatabaseStore/verifyIntegrity(progress:)``.
    /// - Throws: As the store's.
    public func verifyIntegrity(
        progress: FileProgress.Handler = { _ in }
    ) throws -> IntegrityReport {
        try read { try $0.verifyIntegrity(progress: progress) }
    }

    /// Checks the whole file, while others read and write.
    ///
    /// - Parameter progress: Told of every megabyte, on a thread of its own.
    /// - Returns: What was found; see ``SecureDatabaseStore/verifyIntegrity(progress:)``.
    /// - Throws: As the store's; `CancellationError`.
    public func verifyIntegrity(
        progress: @escaping @Sendable (FileProgress) throws -> Void = { _ in }
    ) async throws -> IntegrityReport {
        try await read { try $0.verifyIntegrity(progress: progress) }
    }
}
