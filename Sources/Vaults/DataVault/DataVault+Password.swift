internal import Foundation
internal import SecureStorage

extension DataVault {
    /// Unlocks the vault; if it is already unlocked, does nothing and checks nothing.
    ///
    /// The try is counted before the password is checked, and stays counted if the process is
    /// killed in between.
    ///
    /// - Parameter password: Empty for the default password.
    /// - Throws: `DataVaultError`: `.invalidPassword`; `.mustWait` after too many of them;
    ///   `.doesNotExist` with `isSelfDestructed` if that was one too many; codes 50 to 57 if the
    ///   password is right but no longer acceptable: the vault stays locked until
    ///   `changePassword(_:newPassword:)`; `.rolledBack` if the policy says so; `.locked` if it was
    ///   locked in the meantime; `.ioReadError`, `.ioWriteError`, `.outOfMemory`.
    public func unlock(password: some DataVaultPassword) throws {
        try unlock(password.passwordBytes, unlessLockedSince: lockCount)
    }

    /// Unlocks a vault that was put back to an earlier state on purpose; if it is already unlocked,
    /// does nothing.
    ///
    /// - Parameter password: Empty for the default password.
    /// - Throws: As `unlock(password:)`, except `.rolledBack`.
    public func acceptRollback(password: some DataVaultPassword) throws {
        try unlock(
            password.passwordBytes, unlessLockedSince: lockCount, isRollbackAccepted: true)
    }

    func unlock(
        _ password: SecretBytes, unlessLockedSince locks: Int, isRollbackAccepted: Bool = false
    ) throws {
        guard isLocked else { return }
        // Before the lock, since a long password takes time.
        let characters = PasswordCharacters(password)
        try withRecord { record in
            // Another thread may have unlocked it first.
            guard isLocked else { return }
            let key = try container.records.check(password, of: &record, place, upgrading: true)
            // An accepted one first: if the password is then found to be too old or against the
            // policy, it can be changed.
            let opened = isRollbackAccepted ? try open(&record, key, accepting: true) : nil
            do {
                try record.policy.check(characters)
                guard !isExpired(record) else {
                    container.records.noteDate(in: &record, place)
                    throw DataVaultError.passwordExpired
                }
            } catch {
                opened?.close()
                throw error
            }
            try publish(opened ?? open(&record, key), unlessLockedSince: locks)
        }
    }

    /// Opens the vault, and notes that in its record.
    ///
    /// - Throws: `DataVaultError.rolledBack` if the policy says so, unless the vault's state and
    ///   the machine's date are accepted as they are.
    private func open(
        _ record: inout VaultRecord, _ key: DataEncryptionKey, accepting isAccepted: Bool = false
    ) throws -> OpenedVault {
        let opened = try open(record, key)
        do {
            if isAccepted { record.lastDate = 0 }
            guard opened.rollback.isEmpty || isAccepted || !record.policy.refusesRollback else {
                throw DataVaultError.rolledBack(opened.rollback)
            }
            try container.records.noteUnlock(of: &record, opened.values, place)
        } catch {
            opened.close()
            throw error
        }
        return opened
    }

    /// Checks the password of an unlocked vault, for instance before something that should not
    /// happen to whoever finds the device unlocked; the vault stays unlocked.
    ///
    /// A wrong password counts as a try, as for `unlock(password:)`. Policy and age of the password
    /// are not checked. A `lock()` on another thread during the call does not change its result.
    ///
    /// - Parameter password: Empty for the default password.
    /// - Throws: `DataVaultError`: `.locked`; `.invalidPassword`, `.mustWait`; `.doesNotExist` with
    ///   `isSelfDestructed` if that was one wrong password too many; `.ioReadError`,
    ///   `.ioWriteError`, `.outOfMemory`.
    public func verify(password: some DataVaultPassword) throws {
        let password = password.passwordBytes
        try withOpened { opened in
            try withRecord { record in
                guard record.incarnation == opened.incarnation else {
                    throw DataVaultError.doesNotExist
                }
                // The key itself is not needed.
                _ = try container.records.check(password, of: &record, place)
            }
        }
    }

