internal import Foundation
internal import SecureStorage

/// What can go wrong with a ``DataVault``, as a caller can act on it.
///
/// The codes are those of the original, ``code``. It holds no key, no password and no value, and
/// prints a cause only if that is an error of this package.
public enum DataVaultError: Error, Sendable {
    /// Anything else; code 0.
    case unknown(cause: (any Error)?)

    /// There is a vault of this id, or what is left of one: nothing was changed; code 1.
    case alreadyExists

    /// The value was stored as the other type, and cannot be read as this one; code 2.
    case conversionError

    /// There is no vault of this id; code 3.
    ///
    /// `isSelfDestructed` when too many wrong passwords are why. The cause is what has failed after
    /// the key was destroyed: removing the file, or the handler of
    /// ``DataVaultContainer/onDestruction``.
    case doesNotExist(isSelfDestructed: Bool, cause: (any Error)?)

    /// An argument that no vault takes; code 4.
    case invalidArg(reason: String)

    /// That is not the password; code 5. `triesLeft` is nil without a retry limit.
    case invalidPassword(triesLeft: Int?)

    /// The key store or the file cannot be read, or is not what was written; code 6.
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

    /// There is not enough memory, for the derivation of a key for instance; code 13.
    ///
    /// A password that could not be checked is no try.
    case outOfMemory

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

    /// The password is right, and too old: change it; code 57.
    case passwordExpired
}

/// The name of the original for what a vault throws.
public typealias DataVaultException = DataVaultError

extension DataVaultError {
    /// The code of the original: 0 to 13, and 50 to 57 for passwords that the policy refuses.
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

    /// Whether the policy does not take the password: codes 50 to 56 for a rule that it breaks, 57
    /// for its age.
    ///
    /// From `DataVault.unlock(password:)` it says that the password is right: change it with
    /// `changePassword(_:newPassword:)`.
    public var isPolicyViolation: Bool { (50...57).contains(code) }

    /// How many wrong passwords the vault still takes; nil for other errors, and without a retry
    /// limit.
    public var triesLeft: Int? {
        if case .invalidPassword(let triesLeft) = self { triesLeft } else { nil }
    }

    /// The error that this one was made of.
    public var cause: (any Error)? {
        switch self {
        case .unknown(let cause), .doesNotExist(_, let cause): cause
        case .ioReadError(let cause), .ioWriteError(let cause): cause
        default: nil
        }
    }

    static let doesNotExist = DataVaultError.doesNotExist(isSelfDestructed: false, cause: nil)

    /// Runs `body`, which reads, and gives its errors in a caller's terms.
    static func reading<R>(_ body: () throws -> R) throws -> R {
        do { return try body() } catch { throw make(of: error) { .ioReadError(cause: $0) } }
    }

    /// Runs `body`, which writes, and gives its errors in a caller's terms.
    static func writing<R>(_ body: () throws -> R) throws -> R {
        do { return try body() } catch { throw make(of: error) { .ioWriteError(cause: $0) } }
    }

    private static func make(
        of error: any Error, _ wrap: (any Error) -> DataVaultError
    ) -> DataVaultError {
        switch error {
        case let error as DataVaultError: error
        // By a lock() on another thread.
        case SecureStorageError.closed, EnvelopeError.cleared: .locked
        case SecureStorageError.backingStoreError(code: 7, _): .outOfMemory
        case SecureStorageError.backingStoreError(code: 18, _): .valueTooLarge
        default: wrap(error)
        }
    }
}
