/// A store of an app's secrets in levels, each more strongly protected than the one before.
///
/// | level | is readable with |
/// |---|---|
/// | L0 | the file |
/// | L1 | the device's key, which is the key of the database |
/// | L2 | a key that the user's password unwraps, for some time after it was given |
/// | L3 | the user's password, at each request |
///
/// An app declares a protocol that refines this one, and a class that conforms to it. The building
/// blocks are ``SecureVaultLevels`` for L2 and L3, ``VaultDatabaseProvider`` for the database, and
/// ``SecureVaultFactory``, which makes the only vault of a file. `Docs/SecureVault.md` has a worked
/// example.
public protocol SecureVault {
    /// The vault's view of its database.
    associatedtype DatabaseProvider: SecureStorageDatabaseProvider

    /// Creates a vault from the providers that the factory has prepared.
    ///
    /// - Parameter providers: Encryption, the open database, and the keys.
    init(providers: SecureStorageProviders<DatabaseProvider>)
}

/// The components of a vault.
public struct SecureStorageProviders<DatabaseProvider: SecureStorageDatabaseProvider> {
    /// Encryption.
    public var crypto: any SecureStorageCryptoProvider

    /// The database.
    public var database: DatabaseProvider

    /// The keys.
    public var keystore: any SecureStorageKeyStoreProvider

    /// Combines the three components.
    ///
    /// - Parameters:
    ///   - crypto: Encryption.
    ///   - database: The database, open.
    ///   - keystore: The keys.
    public init(
        crypto: any SecureStorageCryptoProvider, database: DatabaseProvider,
        keystore: any SecureStorageKeyStoreProvider
    ) {
        self.crypto = crypto
        self.database = database
        self.keystore = keystore
    }
}

extension SecureStorageProviders: Sendable where DatabaseProvider: Sendable {}
