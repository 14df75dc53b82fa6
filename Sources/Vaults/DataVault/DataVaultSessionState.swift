extension DataVaultSession {
    /// What to show to the user; contains no secret.
    public enum State: Sendable {
        /// No vault exists: prompt for a password, and create the vault.
        case noVault

        /// Prompt for the password; `triesLeft` is nil without a retry limit.
        case locked(triesLeft: Int?)

        /// The vault's values can be used.
        case unlocked

        /// The password was right but breaks a rule of the policy: prompt for it again, which can
        /// be wrong too often as well, and for a new one.
        case passwordViolates(DataVaultPasswordRule, triesLeft: Int?)

        /// The password was right but is too old: prompt for it again, which can be wrong too often
        /// as well, and for a new one.
        case passwordExpired(triesLeft: Int?)

        /// Too many wrong passwords have destroyed the vault: start over, as at the app's first
        /// start.
        case destroyed

        /// The vault exists, or may exist, but cannot be used: report that, and try again later.
        case failed(DataVaultError)
    }
}

extension DataVaultSession.State: Equatable {
    /// Returns whether a user would be shown the same; failures are compared by code and
    /// description.
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

/// A rule of a ``DataVaultPasswordPolicy`` that a password can break; the raw value is the error
/// code.
public enum DataVaultPasswordRule: Int, Sendable, CaseIterable {
    /// The password must not be empty.
    case required = 50
    /// It must be at least as long as ``DataVaultPasswordPolicy/minLength``.
    case minLength
    /// It must contain a digit.
    case digits
    /// It must contain an upper-case letter.
    case upper
    /// It must contain a lower-case letter.
    case lower
    /// It must contain one of ``DataVaultPasswordPolicy/specialCharacters``.
    case special
    /// It must contain ``DataVaultPasswordPolicy/minUniqueChars`` different characters.
    case minUnique
}

extension DataVaultError {
    /// The rule that the password breaks; nil for other errors.
    public var brokenRule: DataVaultPasswordRule? { DataVaultPasswordRule(rawValue: code) }
}
