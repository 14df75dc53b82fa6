public import SecureStorage

// Names of earlier releases, kept for one more.

/// The database of a vault, behind a queue or a pool.
@available(*, deprecated, message: "use any SecureDatabaseWriter")
public typealias SecureVaultDatabase = any SecureDatabaseWriter

/// The progress of making, verifying or restoring a backup.
@available(*, deprecated, renamed: "FileProgress")
public typealias VaultBackupProgress = FileProgress
