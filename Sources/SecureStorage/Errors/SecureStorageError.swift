public import Foundation

/// What can go wrong with a store, as a caller can act on it.
///
/// Messages are for people: lower case, what failed, why, and a hint. They may hold SQL text and
/// file paths; they never hold a key, a passphrase or a bound value.
///
/// `code` is SQLite's primary [result code](https://sqlite.org/rescode.html), for example 19 for a
/// violated constraint; ``resultCode`` has the extended one, with which the message ends.
/// ``interruption`` says what has ended a call before its time.
public enum SecureStorageError: Error, Equatable, Sendable {
    /// The file could not be opened or created: its place, its permissions, its state or the
    /// engine.
    case openFailed(code: Int, message: String)

    /// The store is closed; open it first.
    ///
    /// Also for a result set that was closed before its end, by its store or by its queue's block.
    case closed

    /// The queue or pool is suspended, so that the file has no lock of this process; try again
    /// after `resume()`.
    ///
    /// Also for a call that the suspension has interrupted: nothing of its transaction is in the
    /// file.
    case suspended

    /// The key does not open the file, or the key itself cannot be used (empty, wrong length).
    ///
    /// From an open store, queue, pool or key-value store: somebody else has changed the key since
    /// it was opened. Close it, and open it with the new key; nothing is damaged.
    case authenticationFailed(message: String)

    /// The file is not encrypted: it begins like a plain SQLite database. It was not changed.
    case notEncrypted(message: String)

    /// The key opens the file, but the file has the format of SQLCipher `version` 1, 2 or 3 and has
    /// to be migrated first. It was not changed.
    case legacyFormat(version: Int, message: String)

    /// The key was not changed; the old one still opens the file.
    case encryptionKeyChangeFailed(code: Int, message: String)

    /// Whether the key was changed is not known, since the disk has failed: keep both keys.
    ///
    /// One of the two opens the file, with all committed rows. The store goes on with whichever
    /// that is, as soon as the disk answers. Repeat the change: when that call returns, the new key
    /// is the file's. To open the file later, try the new key, and after `.authenticationFailed`
    /// the old one.
    case encryptionKeyChangeUnknown(code: Int, message: String)

    /// A value does not fit the type that was asked for, or no SQLite type can hold it.
    case typeConversionFailed

    /// SQLite refused or could not finish a statement, or the system what is done to a file as a
    /// whole.
    case backingStoreError(code: Int, message: String)
}

extension SecureStorageError: CustomStringConvertible {
    /// One line that says what failed, and what to do where that is known.
    public var description: String {
        switch self {
        case .openFailed(let code, let message):
            "open failed: \(message) (\(code))"
        case .closed:
            "closed: the store has to be opened with open(with:) first, or the result set has been "
                + "closed already"
        case .suspended:
            "suspended: the database takes no calls until resume()"
        case .authenticationFailed(let message):
            "authentication failed: \(message)"
        case .notEncrypted(let message):
            "not encrypted: \(message)"
        case .legacyFormat(let version, let message):
            "SQLCipher \(version) format: \(message)"
        case .encryptionKeyChangeFailed(let code, let message):
            "the encryption key was not changed: \(message) (\(code))"
        case .encryptionKeyChangeUnknown(let code, let message):
            "it is not known whether the encryption key was changed: \(message); keep both keys, and "
                + "change the key again when the disk works (\(code))"
        case .typeConversionFailed:
            "the value cannot be converted to or from the requested type without loss"
        case .backingStoreError(let code, let message):
            "\(message) (\(code))"
        }
    }
}

extension SecureStorageError {
    /// Whether another connection held a lock for longer than the busy timeout (SQLITE_BUSY).
    ///
    /// The same call may succeed later.
    public var isBusy: Bool {
        switch self {
        case .openFailed(let code, _), .encryptionKeyChangeFailed(let code, _),
            .encryptionKeyChangeUnknown(let code, _), .backingStoreError(let code, _):
            code == ResultCode.busy.rawValue
        default: false
        }
    }
}

extension SecureStorageError: LocalizedError {
    /// The description.
    public var errorDescription: String? { description }
}
