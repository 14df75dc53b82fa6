/// What the password of a ``DataVault`` has to be like, how long it lasts, and how often it may be
/// wrong.
///
/// Lengths count Unicode scalars: `é` is one, or two where it is spelled with two.
public struct DataVaultPasswordPolicy: Sendable, Equatable, Hashable, Codable {
    /// Whether the password may be empty, which is the default one; the other rules do not apply to
    /// it.
    ///
    /// Default: true.
    public var defaultPasswordAllowed = true

    /// How many characters the password has at least.
    ///
    /// Default: 8.
    public var minLength = 8

    /// Whether the password needs a digit.
    ///
    /// Default: false.
    public var hasDigits = false

    /// Whether the password needs an upper-case letter.
    ///
    /// Default: false.
    public var hasUpper = false

    /// Whether the password needs a lower-case letter.
    ///
    /// Default: false.
    public var hasLower = false

    /// Whether the password needs one of ``specialCharacters``.
    ///
    /// Default: false.
    public var hasSpecial = false

    /// How many different characters the password has at least: `ababa` has two.
    ///
    /// Default: 0.
    public var minUniqueChars = 0

    /// How many days after it was set the password expires, by the machine's date; 0 for never.
    ///
    /// Default: 0. The default password does not expire. Readable and writable while the vault is
    /// unlocked: a locked one shows nil. To set nil leaves what the vault has.
    public var expirationDays: Int? = 0

    /// After how many seconds of inactivity the vault locks itself; 0 for never.
    ///
    /// Default: 0. Readable and writable while the vault is unlocked: a locked one shows nil. To
    /// set nil leaves what the vault has.
    public var lockTimeout: Int? = Self.noLockTimeout

    /// After how many wrong passwords in a row the vault destroys itself; 0 for never.
    ///
    /// Default: 0.
    public var retryLimit = Self.unlimitedRetriesAllowed

    /// The ``retryLimit`` of a vault that does not destroy itself.
    public static let unlimitedRetriesAllowed = 0

    /// The ``lockTimeout`` of a vault that does not lock itself.
    public static let noLockTimeout = 0

    /// What ``hasSpecial`` asks for.
    public static let specialCharacters = "~!@#$%^&*()-+"

    /// The defaults that are named at each property.
    public init() {}

    /// Whether all rules are the defaults.
    public var isDefaultPolicy: Bool { self == DataVaultPasswordPolicy() }
}

/// The name of the original for a policy.
public typealias DVPasswordPolicy = DataVaultPasswordPolicy

extension DataVaultPasswordPolicy {
    static let largestNumber = Int(Int32.max)

    /// Refuses numbers that no rule has.
    func validate() throws {
        for (name, number) in [
            ("minLength", minLength), ("minUniqueChars", minUniqueChars),
            ("expirationDays", expirationDays ?? 0), ("lockTimeout", lockTimeout ?? 0),
            ("retryLimit", retryLimit),
        ] where !(0...Self.largestNumber).contains(number) {
            throw DataVaultError.invalidArg(reason: "\(name) is \(number)")
        }
    }

    /// Whether any rule for passwords and tries asks for less than `before` does.
    func isLooser(than before: DataVaultPasswordPolicy) -> Bool {
        let flags = [
            (before.hasDigits, hasDigits), (before.hasUpper, hasUpper), (before.hasLower, hasLower),
            (before.hasSpecial, hasSpecial),
            (!before.defaultPasswordAllowed, !defaultPasswordAllowed),
        ]
        let hasMoreTries =
            before.retryLimit > 0 && (retryLimit == 0 || retryLimit > before.retryLimit)
        return hasMoreTries || minLength < before.minLength
            || minUniqueChars < before.minUniqueChars || flags.contains { $0 && !$1 }
    }

    /// This policy as a locked vault shows it.
    var asSeenWhileLocked: DataVaultPasswordPolicy {
        var policy = self
        policy.expirationDays = nil
        policy.lockTimeout = nil
        return policy
    }

    /// This policy, and what it leaves as it is from the one before.
    func completed(by before: DataVaultPasswordPolicy) -> DataVaultPasswordPolicy {
        var policy = self
        policy.expirationDays = expirationDays ?? before.expirationDays
        policy.lockTimeout = lockTimeout ?? before.lockTimeout
        return policy
    }
}
