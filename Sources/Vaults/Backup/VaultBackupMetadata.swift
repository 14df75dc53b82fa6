public import Foundation

/// What an app says about a backup, for people to tell one from another.
public struct VaultBackupLabel: Sendable, Equatable {
    /// The device that the backup is made on: at most 255 bytes of UTF-8.
    public var deviceName: String

    /// Anything else: at most 4096 bytes of UTF-8.
    ///
    /// It can be read without a key.
    public var note: String

    /// A label.
    ///
    /// - Parameters:
    ///   - deviceName: At most 255 bytes of UTF-8.
    ///   - note: At most 4096 bytes of UTF-8; nothing secret.
    public init(deviceName: String = "", note: String = "") {
        self.deviceName = deviceName
        self.note = note
    }
}

/// What a backup says about itself.
public struct VaultBackupMetadata: Sendable, Equatable {
    /// The vault that it was made of, the same in all its backups; see ``VaultIdentity``.
    public let vaultID: UUID

    /// Grows with each backup of the vault.
    public let generation: UInt64

    /// When it was made, by the clock of the device, in whole milliseconds.
    public let createdAt: Date

    /// The size of the database in it, in bytes.
    public let databaseSize: UInt64

    /// What the app has said about it.
    public let label: VaultBackupLabel

    /// The names of the data keys that travel along, in the order in which they were given.
    public let dataKeyNames: [String]
}

/// What a file claims about itself: read without a key, so anyone may have written it.
///
/// For a list of files to choose from. `VaultBackup.verify`
/// and restoring return the same values once they are known to be authentic.
public struct UnauthenticatedVaultBackupMetadata: Sendable, Equatable {
    /// What would be true if nobody has changed the file.
    public let claimed: VaultBackupMetadata

    /// What the file can be unlocked by: the names and kinds of keys, passwords and recovery codes.
    public let keyRecords: [WrappedKey]
}
