/// A data key that travels in a backup, so that what it has sealed in the database can be opened
/// again.
public enum VaultBackupKey: Sendable {
    /// The key itself; the backup wraps it.
    case key(DataEncryptionKey)

    /// A set of the vault that stays wrapped, for backups in the background while the key is locked
    /// away.
    ///
    /// It needs a record of each password or recovery code that the backup is made under, and with
    /// the same name.
    case wrapped(WrappedKeySet)

    /// The name of the data key.
    public var name: String {
        switch self {
        case .key(let key): key.name
        case .wrapped(let set): set.dataKeyName
        }
    }
}
