/// Receives a vault's failures, for the metrics of an app.
public protocol SecureVaultReporting: AnyObject, Sendable {
    /// A vault could not be made.
    ///
    /// - Parameter error: The error that is also thrown; it holds no secret.
    func secureVaultError(_ error: SecureVaultError)
}
