/// A data key stored in a backup, so that the values it sealed in the database can be opened again.
public enum VaultBackupKey: Sendable {
    /// The key itself; the backup wraps it.
    case key(DataEncryptionKey)

    /// A set of the vault that stays wrapped, for background backups while the key is locked.
    ///
    /// For each password or recovery code that the backup is made under, it needs a record with the
    /// same name.
    case wrapped(WrappedKeySet)

    /// The name of the data key.
    public var name: String {
        switch self {
        case .key(let key): key.name
        case .wrapped(let set): set.dataKeyName
        }
    }
}
