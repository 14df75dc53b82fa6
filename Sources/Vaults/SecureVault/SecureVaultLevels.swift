public import Foundation
public import SecureStorage

/// The levels of a vault that a password protects: L2 for some time after it was given, L3 at each
/// request.
///
/// Until the user sets a password, the vault has a generated one in its key store, and L2 asks for
/// nothing; `resetL2Password(oldPassword:newPassword:)` sets the first one. From then on L2 needs
/// `authWith(password:)`, which holds for three days: counted from that call, sleep included,
/// whoever sets the machine's date. What is kept meanwhile is the key of L2, not the password, and
/// not the key of L3.
///
/// A key store that is locked makes no difference while L2 is unlocked. Otherwise the error says so
/// (``SecureVaultError/isKeyStoreUnavailable``), and nothing is replaced.
///
/// Thread-safe. Unlocking blocks for the time of a key derivation, about half a second; who has L2
/// unlocked does not wait for it.
public final class SecureVaultLevels: @unchecked Sendable {
    // @unchecked: `generation` and `generatedPasswordIsStale` are only touched under `gate`.

    /// How long a password holds by default: three days.
    public static let defaultAccessDuration: Duration = .seconds(3 * 24 * 60 * 60)

    private let key: PasswordLevelKey
    let database: any SecureDatabaseWriter
    private let access: ExpiringValue<DataEncryptionKey>
    /// One derivation at a time: each takes 128 MiB.
    private let derivations = NSLock()
    private let gate = NSLock()
    private var generation = 0
    private var generatedPasswordIsStale = false

    /// The levels of one vault: one object for each vault.
    ///
    /// - Parameters:
    ///   - providers: What the vault was made with.
    ///   - accessDuration: How long a password holds.
    ///   - clock: For tests; the default goes on while the machine sleeps.
    public init<DatabaseProvider: SecureStorageDatabaseProvider>(
        providers: SecureStorageProviders<DatabaseProvider>,
        accessDuration: Duration = SecureVaultLevels.defaultAccessDuration,
        clock: some IdleClock = SystemIdleClock()
    ) {
        key = PasswordLevelKey(crypto: providers.crypto, keystore: providers.keystore)
        database = providers.database.db
        access = ExpiringValue(expiresAfter: accessDuration / .seconds(1), clock: clock)
    }

    /// Unlocks L2.
    ///
    /// - Parameter password: The user's.
    /// - Throws: `SecureVaultError`: `.invalidPassword`, after which L2 is as it was; `.noL2Key`,
    ///   `.keystoreReadError`; `.authRequired` when ``lock()`` was called meanwhile; else
    ///   `.authError`.
    public func authWith(password: SecretBytes) throws {
        let asked = gate.withLock { generation }
        let opened = try derivations.withLock {
            let opened = try unwrap(with: password)
            _ = try grant(opened.key, unlessLockedSince: asked)
            forgetGeneratedPassword(unlessItIs: password)
            return opened
        }
        settle(opened, password)
    }

    /// Unlocks L2.
    ///
    /// - Parameter password: The user's; the caller's copy stays the caller's to clear.
    /// - Throws: As ``authWith(password:)-(SecretBytes)``.
    public func authWith(password: Data) throws {
        try authWith(password: SecretBytes(copying: password))
    }

    /// Sets another password.
    ///
    /// No data is encrypted again. L2 is locked by it, also when it fails: the next call needs the
    /// password, also one inside a ``withL2(_:)`` that is under way on another thread. A crash
    /// leaves the old password or the new one. Of two processes that change it at once one is told
    /// that its old password is wrong. The database must not be closed.
    ///
    /// - Parameters:
    ///   - oldPassword: nil when the user has set none yet.
    ///   - newPassword: At least one byte.
    /// - Throws: `SecureVaultError`: `.invalidPassword` when the old one is wrong, or missing, or
    ///   when the new one is empty; `.keystoreReadError`, `.keystoreUpdateError`; else
    ///   `.authError`. The old password holds then.
    public func resetL2Password(oldPassword: SecretBytes?, newPassword: SecretBytes) throws {
        lock()
        guard newPassword.count > 0, let old = try oldPassword ?? generatedPassword() else {
            throw SecureVaultError.invalidPassword
        }
        try mapped { try rewrap(from: old, to: newPassword) }
        lock()
        // It is of no use any more. Where it cannot be removed now, it is at the next unlock.
        try? key.keystore.clearGeneratedPassword()
        gate.withLock { generatedPasswordIsStale = true }
    }

