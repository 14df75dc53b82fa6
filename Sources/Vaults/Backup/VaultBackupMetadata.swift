public import Foundation

/// An app's description of a backup, for people to distinguish backups by.
public struct VaultBackupLabel: Sendable, Equatable {
    /// The device that the backup is made on: at most 255 bytes of UTF-8.
    public var deviceName: String

    /// Any other text: at most 4096 bytes of UTF-8.
    ///
    /// It can be read without a key.
    public var note: String

    /// Creates a label.
    ///
    /// - Parameters:
    ///   - deviceName: At most 255 bytes of UTF-8.
    ///   - note: At most 4096 bytes of UTF-8; nothing secret.
    public init(deviceName: String = "", note: String = "") {
        self.deviceName = deviceName
        self.note = note
    }
}

/// The metadata of a backup.
public struct VaultBackupMetadata: Sendable, Equatable {
    /// The vault that was backed up, the same in all its backups; see ``VaultIdentity``.
    public let vaultID: UUID

    /// A number that grows with each backup of the vault.
    public let generation: UInt64

    /// The time of the backup, by the device's clock, in whole milliseconds.
    public let createdAt: Date

    /// The size of the database in it, in bytes.
    public let databaseSize: UInt64

    /// The app's description of the backup.
    public let label: VaultBackupLabel

    /// The names of the data keys in the backup, in the order in which they were given.
    public let dataKeyNames: [String]
}

/// The metadata a file claims: read without a key, so anyone may have written it.
///
/// For a list of files to choose from. `VaultBackup.verify` and restoring return the same values
/// once they are known to be authentic.
public struct UnauthenticatedVaultBackupMetadata: Sendable, Equatable {
    /// The metadata, correct only if no one has changed the file.
    public let claimed: VaultBackupMetadata

    /// The names and kinds of the keys, passwords and recovery codes that can unlock the file.
    public let keyRecords: [WrappedKey]
}
