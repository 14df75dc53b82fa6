public import Foundation

extension DataVaultError: CustomStringConvertible {
    /// One line that says what failed and, where known, what to do about it.
    public var description: String {
        switch self {
        case .unknown(let cause):
            cause.map { "the vault failed: \(CauseText.of($0))" } ?? "the vault failed"
        case .alreadyExists: "a vault with this id exists; open it, or delete it first"
        case .conversionError: "the value is data, not a string; read it as data"
        case .doesNotExist(let isSelfDestructed, let cause):
            (isSelfDestructed
                ? "the vault has self-destructed after too many wrong passwords; create a new one"
                : "no vault with this id exists; create it first")
                + (cause.map { "; then also: \(CauseText.of($0))" } ?? "")
        case .invalidArg(let reason): "invalid argument: \(reason)"
        case .invalidPassword(let triesLeft):
            "wrong password; "
                + (triesLeft.map { "\($0) more and the vault destroys itself" } ?? "try again")
        case .ioReadError(let cause): "the vault cannot be read: \(CauseText.of(cause))"
        case .ioWriteError(let cause): "the vault cannot be written: \(CauseText.of(cause))"
        case .locked: "the vault is locked; unlock it first"
        case .nameTooLong: "an id or a name has at most \(DataVault.nameLengthLimit) bytes"
        case .valueTooLarge:
            "a value has at most \(DataVault.valueSizeLimit) bytes, and 1 GiB when encrypted in one piece"
        case .dataTypeError: "the value is neither a string nor data"
        case .outOfMemory: "not enough memory; free some and try again"
        case .mustWait(let seconds):
            "too many wrong passwords; try again in \(seconds) s"
        case .rolledBack(let rollback):
            "\(rollback); if that was intended, call acceptRollback(password:)"
        case .passwordRequired: "the password must not be empty"
        case .passwordUnderMinLength:
            "the password has fewer characters than the policy's minLength"
        case .passwordRequiresDigit: "the password needs a digit"
        case .passwordRequiresUpper: "the password needs an upper-case letter"
        case .passwordRequiresLower: "the password needs a lower-case letter"
        case .passwordRequiresSpecial:
            "the password needs one of \(DataVaultPasswordPolicy.specialCharacters)"
        case .passwordUnderMinUnique:
            "the password has fewer different characters than the policy's minUniqueChars"
        case .passwordExpired: "the password has expired; change it"
        }
    }
}

extension DataVaultError: LocalizedError {
    /// The same as `description`.
    public var errorDescription: String? { description }
}

extension DataVaultError: CustomReflectable {
    /// A mirror without children: a cause from the app may contain anything.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension DataVaultError: CustomNSError {
    /// `DataVaultError`.
    public static var errorDomain: String { "DataVaultError" }

    /// The error code of the original.
    public var errorCode: Int { code }

    /// The cause under `NSUnderlyingErrorKey`.
    public var errorUserInfo: [String: Any] {
        var info: [String: Any] = [NSLocalizedDescriptionKey: description]
        info[NSUnderlyingErrorKey] = cause
        return info
    }
}