    /// Sets another password.
    ///
    /// - Parameters:
    ///   - oldPassword: nil when the user has set none yet.
    ///   - newPassword: At least one byte.
    /// - Throws: As ``resetL2Password(oldPassword:newPassword:)-(SecretBytes?,_)``.
    public func resetL2Password(oldPassword: Data?, newPassword: Data) throws {
        try resetL2Password(
            oldPassword: oldPassword.map { SecretBytes(copying: $0) },
            newPassword: SecretBytes(copying: newPassword))
    }

    /// Locks L2 now; its key is cleared.
    ///
    /// A password that is being checked on another thread does not unlock it afterwards. Before the
    /// user has set a password the next call unlocks it again.
    public func lock() {
        gate.withLock {
            generation += 1
            access.value = nil
        }
    }

    /// Whether L2 is unlocked.
    public var isL2Unlocked: Bool { access.value != nil }

    /// Whether L2 has to be unlocked with the user's password now.
    ///
    /// - Returns: False while it is unlocked, and before the user has set a password.
    /// - Throws: `SecureVaultError.keystoreReadError`.
    public func requiresPassword() throws -> Bool {
        try !isL2Unlocked && generatedPassword() == nil
    }

    /// Lends L2.
    ///
    /// - Parameter body: Gets the level, and must not keep it.
    /// - Returns: What `body` returns.
    /// - Throws: `SecureVaultError`: `.authRequired`, `.noL2Key`, `.keystoreReadError`; what `body`
    ///   throws.
    public func withL2<R>(_ body: (SecureVaultLevel) throws -> R) throws -> R {
        try body(SecureVaultLevel(crypto: key.crypto, key: l2Key()))
    }

    /// Lends L3, for this call only.
    ///
    /// - Parameters:
    ///   - password: The user's, also when L2 is unlocked.
    ///   - body: Gets the level, and must not keep it: its key is cleared at the end.
    /// - Returns: What `body` returns.
    /// - Throws: `SecureVaultError`: `.invalidPassword`, `.noL2Key`, `.keystoreReadError`, else
    ///   `.authError`; what `body` throws.
    public func withL3<R>(
        password: SecretBytes, _ body: (SecureVaultLevel) throws -> R
    ) throws -> R {
        let opened = try derivations.withLock { try unwrap(with: password) }
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
                // A crash came between the change of the password and the removal of this one.
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
                // Somebody has changed the password, and the old one is wrong then, or how it is
                // derived.
                attempts += 1
            }
        }
    }

    /// What fails here is done at the next unlock: unlocked it is anyway.
    private func settle(_ opened: PasswordLevelKey.Opened, _ password: SecretBytes) {
        try? key.settle(opened, password, exclusively)
    }

    /// The key store has no lock over several calls; the vault's database has one.
    ///
    /// Never under `derivations`: who is in a transaction may wait for that one.
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
        guard !gate.withLock({ generatedPasswordIsStale }),
            var password = try key.keystore.generatedPassword()
        else { return nil }
        return SecretBytes(erasing: &password)
    }

    /// Only one password opens: with another one than this, what is left of it is of no use.
    private func forgetGeneratedPassword(unlessItIs password: SecretBytes) {
        guard var data = try? key.keystore.generatedPassword() else { return }
        guard SecretBytes(erasing: &data) != password else { return }
        try? key.keystore.clearGeneratedPassword()
        gate.withLock { generatedPasswordIsStale = true }
    }

    /// What a backup has to hold of the levels: the key of both, and the salt of hashes.
    func backupKeys(password: SecretBytes?) throws -> [VaultBackupKey] {
        try derivations.withLock {
            guard let password = try password ?? generatedPassword() else {
                throw SecureVaultError.authRequired
            }
            let root = try unwrap(with: password).key
            return try mapped { try BackedUpLevels(root: root, crypto: key.crypto).keys }
        }
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
