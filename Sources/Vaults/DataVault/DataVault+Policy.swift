internal import SecureStorage

extension DataVault {
    /// The policy; while the vault is locked, ``DataVaultPasswordPolicy/expirationDays`` and
    /// ``DataVaultPasswordPolicy/lockTimeout`` are nil.
    public var passwordPolicy: DataVaultPasswordPolicy {
        get throws {
            let policy = try record.policy
            return isLocked ? policy.asSeenWhileLocked : policy
        }
    }

    /// Sets the policy of an unlocked vault, or a stricter one of a locked vault; the next unlock
    /// checks whether the password complies.
    ///
    /// Without the password, no rule can be removed and the limit of tries and the delay after them
    /// cannot be relaxed: that requires an unlocked vault, or the password with
    /// `setPasswordPolicy(_:password:)`. Earlier wrong passwords count under a new
    /// ``DataVaultPasswordPolicy/retryLimit``; one try always remains.
    ///
    /// - Parameter policy: ``DataVaultPasswordPolicy/expirationDays`` and
    ///   ``DataVaultPasswordPolicy/lockTimeout`` are unchanged if they are nil, and while the vault
    ///   is locked. In other processes that have the vault unlocked, the idle time changes at their
    ///   next unlock.
    /// - Throws: `DataVaultError`: `.invalidArg` for numbers below 0 or above 2³¹ − 1; `.locked`
    ///   for a locked vault and a policy that is less strict in any rule; `.doesNotExist`,
    ///   `.ioReadError`, `.ioWriteError`. The policy is then unchanged.
    public func setPasswordPolicy(_ policy: DataVaultPasswordPolicy) throws {
        try policy.validate()
        try withRecord { record in
            let isOpen = openedNow?.incarnation == record.incarnation
            let policy = (isOpen ? policy : policy.asSeenWhileLocked)
                .completed(by: record.policy)
            guard isOpen || !policy.isLooser(than: record.policy) else {
                throw DataVaultError.locked
            }
            try store(policy, in: &record)
        }
    }

    /// Sets any policy with the password; the vault stays locked or unlocked.
    ///
    /// A wrong password counts as a try, even if the vault is unlocked.
    ///
    /// - Parameters:
    ///   - policy: As for ``setPasswordPolicy(_:)`` of an unlocked vault.
    ///   - password: The current password, even if it has expired or breaks a rule.
    /// - Throws: `DataVaultError`: `.invalidPassword`, `.mustWait`; `.doesNotExist` with
    ///   `isSelfDestructed` if that was one wrong password too many; and as
    ///   ``setPasswordPolicy(_:)``.
    public func setPasswordPolicy(
        _ policy: DataVaultPasswordPolicy, password: some DataVaultPassword
    ) throws {
        try policy.validate()
        let password = password.passwordBytes
        try withRecord { record in
            // The key itself is not needed.
            _ = try container.records.check(password, of: &record, place)
            try store(policy.completed(by: record.policy), in: &record)
        }
    }

    private func store(_ policy: DataVaultPasswordPolicy, in record: inout VaultRecord) throws {
        record.policy = policy
        try container.records.store(&record, place)
        if let opened = openedNow { setTimeout(of: opened, OpenedVault.timeout(policy)) }
    }
}