    /// Sets another password; the vault is unlocked and stays so.
    ///
    /// This rewrites one record of the key store and no value. A kill leaves the old password or
    /// the new one.
    ///
    /// - Parameter newPassword: Empty for the default password.
    /// - Throws: `DataVaultError`: `.locked`; codes 50 to 56 for the new password; `.invalidArg` if
    ///   it is the old one and that has expired; `.doesNotExist`, `.ioReadError`, `.ioWriteError`,
    ///   `.outOfMemory`.
    public func changePassword(_ newPassword: some DataVaultPassword) throws {
        let password = newPassword.passwordBytes
        let characters = PasswordCharacters(password)
        try withOpened { opened in
            try withRecord { record in
                guard record.incarnation == opened.incarnation else {
                    throw DataVaultError.doesNotExist
                }
                // Another process may have given the vault another key: to wrap this one would lose
                // that.
                let path = place.databasePath(record.incarnation)
                guard record.nextKeys == nil,
                    (try? VaultValues.requireKey(opened.key, of: path)) != nil
                else {
                    drop(opened)
                    throw DataVaultError.locked
                }
                try record.policy.check(characters)
                if isExpired(record),
                    try container.records.tryPassword(password, of: &record, place)
                {
                    throw Self.isSamePassword
                }
                record.tries = PasswordTries()
                record.lastDate = container.records.today
                try container.records.setPassword(password, of: &record, place, opened.key)
                try container.records.store(&record, place)
            }
        }
    }

    /// Unlocks the vault and sets another password, even if the old one has expired or breaks the
    /// policy.
    ///
    /// A wrong password counts as a try, even if the vault is unlocked. The new password is checked
    /// first: one that breaks the policy costs no try.
    ///
    /// - Parameters:
    ///   - password: The current password.
    ///   - newPassword: Empty for the default password.
    /// - Throws: As `unlock(password:)`; codes 50 to 56 for the new password, `.invalidArg` if it
    ///   is the old one and that has expired. `.locked` means that the password was changed but the
    ///   vault was locked in the meantime; with every other error the old password stays.
    public func changePassword(
        _ password: some DataVaultPassword, newPassword: some DataVaultPassword
    ) throws {
        try changePassword(
            password.passwordBytes, to: newPassword.passwordBytes, unlessLockedSince: lockCount)
    }

    func changePassword(
        _ old: SecretBytes, to new: SecretBytes, unlessLockedSince locks: Int
    ) throws {
        let characters = PasswordCharacters(new)
        try withRecord { record in
            try record.policy.check(characters)
            let key = try container.records.check(old, of: &record, place)
            // Not a comparison of bytes: two spellings are one password.
            if isExpired(record), try container.records.tryPassword(new, of: &record, place) {
                throw Self.isSamePassword
            }
            // Before the new password is stored: a caller that gets an error keeps the old one.
            let opened = isLocked ? try open(&record, key) : nil
            record.tries = PasswordTries()
            record.lastDate = container.records.today
            do {
                try container.records.setPassword(new, of: &record, place, key)
                try container.records.store(&record, place)
            } catch {
                opened?.close()
                throw error
            }
            if let opened { try publish(opened, unlessLockedSince: locks) }
        }
    }

    private func isExpired(_ record: VaultRecord) -> Bool {
        record.isExpired(at: container.records.date())
    }

    private static let isSamePassword = DataVaultError.invalidArg(
        reason: "the new password is the one that has expired")

    /// Checks a password against the vault's policy, whether the vault is locked or not.
    ///
    /// - Parameter password: Any candidate for a new password.
    /// - Throws: `DataVaultError`: codes 50 to 56; `.doesNotExist`, `.ioReadError`.
    public func validatePassword(_ password: some DataVaultPassword) throws {
        try record.policy.check(password)
    }

    /// How many more wrong passwords the vault accepts; nil without a retry limit.
    public var triesLeft: Int? {
        get throws { try record.triesLeft }
    }

    /// Whether the password is the default one, the empty one.
    public var isDefaultPasswordUsed: Bool {
        get throws { try record.usesDefaultPassword }
    }

    // MARK: - The record

    /// Passes the record of this vault under its lock, and completes the destruction if the vault
    /// was destroyed.
    func withRecord(_ body: (inout VaultRecord) throws -> Void) throws {
        try endingDestruction {
            try place.recordLock.held {
                var record = try container.records.readyRecord(place)
                try body(&record)
            }
        }
    }

    /// The record of this vault; completes the destruction if the vault was destroyed.
    var record: VaultRecord {
        get throws { try endingDestruction { try container.records.readyRecord(place) } }
    }

    private func endingDestruction<R>(_ body: () throws -> R) throws -> R {
        do {
            return try body()
        } catch let error as DestroyedVault {
            close()
            throw container.destroyedError(place, error)
        }
    }
}
