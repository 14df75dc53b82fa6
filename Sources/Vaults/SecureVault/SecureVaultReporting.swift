/// Learns of a vault's failures, for the metrics of an app.
public protocol SecureVaultReporting: AnyObject, Sendable {
    /// A vault could not be made.
    ///
    /// - Parameter error: What is thrown as well; it holds no secret.
    func secureVaultError(_ error: SecureVaultError)

    /// The app's key store provider has moved an entry.
    ///
    /// - Parameter event: Which one.
    func secureVaultKeyStoreEvent(_ event: SecureVaultKeyStoreEvent)
}

/// What a key store provider of an app tells about entries of its older versions.
///
/// The providers of this library have no older versions, and report none of them.
public enum SecureVaultKeyStoreEvent: Sendable, Hashable {
    /// The device's key was moved.
    case l1KeyMigration
    /// The wrapped key of L2 was moved.
    case l2KeyMigration
    /// The generated password was moved.
    case l2KeyPasswordMigration
}
