internal import Foundation
internal import SecureStoragePlatform
internal import SecureStorage

// Deriving a key takes too long to block one of Swift's or Dispatch's threads. Once the password is
// being tried, even a cancelled task waits for the result: the try counts.

extension DataVaultContainer {
    /// Creates a vault, like the synchronous call but on a separate thread.
    ///
    /// - Parameters:
    ///   - id: 1 to 255 bytes of UTF-8.
    ///   - password: Empty for the default password.
    ///   - policy: The vault's policy, which the password must satisfy.
    /// - Returns: The vault, unlocked.
    /// - Throws: As the synchronous call; `CancellationError` if the task was cancelled beforehand.
    public func create(
        id: String, password: some DataVaultPassword, policy: DataVaultPasswordPolicy = .init()
    ) async throws -> DataVault {
        try await onOwnThread { try self.create(id: id, password: password, policy: policy) }
    }
}

extension DataVault {
    /// Creates a vault, like the synchronous call but on a separate thread.
    ///
    /// - Parameters:
    ///   - id: 1 to 255 bytes of UTF-8.
    ///   - password: Empty for the default password.
    ///   - policy: The vault's policy, which the password must satisfy.
    /// - Returns: The vault, unlocked.
    /// - Throws: As the synchronous call; `CancellationError` if the task was cancelled beforehand.
    public static func create(
        id: String, password: some DataVaultPassword, policy: DataVaultPasswordPolicy = .init()
    ) async throws -> DataVault {
        try await onOwnThread { try create(id: id, password: password, policy: policy) }
    }

    /// Unlocks the vault, like the synchronous call but on a separate thread.
    ///
    /// - Parameter password: Empty for the default password.
    /// - Throws: As the synchronous call; `CancellationError` if the task was cancelled beforehand,
    ///   which does not count as a try.
    public func unlock(password: some DataVaultPassword) async throws {
        try await onOwnThread { try self.unlock(password: password) }
    }

    /// Unlocks a vault that was put back to an earlier state on purpose, like the synchronous call
    /// but on a separate thread.
    ///
    /// - Parameter password: Empty for the default password.
    /// - Throws: As the synchronous call; `CancellationError` if the task was cancelled beforehand,
    ///   which does not count as a try.
    public func acceptRollback(password: some DataVaultPassword) async throws {
        try await onOwnThread { try self.acceptRollback(password: password) }
    }

    /// Checks the password of an unlocked vault, like the synchronous call but on a separate
    /// thread.
    ///
    /// - Parameter password: Empty for the default password.
    /// - Throws: As the synchronous call; `CancellationError` if the task was cancelled beforehand,
    ///   which does not count as a try.
    public func verify(password: some DataVaultPassword) async throws {
        try await onOwnThread { try self.verify(password: password) }
    }

    /// Sets another password, like the synchronous call but on a separate thread.
    ///
    /// - Parameter newPassword: Empty for the default password.
    /// - Throws: As the synchronous call; `CancellationError` if the task was cancelled beforehand.
    public func changePassword(_ newPassword: some DataVaultPassword) async throws {
        try await onOwnThread { try self.changePassword(newPassword) }
    }

    /// Unlocks the vault and sets another password, like the synchronous call but on a separate
    /// thread.
    ///
    /// - Parameters:
    ///   - password: The current password.
    ///   - newPassword: Empty for the default password.
    /// - Throws: As the synchronous call; `CancellationError` if the task was cancelled beforehand,
    ///   which does not count as a try.
    public func changePassword(
        _ password: some DataVaultPassword, newPassword: some DataVaultPassword
    ) async throws {
        try await onOwnThread { try self.changePassword(password, newPassword: newPassword) }
    }

    /// Sets the policy with the password, like the synchronous call but on a separate thread.
    ///
    /// - Parameters:
    ///   - policy: Any policy.
    ///   - password: The current password.
    /// - Throws: As the synchronous call; `CancellationError` if the task was cancelled beforehand,
    ///   which does not count as a try.
    public func setPasswordPolicy(
        _ policy: DataVaultPasswordPolicy, password: some DataVaultPassword
    ) async throws {
        try await onOwnThread { try self.setPasswordPolicy(policy, password: password) }
    }
}
