internal import Foundation
public import SecureStorage

/// The levels of a vault that a password protects: L2 for some time after it was given, L3 for each
/// request.
///
/// Until the user sets a password, the vault has a generated one in its key store, and L2 requires
/// no password; `resetL2Password(oldPassword:newPassword:)` sets the first one. From then on L2
/// requires `authWith(password:)`, which is valid for three days from that call, sleep included and
/// independent of the system date. Only the key of L2 is kept during that time, not the password
/// and not the key of L3.
///
/// A locked key store makes no difference while L2 is unlocked. Otherwise
/// ``SecureVaultError/isKeyStoreUnavailable`` is true for the error, and nothing is replaced.
///
/// Thread-safe. Unlocking blocks for the time of a key derivation, about half a second; callers for
/// which L2 is already unlocked do not wait for it.
public final class SecureVaultLevels: @unchecked Sendable {
    // @unchecked: `generation` and `generatedPasswordIsStale` are accessed only under `gate`.

    /// The default time that a password is valid: three days.
    public static let defaultAccessDuration: Duration = .seconds(3 * 24 * 60 * 60)

    private let key: PasswordLevelKey
    private let tries: LevelTries
    let database: any SecureDatabaseWriter
    private let access: ExpiringValue<DataEncryptionKey>
    /// Serialises key derivations, each of which uses 128 MiB.
    private let derivations = NSLock()
    private let gate = NSLock()
    private var generation = 0
    private var generatedPasswordIsStale = false

    /// Creates the levels of a vault; create one object per vault.
    ///
    /// - Parameters:
    ///   - providers: The components that the vault was made with.
    ///   - accessDuration: How long a password is valid.
    ///   - retryDelay: How many seconds to wait after the third wrong password in a row, before
    ///     the next one is tried: up to a day, 0 for never. Each further one doubles it, up to a
    ///     day. A call in that time throws `.mustWait(seconds:)` and does not count. The time
    ///     passes while the machine runs or sleeps, whatever its date; it begins again when the
    ///     machine is started. The tries are counted in the key store, for all processes, and the
    ///     database must be writable: a call that takes the password fails inside a `read` block.
    ///   - clock: For tests; the default continues while the machine sleeps.
    public convenience init<DatabaseProvider: SecureStorageDatabaseProvider>(
        providers: SecureStorageProviders<DatabaseProvider>,
        accessDuration: Duration = SecureVaultLevels.defaultAccessDuration,
        retryDelay: Int = 0,
        clock: some IdleClock = SystemIdleClock()
    ) {
        self.init(
            providers,
            LevelTries(
                keystore: providers.keystore,
                delay: RetryDelay(seconds: min(retryDelay, RetryDelay.longest))),
            accessDuration, clock)
    }

    init<DatabaseProvider: SecureStorageDatabaseProvider>(
        _ providers: SecureStorageProviders<DatabaseProvider>, _ tries: LevelTries,
        _ accessDuration: Duration, _ clock: some IdleClock
    ) {
        key = PasswordLevelKey(crypto: providers.crypto, keystore: providers.keystore)
        self.tries = tries
        database = providers.database.db
        access = ExpiringValue(expiresAfter: accessDuration / .seconds(1), clock: clock)
    }

    /// Unlocks L2.
    ///
    /// - Parameter password: The user's password.
    /// - Throws: `SecureVaultError`: `.invalidPassword`, which leaves L2 unchanged;
    ///   `.mustWait(seconds:)`; `.noL2Key`, `.keystoreReadError`; `.authRequired` when ``lock()``
    ///   was called in the meantime; otherwise `.authError`.
    public func authWith(password: SecretBytes) throws {
        let asked = gate.withLock { generation }
        let opened = try counted {
            try derivations.withLock {
                let opened = try unwrap(with: password)
                _ = try grant(opened.key, unlessLockedSince: asked)
                forgetGeneratedPassword(unlessItIs: password)
                return opened
            }
        }
        settle(opened, password)
    }

