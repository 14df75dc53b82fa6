/// The rules for the password of a ``DataVault``, how long it lasts, and how often it may be wrong.
///
/// Lengths count Unicode scalars: `é` is one, or two if it is spelled with two.
public struct DataVaultPasswordPolicy: Sendable, Equatable, Hashable, Codable {
    /// Whether the password may be empty, which is the default password; the other rules do not
    /// apply to it.
    ///
    /// Default: true.
    public var defaultPasswordAllowed = true

    /// The minimum number of characters.
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

    /// The minimum number of different characters: `ababa` has two.
    ///
    /// Default: 0.
    public var minUniqueChars = 0

    /// The number of days after which a password expires, by the machine's date; 0 for never.
    ///
    /// Default: 0. The default password does not expire. Readable and writable while the vault is
    /// unlocked: a locked one shows nil. Setting nil leaves the vault's value unchanged.
    public var expirationDays: Int? = 0

    /// The number of seconds of inactivity after which the vault locks itself; 0 for never.
    ///
    /// Default: 0. Readable and writable while the vault is unlocked: a locked one shows nil.
    /// Setting nil leaves the vault's value unchanged.
    public var lockTimeout: Int? = Self.noLockTimeout

    /// The number of wrong passwords in a row after which the vault destroys itself; 0 for never.
    ///
    /// Default: 0.
    public var retryLimit = Self.unlimitedRetriesAllowed

    /// The number of seconds to wait after the third wrong password in a row, before the next one
    /// is tried; 0 for never.
    ///
    /// Default: 0. Each further wrong password doubles it, up to a day. A call in that time throws
    /// `DataVaultError.mustWait(seconds:)`, does not try the password, and does not count. At most
    /// 86,400. The time passes while the machine runs or sleeps, whatever its date; it begins again
    /// when the machine is started.
    public var retryDelay = 0

    /// Whether a vault that was put back to an earlier state refuses to be unlocked, with
    /// `DataVaultError.rolledBack`; otherwise ``DataVault/rollback`` reports it.
    ///
    /// Default: false. See ``DataVaultRollback``.
    public var refusesRollback = false

    /// The ``retryLimit`` of a vault that does not destroy itself.
    public static let unlimitedRetriesAllowed = 0

    /// The ``lockTimeout`` of a vault that does not lock itself.
    public static let noLockTimeout = 0

    /// The characters that ``hasSpecial`` requires one of.
    public static let specialCharacters = "~!@#$%^&*()-+"

    /// Creates a policy with the default of each property.
    public init() {}

    /// Whether all rules have their default values.
    public var isDefaultPolicy: Bool { self == DataVaultPasswordPolicy() }
}

/// The original's name for a policy.
public typealias DVPasswordPolicy = DataVaultPasswordPolicy

extension DataVaultPasswordPolicy {
    static let largestNumber = Int(Int32.max)

    /// Throws for numbers that no rule can have.
    func validate() throws {
        for (name, number) in [
            ("minLength", minLength), ("minUniqueChars", minUniqueChars),
            ("expirationDays", expirationDays ?? 0), ("lockTimeout", lockTimeout ?? 0),
            ("retryLimit", retryLimit),
        ] where !(0...Self.largestNumber).contains(number) {
            throw DataVaultError.invalidArg(reason: "\(name) is \(number)")
        }
        // Anyone can make a locked vault's policy stricter, but must not make it useless.
        guard (0...RetryDelay.longest).contains(retryDelay) else {
            throw DataVaultError.invalidArg(
                reason: "retryDelay is \(retryDelay); it is at most a day")
        }
    }

    /// Returns whether any rule for passwords and tries requires less than the one in `before`.
    func isLooser(than before: DataVaultPasswordPolicy) -> Bool {
        let flags = [
            (before.hasDigits, hasDigits), (before.hasUpper, hasUpper), (before.hasLower, hasLower),
            (before.hasSpecial, hasSpecial),
            (!before.defaultPasswordAllowed, !defaultPasswordAllowed),
            (before.refusesRollback, refusesRollback),
        ]
        let hasMoreTries =
            before.retryLimit > 0 && (retryLimit == 0 || retryLimit > before.retryLimit)
        return hasMoreTries || retryDelay < before.retryDelay || minLength < before.minLength
            || minUniqueChars < before.minUniqueChars || flags.contains { $0 && !$1 }
    }

    /// Whether wrong passwords have consequences, so that none may go uncounted.
    var limitsTries: Bool { retryLimit > 0 || retryDelay > 0 }

    var delay: RetryDelay { RetryDelay(seconds: retryDelay) }

    /// This policy as a locked vault shows it.
    var asSeenWhileLocked: DataVaultPasswordPolicy {
        var policy = self
        policy.expirationDays = nil
        policy.lockTimeout = nil
        return policy
    }

    /// Returns this policy, with its nil values taken from the previous one.
    func completed(by before: DataVaultPasswordPolicy) -> DataVaultPasswordPolicy {
        var policy = self
        policy.expirationDays = expirationDays ?? before.expirationDays
        policy.lockTimeout = lockTimeout ?? before.lockTimeout
        return policy
    }
}

extension DataVaultPasswordPolicy {
    /// Decodes a policy; a missing rule has its default, so a policy of an earlier version decodes,
    /// and ``expirationDays`` and ``lockTimeout`` are nil if they are missing.
    ///
    /// - Parameter decoder: The decoder.
    /// - Throws: `DecodingError` for a value of another type.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        func decode<T: Decodable>(_ key: CodingKeys, into property: inout T) throws {
            if let value = try values.decodeIfPresent(T.self, forKey: key) { property = value }
        }
        self.init()
        try decode(.defaultPasswordAllowed, into: &defaultPasswordAllowed)
        try decode(.minLength, into: &minLength)
        try decode(.hasDigits, into: &hasDigits)
        try decode(.hasUpper, into: &hasUpper)
        try decode(.hasLower, into: &hasLower)
        try decode(.hasSpecial, into: &hasSpecial)
        try decode(.minUniqueChars, into: &minUniqueChars)
        expirationDays = try values.decodeIfPresent(Int.self, forKey: .expirationDays)
        lockTimeout = try values.decodeIfPresent(Int.self, forKey: .lockTimeout)
        try decode(.retryLimit, into: &retryLimit)
        try decode(.retryDelay, into: &retryDelay)
        try decode(.refusesRollback, into: &refusesRollback)
    }
}
