public import SecureStorage

// Names of earlier releases, kept for one more.

/// The database of a vault, behind a queue or a pool.
@available(*, deprecated, message: "use any SecureDatabaseWriter")
public typealias SecureVaultDatabase = any SecureDatabaseWriter
