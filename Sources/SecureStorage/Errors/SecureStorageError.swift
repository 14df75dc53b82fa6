public import Foundation

/// The errors of a store, by how a caller can respond.
///
/// Messages are for people: lower case, what failed, why, and a hint. They may contain SQL text and
/// file paths but never a key, a passphrase or a bound value.
///
/// `code` is SQLite's primary [result code](https://sqlite.org/rescode.html), for example 19 for a
/// violated constraint; ``resultCode`` has the extended one, which ends the message. Where a call's
/// documentation says "code `.busy`", `resultCode?.primary` is ``SQLiteResultCode/busy``.
/// ``interruption`` gives the reason why a call was ended early.
public enum SecureStorageError: Error, Equatable, Sendable {
    /// The file could not be opened or created, because of its location, permissions or state, or
    /// because of the engine.
    case openFailed(code: Int, message: String)

    /// The store is closed; open it first.
    ///
    /// Also thrown for a result set that its store or its queue's block closed before its end.
    case closed

    /// The queue or pool is suspended, so this process holds no lock on the file; try again after
    /// `resume()`.
    ///
    /// Also thrown by a call that the suspension interrupted: none of its transaction is in the
    /// file.
    case suspended

    /// The key does not open the file, or the key itself is unusable (empty, wrong length).
    ///
    /// From an open store, queue, pool or key-value store: another connection has changed the key
    /// since it was opened. Close it and open it with the new key; nothing is damaged.
    case authenticationFailed(message: String)

    /// The file is not encrypted: it begins like a plain SQLite database.
    ///
    /// It was not changed.
    case notEncrypted(message: String)

    /// The key opens the file, but the file has the format of SQLCipher `version` 1, 2 or 3 and
    /// must be migrated first.
    ///
    /// It was not changed.
    case legacyFormat(version: Int, message: String)

    /// The key was not changed; the old one still opens the file.
    case encryptionKeyChangeFailed(code: Int, message: String)

    /// It is unknown whether the key was changed, since the disk failed: keep both keys.
    ///
    /// One of the two opens the file, with all committed rows. The store continues with that key as
    /// soon as the disk works again. Repeat the change: when that call returns, the file has the
    /// new key. To open the file later, try the new key, then, after `.authenticationFailed`, the
    /// old one.
    case encryptionKeyChangeUnknown(code: Int, message: String)

    /// A value does not fit the requested type, or no SQLite type can hold it.
    case typeConversionFailed

    /// SQLite refused or could not finish a statement, or an operation on a whole file failed.
    case backingStoreError(code: Int, message: String)
}

extension SecureStorageError: CustomStringConvertible {
    /// One line that describes the failure and, if known, the remedy.
    public var description: String {
        switch self {
        case .openFailed(let code, let message):
            "open failed: \(message) (\(code))"
        case .closed:
            "closed: the store must be opened with open(with:) first, or the result set is already "
                + "closed"
        case .suspended:
            "suspended: the database accepts no calls until resume()"
        case .authenticationFailed(let message):
            "authentication failed: \(message)"
        case .notEncrypted(let message):
            "not encrypted: \(message)"
        case .legacyFormat(let version, let message):
            "SQLCipher \(version) format: \(message)"
        case .encryptionKeyChangeFailed(let code, let message):
            "the encryption key was not changed: \(message) (\(code))"
        case .encryptionKeyChangeUnknown(let code, let message):
            "it is unknown whether the encryption key was changed: \(message); keep both keys, and "
                + "change the key again when the disk works (\(code))"
        case .typeConversionFailed:
            "the value cannot be converted to or from the requested type without loss"
        case .backingStoreError(let code, let message):
            "\(message) (\(code))"
        }
    }
}

extension SecureStorageError: LocalizedError {
    /// The description.
    public var errorDescription: String? { description }
}
