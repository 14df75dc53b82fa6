public import Foundation

// Both read with a connection of their own, so that the calls of others do not wait for them.

extension SecureDatabaseQueue {
    /// Copies the database into a new file, while other calls of the queue go on.
    ///
    /// A change of the key beside it is waited for, and the copy begun again where that is needed;
    /// the third time the calls wait until it is done. Without a key of its own the copy has the
    /// key of its moment.
    ///
    /// - Parameters:
    ///   - url: The place of the copy; see
    ///     ``SecureDatabaseStore/backup(to:key:replacing:progress:)``.
    ///   - key: The copy's key; nil for that of the database.
    ///   - replacing: Whether a file that is there already is replaced.
    ///   - progress: Called after every megabyte, on the calling thread.
    /// - Throws: As the store's.
    public func backup(
        to url: URL, key: DatabaseKey? = nil, replacing: Bool = false,
        progress: FileProgress.Handler = { _ in }
    ) throws {
        try readBeside(progress, isSure: { true }) {
            try $0.backup(to: url, key: key, replacing: replacing, progress: $1)
        }
    }

    /// Copies the database into a new file, while other calls of the queue go on.
    ///
    /// Otherwise as the synchronous call.
    ///
    /// - Parameters:
    ///   - url: The place of the copy; see
    ///     ``SecureDatabaseStore/backup(to:key:replacing:progress:)``.
    ///   - key: The copy's key; nil for that of the database.
    ///   - replacing: Whether a file that is there already is replaced.
    ///   - progress: Called after every megabyte, on a thread of its own.
    /// - Throws: As the store's; `CancellationError`, and then no copy is left.
    public func backup(
        to url: URL, key: DatabaseKey? = nil, replacing: Bool = false,
        progress: @escaping @Sendable (FileProgress) throws -> Void = { _ in }
    ) async throws {
        try await readBeside(progress, isSure: { true }) {
            try $0.backup(to: url, key: key, replacing: replacing, progress: $1)
        }
    }

    /// Checks the whole file, while other calls of the queue go on.
    ///
    /// A change of the key beside it is waited for, and the check begun again where that is needed;
    /// the third time the calls wait until it is done.
    ///
    /// - Parameter progress: Called after every megabyte, on the calling thread.
    /// - Returns: What was found; see ``SecureDatabaseStore/verifyIntegrity(progress:)``.
    /// - Throws: As the store's.
    public func verifyIntegrity(
        progress: FileProgress.Handler = { _ in }
    ) throws -> IntegrityReport {
        try readBeside(progress, isSure: \.isSound) { try $0.verifyIntegrity(progress: $1) }
    }

    /// Checks the whole file, while other calls of the queue go on.
    ///
    /// Otherwise as the synchronous call.
    ///
    /// - Parameter progress: Called after every megabyte, on a thread of its own.
    /// - Returns: What was found; see ``SecureDatabaseStore/verifyIntegrity(progress:)``.
    /// - Throws: As the store's; `CancellationError`.
    public func verifyIntegrity(
        progress: @escaping @Sendable (FileProgress) throws -> Void = { _ in }
    ) async throws -> IntegrityReport {
        try await readBeside(progress, isSure: \.isSound) {
            try $0.verifyIntegrity(progress: $1)
        }
    }
}

extension SecureDatabasePool {
    /// Copies the database into a new file, while others read and write.
    ///
    /// - Parameters:
    ///   - url: The place of the copy; see
    ///     ``SecureDatabaseStore/backup(to:key:replacing:progress:)``.
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
    ///   - url: The place of the copy; see
    ///     ``SecureDatabaseStore/backup(to:key:replacing:progress:)``.
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
