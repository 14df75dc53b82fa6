/// Receives a vault's failures, for the metrics of an app.
public protocol SecureVaultReporting: AnyObject, Sendable {
    /// A vault could not be made.
    ///
    /// - Parameter error: The error that is also thrown; it holds no secret.
    func secureVaultError(_ error: SecureVaultError)

    /// The app's key store provider has moved an entry.
    ///
    /// - Parameter event: The entry that was moved.
    func secureVaultKeyStoreEvent(_ event: SecureVaultKeyStoreEvent)
}

/// An event that an app's key store provider reports about entries of its older versions.
///
/// The providers of this library have no older versions and report no events.
public enum SecureVaultKeyStoreEvent: Sendable, Hashable {
    /// The device's key was moved.
    case l1KeyMigration
    /// The wrapped key of L2 was moved.
    case l2KeyMigration
    /// The generated password was moved.
    case l2KeyPasswordMigration
}
