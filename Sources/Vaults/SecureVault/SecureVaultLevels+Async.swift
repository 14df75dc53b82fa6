public import Foundation
internal import SecureStoragePlatform
public import SecureStorage

// Deriving a key takes too long to block one of Swift's or Dispatch's threads. Once a password is
// being checked, even a cancelled task waits for the result.

extension SecureVaultLevels {
    /// Unlocks L2, like the synchronous call but on a separate thread.
    ///
    /// - Parameter password: The user's password.
    /// - Throws: As the synchronous call; `CancellationError` if the task was cancelled beforehand.
    public func authWith(password: SecretBytes) async throws {
        try await onOwnThread { try self.authWith(password: password) }
    }

    /// Unlocks L2, like the synchronous call but on a separate thread.
    ///
    /// - Parameter password: The user's password; the caller remains responsible for clearing it.
    /// - Throws: As the synchronous call; `CancellationError` if the task was cancelled beforehand.
    public func authWith(password: Data) async throws {
        try await authWith(password: SecretBytes(copying: password))
    }

    /// Changes the password, like the synchronous call but on a separate thread.
    ///
    /// - Parameters:
    ///   - oldPassword: The current password, or nil when the user has not set one yet.
    ///   - newPassword: At least one byte.
    /// - Throws: As the synchronous call; `CancellationError` if the task was cancelled beforehand.
    public func resetL2Password(
        oldPassword: SecretBytes?, newPassword: SecretBytes
    ) async throws {
        try await onOwnThread {
            try self.resetL2Password(oldPassword: oldPassword, newPassword: newPassword)
        }
    }

    /// Changes the password, like the synchronous call but on a separate thread.
    ///
    /// - Parameters:
    ///   - oldPassword: The current password, or nil when the user has not set one yet.
    ///   - newPassword: At least one byte.
    /// - Throws: As the synchronous call; `CancellationError` if the task was cancelled beforehand.
    public func resetL2Password(oldPassword: Data?, newPassword: Data) async throws {
        try await resetL2Password(
            oldPassword: oldPassword.map { SecretBytes(copying: $0) },
            newPassword: SecretBytes(copying: newPassword))
    }

    /// Passes L2 to a block, like the synchronous call but on a separate thread.
    ///
    /// - Parameter body: Receives the level, and must not keep it; runs on that thread.
    /// - Returns: The result of `body`.
    /// - Throws: As the synchronous call; `CancellationError` if the task was cancelled beforehand.
    public func withL2<R: Sendable>(
        _ body: @escaping @Sendable (SecureVaultLevel) throws -> R
    ) async throws -> R {
        try await onOwnThread { try self.withL2(body) }
    }

    /// Passes L3 to a block, like the synchronous call but on a separate thread.
    ///
    /// - Parameters:
    ///   - password: The user's password, required even when L2 is unlocked.
    ///   - body: Receives the level, and must not keep it; runs on that thread.
    /// - Returns: The result of `body`.
    /// - Throws: As the synchronous call; `CancellationError` if the task was cancelled beforehand.
    public func withL3<R: Sendable>(
        password: SecretBytes, _ body: @escaping @Sendable (SecureVaultLevel) throws -> R
    ) async throws -> R {
        try await onOwnThread { try self.withL3(password: password, body) }
    }

    /// Makes a backup, like the synchronous call but on a separate thread.
    ///
    /// - Parameters:
    ///   - url: The backup's file URL; its directory must exist.
    ///   - sources: The passwords and recovery codes that unlock the backup.
    ///   - password: The vault's password; nil before the user has set one.
    ///   - label: Metadata that is readable without a key.
    ///   - replacing: Whether an existing file is replaced.
    ///   - progress: Called on that thread for every megabyte; an error it throws ends the work.
    /// - Returns: The backup's metadata.
    /// - Throws: As the synchronous call; `CancellationError`, and then no backup is left.
    @discardableResult
    public func makeBackup(
        at url: URL, unlockedBy sources: [any KeyEncryptionKeySource], password: SecretBytes?,
        label: VaultBackupLabel = .init(), replacing: Bool = false,
        progress: @escaping @Sendable (FileProgress) throws -> Void = { _ in }
    ) async throws -> VaultBackupMetadata {
        try await onOwnThread(reporting: progress) {
            try self.makeBackup(
                at: url, unlockedBy: sources, password: password, label: label,
                replacing: replacing,
                progress: $0)
        }
    }
}

extension SecureVaultFactory where Vault: Sendable {
    /// Returns the vault, like ``makeVault(reporter:)`` but on a separate thread: the first run
    /// derives a key.
    ///
    /// - Parameter reporter: Receives a failure of this call.
    /// - Returns: The vault, the same one for every call.
    /// - Throws: As ``makeVault(reporter:)``; `CancellationError` if the task was cancelled
    ///   beforehand.
    public func vault(
        reporter: (any SecureVaultReporting & Sendable)? = nil
    ) async throws -> Vault {
        try await onOwnThread { try self.makeVault(reporter: reporter) }
    }
}

extension SecureVault where Self: Sendable {
    /// Runs a block that may derive keys or read the disk on a separate thread.
    ///
    /// ```swift
    /// let text = try await vault.perform { try $0.text(1) }
    /// ```
    ///
    /// - Parameter body: Receives the vault.
    /// - Returns: The result of `body`.
    /// - Throws: The error of `body`; `CancellationError` if the task was cancelled beforehand.
    public func perform<R: Sendable>(
        _ body: @escaping @Sendable (Self) throws -> R
    ) async throws -> R {
        try await onOwnThread { try body(self) }
    }
}
