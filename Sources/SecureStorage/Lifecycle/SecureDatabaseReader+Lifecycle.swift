public import Foundation

// A queue reads with a separate connection, and a pool with one of its readers, so that other calls
// do not wait.

extension SecureDatabaseReader {
    /// Copies the database into a new file, while other calls continue.
    ///
    /// A key change waits for the copy, or the copy for the key change. If `key` is nil, the copy
    /// has the key that the database had when the copy began.
    ///
    /// - Parameters:
    ///   - url: The location of the copy; see
    ///     ``SecureDatabaseStore/backup(to:key:replacing:progress:)``.
    ///   - key: The copy's key; nil for that of the database.
    ///   - replacing: Whether an existing file is replaced.
    ///   - progress: Called after every megabyte, on the calling thread.
    /// - Throws: As the store's.
    public func backup(
        to url: URL, key: DatabaseKey? = nil, replacing: Bool = false,
        progress: FileProgress.Handler = { _ in }
    ) throws {
        try access.point.readBeside(progress, isSure: { true }) {
            try $0.backup(to: url, key: key, replacing: replacing, progress: $1)
        }
    }

    /// Copies the database into a new file, while other calls continue.
    ///
    /// Otherwise as the synchronous call.
    ///
    /// - Parameters:
    ///   - url: The location of the copy.
    ///   - key: The copy's key; nil for that of the database.
    ///   - replacing: Whether an existing file is replaced.
    ///   - progress: Called after every megabyte, on a separate thread.
    /// - Throws: As the store's; `CancellationError`, and then no copy is left.
    public func backup(
        to url: URL, key: DatabaseKey? = nil, replacing: Bool = false,
        progress: @escaping @Sendable (FileProgress) throws -> Void = { _ in }
    ) async throws {
        try await access.point.readBeside(progress, isSure: { true }) {
            try $0.backup(to: url, key: key, replacing: replacing, progress: $1)
        }
    }

    /// Checks the whole file, while other calls continue.
    ///
    /// - Parameter progress: Called after every megabyte, on the calling thread.
    /// - Returns: The findings; see ``SecureDatabaseStore/verifyIntegrity(progress:)``.
    /// - Throws: As the store's.
    public func verifyIntegrity(
        progress: FileProgress.Handler = { _ in }
    ) throws -> IntegrityReport {
        try access.point.readBeside(progress, isSure: \.isSound) {
            try $0.verifyIntegrity(progress: $1)
        }
    }

    /// Checks the whole file, while other calls continue.
    ///
    /// - Parameter progress: Called after every megabyte, on a separate thread.
    /// - Returns: The findings; see ``SecureDatabaseStore/verifyIntegrity(progress:)``.
    /// - Throws: As the store's; `CancellationError`.
    public func verifyIntegrity(
        progress: @escaping @Sendable (FileProgress) throws -> Void = { _ in }
    ) async throws -> IntegrityReport {
        try await access.point.readBeside(progress, isSure: \.isSound) {
            try $0.verifyIntegrity(progress: $1)
        }
    }
}
