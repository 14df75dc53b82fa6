public import Foundation
internal import SecureStoragePlatform

/// Makes the only vault of a database, and creates its keys in the first run.
///
/// Keep one factory per database for the program's lifetime: each database file must be opened only
/// once. A failed call leaves nothing behind, and the next one tries again.
///
/// The first run tolerates a crash after any step, and several processes in parallel: the next call
/// continues where the last one stopped. A stored key is never replaced.
///
/// Thread-safe.
public final class SecureVaultFactory<Vault: SecureVault>: Sendable {
    /// Creates a vault's encryption.
    public typealias CryptoProviderInitialization =
        @Sendable () throws -> any SecureStorageCryptoProvider

    /// Creates a vault's key store provider.
    public typealias KeyStoreProviderInitialization =
        @Sendable (_ reporter: (any SecureVaultReporting)?) throws ->
        any SecureStorageKeyStoreProvider

    /// Opens a vault's database with the device's key.
    public typealias DatabaseProviderInitialization =
        @Sendable (_ key: Data, _ reporter: (any SecureVaultReporting)?) throws ->
        Vault.DatabaseProvider

    /// The closure that was passed to `init`.
    public let makeCryptoProvider: CryptoProviderInitialization

    /// The closure that was passed to `init`.
    public let makeKeyStoreProvider: KeyStoreProviderInitialization

    /// The closure that was passed to `init`.
    public let makeDatabaseProvider: DatabaseProviderInitialization

    private struct State {
        var vault: Vault?
        var isRestoring = false
    }

    private let state = Locked(State())

    /// Runs `body` if no vault has been made, and lets none be made while it runs.
    func restoring<R>(_ body: () throws -> R) throws -> R {
        try state.withLock { state in
            guard state.vault == nil, !state.isRestoring else { throw isBusy }
            state.isRestoring = true
        }
        defer { state.withLock { $0.isRestoring = false } }
        return try body()
    }

    private var isBusy: VaultBackupError { .inUse(path: "the vault of this factory") }

    /// Creates a factory, without making a vault yet.
    ///
    /// - Parameters:
    ///   - makeCryptoProvider: Creates a vault's encryption.
    ///   - makeKeyStoreProvider: Creates a vault's key store provider.
    ///   - makeDatabaseProvider: Opens the database with the key, and creates it if it does not
    ///     exist. Its error for a wrong key must be, or have as its cause,
    ///     `SecureStorageError.authenticationFailed`: the factory uses it to detect a database
    ///     whose key was lost.
    public init(
        makeCryptoProvider: @escaping CryptoProviderInitialization,
        makeKeyStoreProvider: @escaping KeyStoreProviderInitialization,
        makeDatabaseProvider: @escaping DatabaseProviderInitialization
    ) {
        self.makeCryptoProvider = makeCryptoProvider
        self.makeKeyStoreProvider = makeKeyStoreProvider
        self.makeDatabaseProvider = makeDatabaseProvider
    }

    /// Returns the vault, the same one for every call.
    ///
    /// The first run derives a key from the generated password, which takes half a second.
    ///
    /// - Parameter reporter: Receives a failure of this call.
    /// - Returns: The vault.
    /// - Throws: `SecureVaultError`: `.noL1Key` when data exists and its key is missing,
    ///   `.failedToOpenDatabase`, `.keystoreReadError`, `.keystoreUpdateError`, otherwise
    ///   `.initFailed`, also while a backup is being restored.
    public func makeVault(reporter: (any SecureVaultReporting)?) throws -> Vault {
        do {
            return try state.withLock { state in
                if let vault = state.vault { return vault }
                guard !state.isRestoring else { throw SecureVaultError.initFailed(cause: isBusy) }
                let made = Vault(providers: try makeSecureStorageProviders(reporter: reporter))
                state.vault = made
                return made
            }
        } catch {
            let error = SecureVaultError.make(of: error) { .initFailed(cause: $0) }
            reporter?.secureVaultError(error)
            throw error
        }
    }

    /// Creates new components of a vault; call ``makeVault(reporter:)`` to get a vault.
    ///
    /// - Parameter reporter: The reporter for the providers.
    /// - Returns: The providers, with the database open.
    /// - Throws: `SecureVaultError`, and any error that the closures throw.
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