    /// Changes the password.
    ///
    /// No data is re-encrypted. The call locks L2, even when it fails: the next use of L2 requires
    /// the password, also inside a `withL2(_:)` that is running on another thread. A crash leaves
    /// the old password or the new one. If two processes change the password concurrently, one of
    /// them gets an error that its old password is wrong. The database must be open.
    ///
    /// - Parameters:
    ///   - oldPassword: The current password, or nil when the user has not set one yet.
    ///   - newPassword: At least one byte.
    /// - Throws: `SecureVaultError`: `.invalidPassword` when the old password is wrong or missing,
    ///   or the new one is empty; `.mustWait(seconds:)`; `.keystoreReadError`,
    ///   `.keystoreUpdateError`; otherwise `.authError`. The old password then remains valid.
    public func resetL2Password(oldPassword: SecretBytes?, newPassword: SecretBytes) throws {
        lock()
        guard newPassword.count > 0 else { throw SecureVaultError.invalidPassword }
        if let oldPassword {
            try counted { try rewrap(from: oldPassword, to: newPassword) }
        } else {
            guard let generated = try generatedPassword() else {
                throw SecureVaultError.invalidPassword
            }
            try mapped { try rewrap(from: generated, to: newPassword) }
        }
        lock()
        // It is no longer of use. If it cannot be removed now, the next unlock removes it.
        try? key.keystore.clearGeneratedPassword()
        gate.withLock { generatedPasswordIsStale = true }
    }

    /// Locks L2 immediately and clears its key.
    ///
    /// A password check that is running on another thread does not unlock it afterwards. Before the
    /// user has set a password, the next use unlocks it again.
    public func lock() {
        gate.withLock {
            generation += 1
            access.value = nil
        }
    }

    /// Whether L2 is unlocked.
    public var isL2Unlocked: Bool { access.value != nil }

    /// Returns whether L2 has to be unlocked with the user's password now.
    ///
    /// - Returns: False while L2 is unlocked, and before the user has set a password.
    /// - Throws: `SecureVaultError.keystoreReadError`.
    public func requiresPassword() throws -> Bool {
        try !isL2Unlocked && generatedPassword() == nil
    }

    /// Passes L2 to a block.
    ///
    /// - Parameter body: Receives the level, and must not keep it.
    /// - Returns: The result of `body`.
    /// - Throws: `SecureVaultError`: `.authRequired`, `.noL2Key`, `.keystoreReadError`; any error
    ///   that `body` throws.
    public func withL2<R>(_ body: (SecureVaultLevel) throws -> R) throws -> R {
        try body(SecureVaultLevel(crypto: key.crypto, key: l2Key()))
    }

    /// Passes L3 to a block, for this call only.
    ///
    /// - Parameters:
    ///   - password: The user's password, required even when L2 is unlocked.
    ///   - body: Receives the level, and must not keep it: its key is cleared at the end.
    /// - Returns: The result of `body`.
    /// - Throws: `SecureVaultError`: `.invalidPassword`, `.mustWait(seconds:)`, `.noL2Key`,
    ///   `.keystoreReadError`, otherwise `.authError`; any error that `body` throws.
    public func withL3<R>(
        password: SecretBytes, _ body: (SecureVaultLevel) throws -> R
    ) throws -> R {
        let opened = try counted { try derivations.withLock { try unwrap(with: password) } }
        settle(opened, password)
        let level = try mapped { try Self.key("L3", of: opened.key) }
        defer { level.clear() }
        return try body(SecureVaultLevel(crypto: key.crypto, key: level))
    }

    private func l2Key() throws -> DataEncryptionKey {
        if let held = access.value { return held }
        let (level, opened, password) = try derivations.withLock {
            () -> (DataEncryptionKey, PasswordLevelKey.Opened?, SecretBytes?) in
            if let held = access.value { return (held, nil, nil) }
            guard let password = try generatedPassword() else {
                throw SecureVaultError.authRequired
            }
            do {
                let opened = try unwrap(with: password)
                return (try grant(opened.key), opened, password)
            } catch SecureVaultError.invalidPassword {
                // A crash occurred between the change of the password and the removal of this one.
                gate.withLock { generatedPasswordIsStale = true }
                throw SecureVaultError.authRequired
            }
        }
        if let opened, let password { settle(opened, password) }
        return level
    }

