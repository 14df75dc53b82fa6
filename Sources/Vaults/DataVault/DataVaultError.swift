internal import Foundation
internal import SecureStorage

/// Errors of a ``DataVault``, distinguished by how a caller can react.
///
/// The codes are those of the original: ``code``. An error contains no key, no password and no
/// value, and prints a cause only if that is an error of this package, or of the system: its number
/// and the path.
public enum DataVaultError: Error, Sendable {
    /// Anything else; code 0.
    case unknown(cause: (any Error)?)

    /// A vault with this id exists, or remains of one; nothing was changed; code 1.
    case alreadyExists

    /// The value was stored as the other type and cannot be read as this one; code 2.
    case conversionError

    /// No vault with this id exists; code 3.
    ///
    /// `isSelfDestructed` is true if too many wrong passwords are the reason. The cause is a
    /// failure after the key was destroyed: of removing the file, or of the handler
    /// ``DataVaultContainer/onDestruction``.
    case doesNotExist(isSelfDestructed: Bool, cause: (any Error)?)

    /// An argument is one that no vault accepts; code 4.
    case invalidArg(reason: String)

    /// The password is wrong; code 5. `triesLeft` is nil without a retry limit.
    case invalidPassword(triesLeft: Int?)

    /// The key store or the file cannot be read, or differs from what was written; code 6.
    case ioReadError(cause: any Error)

    /// The key store or the file cannot be written; code 7.
    case ioWriteError(cause: any Error)

    /// The vault is locked: unlock it first; code 8.
    case locked

    /// An id or the name of a value has more than 255 bytes of UTF-8; code 9.
    case nameTooLong

    /// A value has more than ``DataVault/valueSizeLimit`` bytes, or data to be encrypted more than
    /// 1 GiB; code 10.
    case valueTooLarge

    /// The value is of an unknown type; code 12.
    case dataTypeError

    /// The memory does not suffice, for instance to derive a key; code 13.
    ///
    /// A password that could not be checked does not count as a try.
    case outOfMemory

    /// Too many passwords were wrong: none is tried for this number of seconds; code 14.
    ///
    /// See ``DataVaultPasswordPolicy/retryDelay``. The call did not count as a try.
    case mustWait(seconds: Int)

    /// The password is right, but the vault was put back to an earlier state, or the machine's
    /// clock; code 15.
    ///
    /// See ``DataVaultPasswordPolicy/refusesRollback``. If that was intended,
    /// `DataVault.acceptRollback(password:)` unlocks the vault.
    case rolledBack(DataVaultRollback)

    /// The password is empty, which the policy does not allow; code 50.
    case passwordRequired

    /// The password is too short; code 51.
    case passwordUnderMinLength

    /// The password has no digit; code 52.
    case passwordRequiresDigit

    /// The password has no upper-case letter; code 53.
    case passwordRequiresUpper

    /// The password has no lower-case letter; code 54.
    case passwordRequiresLower

    /// The password has none of `~!@#$%^&*()-+`; code 55.
    case passwordRequiresSpecial

    /// The password has too few different characters; code 56.
    case passwordUnderMinUnique

    /// The password is right but too old: change it; code 57.
    case passwordExpired
}

/// The original's name for the errors of a vault.
public typealias DataVaultException = DataVaultError

extension DataVaultError {
    /// The error code of the original: 0 to 13, and 50 to 57 for passwords that the policy rejects;
    /// 14 for ``mustWait(seconds:)`` and 15 for ``rolledBack(_:)``, which it does not have.
    public var code: Int {
        switch self {
        case .unknown: 0
        case .alreadyExists: 1
        case .conversionError: 2
        case .doesNotExist: 3
        case .invalidArg: 4
        case .invalidPassword: 5
        case .ioReadError: 6
        case .ioWriteError: 7
        case .locked: 8
        case .nameTooLong: 9
        case .valueTooLarge: 10
        case .dataTypeError: 12
        case .outOfMemory: 13
        case .mustWait: 14
        case .rolledBack: 15
        case .passwordRequired: 50
        case .passwordUnderMinLength: 51
        case .passwordRequiresDigit: 52
        case .passwordRequiresUpper: 53
        case .passwordRequiresLower: 54
        case .passwordRequiresSpecial: 55
        case .passwordUnderMinUnique: 56
        case .passwordExpired: 57
        }
    }

    /// Whether too many wrong passwords have destroyed the vault.
    public var isSelfDestructed: Bool {
        if case .doesNotExist(true, _) = self { true } else { false }
    }

    /// Whether the policy rejects the password: codes 50 to 56 for a broken rule, 57 for its age.
    ///
    /// If `DataVault.unlock(password:)` throws it, the password is right: change it with
    /// `changePassword(_:newPassword:)`.
    public var isPolicyViolation: Bool { (50...57).contains(code) }

    /// How many more wrong passwords the vault accepts; nil for other errors, and without a retry
    /// limit.
    public var triesLeft: Int? {
        if case .invalidPassword(let triesLeft) = self { triesLeft } else { nil }
    }

    /// The error that caused this one.
    public var cause: (any Error)? {
        switch self {
        case .unknown(let cause), .doesNotExist(_, let cause): cause
        case .ioReadError(let cause), .ioWriteError(let cause): cause
        default: nil
        }
    }

    static let doesNotExist = DataVaultError.doesNotExist(isSelfDestructed: false, cause: nil)

    /// Runs `body`, which reads, and translates its errors for the caller.
    static func reading<R>(_ body: () throws -> R) throws -> R {
        do { return try body() } catch { throw make(of: error) { .ioReadError(cause: $0) } }
    }

    /// Runs `body`, which writes, and translates its errors for the caller.
    static func writing<R>(_ body: () throws -> R) throws -> R {
        do { return try body() } catch { throw make(of: error) { .ioWriteError(cause: $0) } }
    }

    private static func make(
        of error: any Error, _ wrap: (any Error) -> DataVaultError
    ) -> DataVaultError {
        switch error {
        case let error as DataVaultError: error
        // Caused by `lock()` on another thread.
        case SecureStorageError.closed, EnvelopeError.cleared: .locked
        default:
            switch (error as? SecureStorageError)?.resultCode?.primary {
            case .noMemory: .outOfMemory
            case .tooBig: .valueTooLarge
            default: wrap(error)
            }
        }
    }
}
