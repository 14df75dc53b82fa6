extension DataVaultSession {
    /// What a user is to be shown; it holds no secret.
    public enum State: Sendable {
        /// There is no vault: ask for a password, and create it.
        case noVault

        /// Ask for the password; `triesLeft` is nil without a retry limit.
        case locked(triesLeft: Int?)

        /// The vault's values can be used.
        case unlocked

        /// The password was right, and breaks a rule of the policy: ask for it again, which can be
        /// wrong too often as well, and for a new one.
        case passwordViolates(DataVaultPasswordRule, triesLeft: Int?)

        /// The password was right, and is too old: ask for it again, which can be wrong too often
        /// as well, and for a new one.
        case passwordExpired(triesLeft: Int?)

        /// Too many wrong passwords have destroyed the vault: begin anew, as the app does at its
        /// first start.
        case destroyed

        /// The vault is there, or may be, and cannot be used: say so, and try again later.
        case failed(DataVaultError)
    }
}

extension DataVaultSession.State: Equatable {
    /// Whether a user would be shown the same; failures are compared by code and description.
    ///
    /// - Parameters:
    ///   - left: One state.
    ///   - right: The other one.
    /// - Returns: Whether they are the same.
    public static func == (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.noVault, .noVault), (.unlocked, .unlocked), (.destroyed, .destroyed): true
        case (.locked(let left), .locked(let right)): left == right
        case (
            .passwordViolates(let left, let leftTries), .passwordViolates(let right, let rightTries)
        ):
            left == right && leftTries == rightTries
        case (.passwordExpired(let left), .passwordExpired(let right)): left == right
        case (.failed(let left), .failed(let right)):
            left.code == right.code && left.description == right.description
        default: false
        }
    }
}

/// A rule of a ``DataVaultPasswordPolicy`` that a password can break; its number is the code of the
/// error.
public enum DataVaultPasswordRule: Int, Sendable, CaseIterable {
    /// The password must not be empty.
    case required = 50
    /// It is as long as ``DataVaultPasswordPolicy/minLength`` says.
    case minLength
    /// It has a digit.
    case digits
    /// It has an upper-case letter.
    case upper
    /// It has a lower-case letter.
    case lower
    /// It has one of ``DataVaultPasswordPolicy/specialCharacters``.
    case special
    /// It has as many different characters as ``DataVaultPasswordPolicy/minUniqueChars`` says.
    case minUnique
}

extension DataVaultError {
    /// The rule that the password breaks; nil for other errors.
    public var brokenRule: DataVaultPasswordRule? { DataVaultPasswordRule(rawValue: code) }
}