    private func unwrap(with password: SecretBytes) throws -> PasswordLevelKey.Opened {
        try mapped { try key.unwrap(with: password) }
    }

    /// Runs the check of a password that somebody typed.
    private func counted<R>(_ check: () throws -> R) throws -> R {
        try mapped { try tries.count(exclusively, check) }
    }

    private func rewrap(from old: SecretBytes, to new: SecretBytes) throws {
        var attempts = 0
        while true {
            let (record, wrapped) = try derivations.withLock {
                let opened = try key.unwrap(with: old)
                return (opened.record, try key.wrapped(opened.key, with: new))
            }
            do {
                return try key.replace(record, with: wrapped, exclusively)
            } catch is PasswordLevelKey.Conflict where attempts < 3 {
                // Another caller has changed the password, so that the old one is now wrong, or its
                // derivation.
                attempts += 1
            }
        }
    }

    /// Updates the stored key after an unlock; if that fails, L2 stays unlocked and the next unlock
    /// tries again.
    private func settle(_ opened: PasswordLevelKey.Opened, _ password: SecretBytes) {
        try? key.settle(opened, password, exclusively)
    }

    /// Runs `body` under the database's lock, because the key store has no lock across several
    /// calls.
    ///
    /// Never call it while holding `derivations`: a thread in a transaction may wait for that lock.
    private func exclusively(_ body: () throws -> Void) throws {
        try database.write { _ in try body() }
    }

    private func grant(
        _ root: SecretBytes, unlessLockedSince asked: Int? = nil
    ) throws -> DataEncryptionKey {
        let level = try mapped { try Self.key("L2", of: root) }
        return try gate.withLock {
            guard generation == asked ?? generation else {
                level.clear()
                throw SecureVaultError.authRequired
            }
            access.value = level
            return level
        }
    }

    private func generatedPassword() throws -> SecretBytes? {
        // No password would help while the key store is locked: it is read all the same.
        let password = try mapped { try key.generatedPassword() }
        return gate.withLock { generatedPasswordIsStale } ? nil : password
    }

    /// Removes a generated password that is not the one that has just opened the vault: it is
    /// obsolete.
    private func forgetGeneratedPassword(unlessItIs password: SecretBytes) {
        guard var data = try? key.keystore.generatedPassword() else { return }
        guard SecretBytes(erasing: &data) != password else { return }
        try? key.keystore.clearGeneratedPassword()
        gate.withLock { generatedPasswordIsStale = true }
    }

    /// Returns the secrets of the levels for a backup: the key of both, and the salt of hashes.
    func backupKeys(password: SecretBytes?) throws -> [VaultBackupKey] {
        let root: SecretBytes
        if let password {
            root = try counted { try derivations.withLock { try unwrap(with: password).key } }
        } else {
            root = try derivations.withLock {
                guard let password = try generatedPassword() else {
                    throw SecureVaultError.authRequired
                }
                return try unwrap(with: password).key
            }
        }
        return try mapped { try BackedUpLevels(root: root, crypto: key.crypto).keys }
    }

    private static func key(_ level: String, of root: SecretBytes) throws -> DataEncryptionKey {
        let root = try DataEncryptionKey(name: BackedUpLevels.rootName, bytes: root)
        defer { root.clear() }
        return try DataEncryptionKey(name: level, bytes: root.derivedKey(for: level))
    }

    private func mapped<T>(_ body: () throws -> T) throws -> T {
        do {
            return try body()
        } catch {
            throw SecureVaultError.make(of: error) { .authError(cause: $0) }
        }
    }
}

extension SecureVaultLevels: CustomStringConvertible, CustomReflectable {
    /// `<redacted>`, always.
    public var description: String { "<redacted>" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
