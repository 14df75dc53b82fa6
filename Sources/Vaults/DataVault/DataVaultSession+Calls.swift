internal import SecureStoragePlatform

// The user's actions on the screens of each state. A call that is overtaken by a lock, from
// `lock()` or from the background, has done its work, and the vault is locked.

extension DataVaultSession {
    /// Creates the vault: from `.noVault` and `.destroyed` to `.unlocked`.
    ///
    /// - Parameters:
    ///   - password: Empty for the default password.
    ///   - policy: The vault's policy, which the password must satisfy.
    /// - Returns: The state after the call.
    /// - Throws: `DataVaultError`: codes 50 to 56, which leave the state unchanged;
    ///   `.alreadyExists`, and as `DataVault.create(id:password:policy:)`; `CancellationError` if
    ///   the task was cancelled beforehand.
    @discardableResult
    public func create(
        password: some DataVaultPassword, policy: DataVaultPasswordPolicy = .init()
    ) async throws -> State {
        try await onOwnThread(endsLocked: true) {
            try self.container.create(
                $0, password.passwordBytes, policy, unlessLockedSince: $1)
        } outcome: { _ in
            nil
        }
    }

    /// Unlocks the vault: to `.unlocked`, or to the state that keeps it locked.
    ///
    /// - Parameter password: Empty for the default password.
    /// - Returns: The state after the call.
    /// - Throws: `DataVaultError`, as `DataVault.unlock(password:)`. A wrong password leaves the
    ///   state with one try less, or `.destroyed`; a right one that is no longer acceptable
    ///   `.passwordViolates` or `.passwordExpired`; a failure to read or write `.failed`, until the
    ///   next call or a lock. `CancellationError` if the task was cancelled beforehand, which does
    ///   not count as a try.
    @discardableResult
    public func unlock(password: some DataVaultPassword) async throws -> State {
        try await onOwnThread(endsLocked: true) {
            try $0.unlock(password.passwordBytes, unlessLockedSince: $1)
        } outcome: {
            Self.unlockOutcome($0)
        }
    }

    /// Unlocks a vault that was put back to an earlier state on purpose: from `.failed` with
    /// `.rolledBack` to `.unlocked`.
    ///
    /// - Parameter password: Empty for the default password.
    /// - Returns: The state after the call.
    /// - Throws: As ``unlock(password:)``.
    @discardableResult
    public func acceptRollback(password: some DataVaultPassword) async throws -> State {
        try await onOwnThread(endsLocked: true) {
            try $0.unlock(
                password.passwordBytes, unlessLockedSince: $1, isRollbackAccepted: true)
        } outcome: {
            Self.unlockOutcome($0)
        }
    }

    /// Unlocks the vault and sets another password: from `.passwordViolates` and
    /// `.passwordExpired`, or from any other state with a vault, to `.unlocked`.
    ///
    /// - Parameters:
    ///   - password: The current password.
    ///   - newPassword: Empty for the default password.
    /// - Returns: The state after the call.
    /// - Throws: `DataVaultError`, as `DataVault.changePassword(_:newPassword:)`. A new password
    ///   that breaks the policy, or a wrong old one, leaves the state unchanged except for the
    ///   tries; one wrong password too many leaves `.destroyed`. `CancellationError` if the task
    ///   was cancelled beforehand, which does not count as a try.
    @discardableResult
    public func changePassword(
        _ password: some DataVaultPassword, newPassword: some DataVaultPassword
    ) async throws -> State {
        try await onOwnThread(endsLocked: true) {
            try $0.changePassword(
                password.passwordBytes, to: newPassword.passwordBytes, unlessLockedSince: $1)
        } outcome: {
            Self.outcome($0)
        }
    }

    /// Sets another password; the vault is unlocked and stays so.
    ///
    /// - Parameter newPassword: Empty for the default password.
    /// - Returns: The state after the call.
    /// - Throws: `DataVaultError`, as `DataVault.changePassword(_:)`; `CancellationError` if the
    ///   task was cancelled beforehand.
    @discardableResult
    public func changePassword(_ newPassword: some DataVaultPassword) async throws -> State {
        try await onOwnThread { vault, _ in
            try vault.changePassword(newPassword)
        } outcome: {
            Self.outcome($0)
        }
    }

    /// Sets the policy with the password; the vault stays locked or unlocked.
    ///
    /// - Parameters:
    ///   - policy: Any policy; a stricter one needs no password, with ``withVault(_:)``.
    ///   - password: The current password.
    /// - Returns: The state after the call.
    /// - Throws: `DataVaultError`, as `DataVault.setPasswordPolicy(_:password:)`;
    ///   `CancellationError` if the task was cancelled beforehand, which does not count as a try.
    @discardableResult
    public func setPasswordPolicy(
        _ policy: DataVaultPasswordPolicy, password: some DataVaultPassword
    ) async throws -> State {
        try await onOwnThread { vault, _ in
            try vault.setPasswordPolicy(policy, password: password)
        } outcome: {
            Self.outcome($0)
        }
    }

    /// Deletes the vault, or acknowledges its self-destruction: to `.noVault`.
    ///
    /// - Returns: The state after the call.
    /// - Throws: `DataVaultError`, as ``DataVaultContainer/delete(id:)``; `CancellationError` if
    ///   the task was cancelled beforehand.
    @discardableResult
    public func delete() async throws -> State {
        try await onOwnThread { _, _ in
            try self.container.delete(id: self.id)
        } outcome: { error in
            error == nil ? .noVault : nil
        }
    }

    private static func unlockOutcome(_ error: DataVaultError?) -> State? {
        if let rule = error?.brokenRule { return .passwordViolates(rule, triesLeft: nil) }
        if case .passwordExpired = error { return .passwordExpired(triesLeft: nil) }
        return outcome(error)
    }

    /// Returns the state that follows from an error but cannot be observed on the vault.
    private static func outcome(_ error: DataVaultError?) -> State? {
        switch error {
        case .doesNotExist(isSelfDestructed: true, _)?: .destroyed
        case .ioReadError?, .ioWriteError?, .unknown?, .rolledBack?: error.map { .failed($0) }
        default: nil
        }
    }

    private func onOwnThread(
        endsLocked: Bool = false,
        _ work: @escaping @Sendable (DataVault, _ locks: Int) throws -> Void,
        outcome: @escaping @Sendable (DataVaultError?) -> State?
    ) async throws -> State {
        try await SecureStoragePlatform.onOwnThread {
            try self.run(endsLocked: endsLocked, work, outcome: outcome)
        }
    }
}
