public import Foundation

/// Makes the one vault of a database, and at the first run its keys.
///
/// Keep one factory for a database, as long as the program runs: each database file is to be opened
/// once. A call that fails leaves nothing behind, and the next one tries again.
///
/// Every step of the first run can be the last one before a crash, and several processes may be at
/// it at once: the next call goes on where the last one was. A key that is stored is never
/// replaced.
///
/// Thread-safe.
public final class SecureVaultFactory<Vault: SecureVault>: @unchecked Sendable {
    // @unchecked: `vault` and `isRestoring` are only touched under `lock`.

    /// Makes a vault's encryption.
    public typealias CryptoProviderInitialization =
        @Sendable () throws -> any SecureStorageCryptoProvider

    /// Makes a vault's key store provider.
    public typealias KeyStoreProviderInitialization =
        @Sendable (_ reporter: (any SecureVaultReporting)?) throws ->
        any SecureStorageKeyStoreProvider

    /// Opens a vault's database with the device's key.
    public typealias DatabaseProviderInitialization =
        @Sendable (_ key: Data, _ reporter: (any SecureVaultReporting)?) throws ->
        Vault.DatabaseProvider

    /// What `init` was given.
    public let makeCryptoProvider: CryptoProviderInitialization

    /// What `init` was given.
    public let makeKeyStoreProvider: KeyStoreProviderInitialization

    /// What `init` was given.
    public let makeDatabaseProvider: DatabaseProviderInitialization

    private let lock = NSLock()
    private var vault: Vault?

    private var isRestoring = false

    /// Runs `body` while no vault is made, and only if none was.
    func restoring<R>(_ body: () throws -> R) throws -> R {
        try lock.withLock {
            guard vault == nil, !isRestoring else { throw isBusy }
            isRestoring = true
        }
        defer { lock.withLock { isRestoring = false } }
        return try body()
    }

    private var isBusy: VaultBackupError { .inUse(path: "the vault of this factory") }

    /// A factory, which makes nothing yet.
    ///
    /// - Parameters:
    ///   - makeCryptoProvider: Makes a vault's encryption.
    ///   - makeKeyStoreProvider: Makes a vault's key store provider.
    ///   - makeDatabaseProvider: Opens the database with the key, and makes it when it does not
    ///     exist. What it throws when the key is wrong has to be, or to have as its cause,
    ///     `SecureStorageError.authenticationFailed`: that is how the factory learns that a
    ///     database needs a key that was lost.
    public init(
        makeCryptoProvider: @escaping CryptoProviderInitialization,
        makeKeyStoreProvider: @escaping KeyStoreProviderInitialization,
        makeDatabaseProvider: @escaping DatabaseProviderInitialization
    ) {
        self.makeCryptoProvider = makeCryptoProvider
        self.makeKeyStoreProvider = makeKeyStoreProvider
        self.makeDatabaseProvider = makeDatabaseProvider
    }

    /// The vault: the same one each time.
    ///
    /// The first run derives a key from the generated password, which takes half a second.
    ///
    /// - Parameter reporter: Learns of a failure of this call.
    /// - Returns: The vault.
    /// - Throws: `SecureVaultError`: `.noL1Key` when there is data and its key is missing,
    ///   `.failedToOpenDatabase`, `.keystoreReadError`, `.keystoreUpdateError`, else `.initFailed`,
    ///   also while a backup is restored.
    public func makeVault(reporter: (any SecureVaultReporting)?) throws -> Vault {
        do {
            return try lock.withLock {
                if let vault { return vault }
                guard !isRestoring else { throw SecureVaultError.initFailed(cause: isBusy) }
                let made = Vault(providers: try makeSecureStorageProviders(reporter: reporter))
                vault = made
                return made
            }
        } catch {
            let error = SecureVaultError.make(of: error) { .initFailed(cause: $0) }
            reporter?.secureVaultError(error)
            throw error
        }
    }

    /// What a vault stands on, made anew: ``makeVault(reporter:)`` is the call for a vault.
    ///
    /// - Parameter reporter: For the providers.
    /// - Returns: The providers, with the database open.
    /// - Throws: `SecureVaultError`, and what the closures throw.
    public func makeSecureStorageProviders(
        reporter: (any SecureVaultReporting)?
    ) throws -> SecureStorageProviders<Vault.DatabaseProvider> {
        let (crypto, keystore) = try makeEncryptionProviders(reporter: reporter)
        let deviceKey = DeviceKey(crypto: crypto, keystore: keystore)
        let passwordKey = PasswordLevelKey(crypto: crypto, keystore: keystore)
        try passwordKey.requireNoLostVault()
        let database = try deviceKey.open {
            try makeDatabaseProvider($0, reporter)
        } beforeFirstUse: {
            try passwordKey.prepare()
        }
        try RestoredEntries.move(from: database.db, to: keystore)
        return SecureStorageProviders(crypto: crypto, database: database, keystore: keystore)
    }

    func makeEncryptionProviders(
        reporter: (any SecureVaultReporting)?
    ) throws -> (any SecureStorageCryptoProvider, any SecureStorageKeyStoreProvider) {
        (try makeCryptoProvider(), try makeKeyStoreProvider(reporter))
    }
}
