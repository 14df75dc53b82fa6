public import Foundation
internal import SecureStorage

/// Errors of a vault's backup, distinguished by how a caller can react.
///
/// Messages are for people: lower case, what failed, why, and a hint. They may contain file paths
/// and the names of keys, but never a key, a password, a recovery code or data.
///
/// Errors of the database itself are thrown as `SecureStorageError`, those of a key store as
/// ``/SecureKeys/KeyStoreError``.
public enum VaultBackupError: Error, Equatable, Sendable {
    /// The file does not begin like a backup.
    case notABackup(path: String)

    /// The backup was changed since it was written, or is incomplete.
    case damaged(reason: String)

    /// The backup was written by a newer version of the library.
    case unsupportedVersion(Int)

    /// A password, a recovery code or a key does not unlock the backup, which is intact, or cannot
    /// be used.
    case key(EnvelopeError)

    /// A backup cannot have this label, list of keys or configuration.
    case unacceptableContents(reason: String)

    /// A file exists at the place already, or a key under the name.
    case taken(reason: String)

    /// Another call or process is using the same file.
    case inUse(path: String)

    /// The vault at the place is newer than the backup: of a later generation, or of the same one
    /// but changed since.
    case olderThanCurrent(backup: UInt64, current: UInt64)

    /// The vault at the place is not the one that was backed up.
    case otherVault(backup: UUID, current: UUID)

    /// The identity and generation of the vault at the place cannot be determined.
    case currentUnreadable(reason: String)

    /// The disk is full; nothing was changed.
    case diskFull(path: String)

    /// The system rejected an operation on a file.
    case fileFailed(reason: String)
}

extension VaultBackupError: CustomStringConvertible {
    /// One line that says what failed and, where known, what to do about it.
    public var description: String {
        // `quoted` escapes terminal control characters: names may come from a file.
        func quoted(_ text: String) -> String { KeyStoreError.quoted(text) }
        return switch self {
        case .notABackup(let path):
            "\(quoted(path)) is not a vault backup; choose another file"
        case .damaged(let reason):
            "the backup is damaged: \(reason); take another copy of it, or an older backup"
        case .unsupportedVersion(let version):
            "backup version \(version) is not supported; update the app"
        case .key(let error):
            error.description
        case .unacceptableContents(let reason):
            "backup refused: \(reason)"
        case .taken(let reason):
            "\(reason); choose another one, or replace it"
        case .inUse(let path):
            "\(quoted(path)) is in use by another call or process; close it, or try again later"
        case .olderThanCurrent(let backup, let current) where backup == current:
            "the vault there was changed after the backup was made; replace a newer vault only on "
                + "purpose"
        case .olderThanCurrent(let backup, let current):
            "the backup has generation \(backup), but the vault there has generation \(current); "
                + "replace a newer vault only on purpose"
        case .otherVault(let backup, let current):
            "the backup is of vault \(backup), but the vault there is \(current); restore to another "
                + "place"
        case .currentUnreadable(let reason):
            "the vault there cannot be compared with the backup: \(reason); restore to another place"
        case .diskFull(let path):
            "the disk is full: \(quoted(path)); free some space and try again: nothing was changed"
        case .fileFailed(let reason):
            reason
        }
    }
}

extension VaultBackupError: LocalizedError {
    /// The same as `description`.
    public var errorDescription: String? { description }
}

extension VaultBackupError {
    /// Runs `body`, which makes the file at `path`, and translates its errors for the caller.
    ///
    /// If `path` is a database, a locked database is that one; otherwise it is the caller's.
    static func translating<R>(
        _ path: String, isDatabase: Bool, _ body: () throws -> R
    ) throws -> R {
        do {
            return try body()
        } catch let error as EnvelopeError {
            throw VaultBackupError(error)
        } catch let error as SecureStorageError where error.isDiskFull {
            throw VaultBackupError.diskFull(path: path)
        } catch let error as SecureStorageError where error.isBusy && isDatabase {
            throw VaultBackupError.inUse(path: path)
        }
    }

    /// Runs `body`, in which every error of a key or of the database means that an unlocked backup
    /// is damaged.
    static func asDamage<R>(_ body: () throws -> R) throws -> R {
        do {
            return try body()
        } catch let error as EnvelopeError {
            switch error {
            case .damaged(let reason), .notAuthentic(let reason):
                throw VaultBackupError.damaged(reason: reason)
            default: throw VaultBackupError.damaged(reason: error.description)
            }
        } catch let error as SecureStorageError where error.isOfUnreadableDatabase {
            throw VaultBackupError.damaged(
                reason: "its database cannot be read; was it made with another cipher "
                    + "configuration?")
        }
    }

    private init(_ error: EnvelopeError) {
        self =
            switch error {
            case .unsupportedVersion(let version): .unsupportedVersion(version)
            case .damaged(let reason), .notAuthentic(let reason): .damaged(reason: reason)
            default: .key(error)
            }
    }
}

extension SecureStorageError {
    fileprivate var isOfUnreadableDatabase: Bool {
        switch self {
        case .authenticationFailed, .notEncrypted, .legacyFormat: true
        default: isCorrupt || resultCode?.primary == .notADatabase
        }
    }
}
