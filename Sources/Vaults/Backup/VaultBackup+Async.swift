public import Foundation
public import SecureStorage

// None of Swift's or Dispatch's threads may be blocked for as long as this takes.

extension VaultBackup {
    /// Makes a backup of a queue's or a pool's database, on a separate thread.
    ///
    /// - Parameters:
    ///   - database: Open, and not read-only.
    ///   - url: The location of the backup.
    ///   - sources: What unlocks it.
    ///   - dataKeys: The keys of sealed values in the database.
    ///   - label: What can be read without a key.
    ///   - replacing: Whether an existing file is replaced.
    ///   - progress: Called after every megabyte, on that thread; what it throws ends the work.
    /// - Returns: What the backup says about itself.
    /// - Throws: As the synchronous call; `CancellationError`, and then no backup is left.
    @discardableResult
    public static func make(
        of database: any SecureDatabaseWriter, at url: URL,
        unlockedBy sources: [any KeyEncryptionKeySource],
        dataKeys: [VaultBackupKey] = [], label: VaultBackupLabel = .init(), replacing: Bool = false,
        progress: @escaping @Sendable (VaultBackupProgress) throws -> Void = { _ in }
    ) async throws -> VaultBackupMetadata {
        try await BackgroundWork.run { check in
            try make(
                of: database, at: url, unlockedBy: sources, dataKeys: dataKeys, label: label,
                replacing: replacing,
                progress: {
                    try check(); try progress($0)
                })
        }
    }

    /// Checks a backup; as the call that is not `async`, on a thread of its own.
    ///
    /// - Parameters:
    ///   - url: The backup.
    ///   - source: The password, recovery code or key.
    ///   - configuration: As the database's, where its cipher is not the default.
    ///   - progress: Told of every megabyte, on that thread; what it throws ends the work.
    /// - Returns: What the backup says about itself, authenticated.
    /// - Throws: As the other call; `CancellationError`.
    @discardableResult
    public static func verify(
        at url: URL, unlockedBy source: any KeyEncryptionKeySource,
        configuration: SecureDatabaseConfiguration = .init(),
        progress: @escaping @Sendable (VaultBackupProgress) throws -> Void = { _ in }
    ) async throws -> VaultBackupMetadata {
        try await BackgroundWork.run { check in
            try verify(
                at: url, unlockedBy: source, configuration: configuration,
                progress: {
                    try check(); try progress($0)
                })
        }
    }

    /// Restores a backup; as the call that is not `async`, on a thread of its own.
    ///
    /// - Parameters:
    ///   - backup: The backup.
    ///   - url: The place of the database.
    ///   - source: The password, recovery code or key.
    ///   - keyStore: The device's.
    ///   - keyNames: Where the two keys are put.
    ///   - replacing: What may be there already.
    ///   - configuration: As the database's, where its cipher is not the default.
    ///   - preparing: Stores the wrapped keys in the database.
    ///   - progress: Told of every megabyte, on that thread; what it throws ends the work.
    /// - Returns: The wrapped keys.
    /// - Throws: As the other call; `CancellationError`, and then everything is as it was before.
    @discardableResult
    public static func restore(
        from backup: URL, to url: URL, unlockedBy source: any KeyEncryptionKeySource,
        keyStore: any KeyStore, keyNames: VaultKeyNames, replacing: VaultReplacement = .nothing,
        configuration: SecureDatabaseConfiguration = .init(),
        preparing: @escaping @Sendable (SecureDatabaseStore, [WrappedKeySet]) throws -> Void = {
            _, _ in
        },
        progress: @escaping @Sendable (VaultBackupProgress) throws -> Void = { _ in }
    ) async throws -> RestoredVault {
        try await BackgroundWork.run { check in
            try restore(
                from: backup, to: url, unlockedBy: source, keyStore: keyStore, keyNames: keyNames,
                replacing: replacing, configuration: configuration, preparing: preparing,
                progress: {
                    try check(); try progress($0)
                })
        }
    }
}

/// Work on a thread of its own, which a task waits for and may cancel.
private final class BackgroundWork: @unchecked Sendable {
    // @unchecked: `isCancelled` is only touched under `lock`.
    private let lock = NSLock()
    private var isCancelled = false

    /// Runs `body`, which calls the block that it gets now and then: that throws once the task is
    /// cancelled.
    static func run<T: Sendable>(
        _ body: @escaping @Sendable (_ check: @Sendable () throws -> Void) throws -> T
    ) async throws -> T {
        let work = BackgroundWork()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                Thread.detachNewThread {
                    continuation.resume(
                        with: Result {
                            try work.check()
                            return try body(work.check)
                        })
                }
            }
        } onCancel: {
            work.lock.withLock { work.isCancelled = true }
        }
    }

    @Sendable private func check() throws {
        guard lock.withLock({ !isCancelled }) else { throw CancellationError() }
    }
}
