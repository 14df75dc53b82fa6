internal import Foundation
internal import SecureStorage

// None of Swift's or Dispatch's threads may be blocked for as long as deriving a key takes. Once
// the password is being tried, a cancelled task is waited for: its try counts.

extension DataVaultContainer {
    /// Makes a vault; as the call that is not `async`, on a thread of its own.
    ///
    /// - Parameters:
    ///   - id: 1 to 255 bytes of UTF-8.
    ///   - password: Empty for the default password.
    ///   - policy: The vault's policy, which the password has to keep to.
    /// - Returns: The vault, unlocked.
    /// - Throws: As the other call; `CancellationError` when the task was cancelled before.
    public func create(
        id: String, password: some DataVaultPassword, policy: DataVaultPasswordPolicy = .init()
    ) async throws -> DataVault {
        try await onOwnThread { try self.create(id: id, password: password, policy: policy) }
    }
}

extension DataVault {
    /// Makes a vault; as the call that is not `async`, on a thread of its own.
    ///
    /// - Parameters:
    ///   - id: 1 to 255 bytes of UTF-8.
    ///   - password: Empty for the default password.
    ///   - policy: The vault's policy, which the password has to keep to.
    /// - Returns: The vault, unlocked.
    /// - Throws: As the other call; `CancellationError` when the task was cancelled before.
    public static func create(
        id: String, password: some DataVaultPassword, policy: DataVaultPasswordPolicy = .init()
    ) async throws -> DataVault {
        try await onOwnThread { try create(id: id, password: password, policy: policy) }
    }

    /// Unlocks the vault; as the call that is not `async`, on a thread of its own.
    ///
    /// - Parameter password: Empty for the default password.
    /// - Throws: As the other call; `CancellationError` when the task was cancelled before: no try
    ///   then.
    public func unlock(password: some DataVaultPassword) async throws {
        try await onOwnThread { try self.unlock(password: password) }
    }

    /// Sets another password; as the call that is not `async`, on a thread of its own.
    ///
    /// - Parameter newPassword: Empty for the default password.
    /// - Throws: As the other call; `CancellationError` when the task was cancelled before.
    public func changePassword(_ newPassword: some DataVaultPassword) async throws {
        try await onOwnThread { try self.changePassword(newPassword) }
    }

    /// Unlocks the vault and sets another password; as the call that is not `async`, on a thread of
    /// its own.
    ///
    /// - Parameters:
    ///   - password: The one that the vault has.
    ///   - newPassword: Empty for the default password.
    /// - Throws: As the other call; `CancellationError` when the task was cancelled before: no try
    ///   then.
    public func changePassword(
        _ password: some DataVaultPassword, newPassword: some DataVaultPassword
    ) async throws {
        try await onOwnThread { try self.changePassword(password, newPassword: newPassword) }
    }

    /// Sets the policy with the password; as the call that is not `async`, on a thread of its own.
    ///
    /// - Parameters:
    ///   - policy: Whatever it is.
    ///   - password: The one that the vault has.
    /// - Throws: As the other call; `CancellationError` when the task was cancelled before: no try
    ///   then.
    public func setPasswordPolicy(
        _ policy: DataVaultPasswordPolicy, password: some DataVaultPassword
    ) async throws {
        try await onOwnThread { try self.setPasswordPolicy(policy, password: password) }
    }
}

/// Runs what blocks where a task may wait for it.
func onOwnThread<R: Sendable>(
    _ body: @escaping @Sendable () throws -> R
) async throws -> R {
    try Task.checkCancellation()
    return try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
    }
}
