import Vaults
import TypedPasswords

/// The rules of a vault as users read and type them.
enum Policy {
    private static var numbers: [(String, WritableKeyPath<DataVaultPasswordPolicy, Int>)] {
        [
            ("length", \.minLength), ("unique", \.minUniqueChars), ("tries", \.retryLimit),
        ]
    }

    /// Rules that are accessible only while the vault is unlocked.
    private static var times: [(String, WritableKeyPath<DataVaultPasswordPolicy, Int?>)] {
        [("days", \.expirationDays), ("timeout", \.lockTimeout)]
    }

    private static var flags: [(String, WritableKeyPath<DataVaultPasswordPolicy, Bool>)] {
        [
            ("empty", \.defaultPasswordAllowed), ("digits", \.hasDigits), ("upper", \.hasUpper),
            ("lower", \.hasLower),
            ("special", \.hasSpecial),
        ]
    }

    static var names: [String] { numbers.map(\.0) + times.map(\.0) + flags.map(\.0) }

    static func lines(of policy: DataVaultPasswordPolicy) -> [String] {
        numbers.map { "\($0)\t\(policy[keyPath: $1])" }
            + times.map { "\($0)\t\(policy[keyPath: $1].map(String.init) ?? "hidden")" }
            + flags.map { "\($0)\t\(policy[keyPath: $1] ? "on" : "off")" }
    }

    /// - Throws: `Failure` for an unknown rule or an invalid value.
    static func set(
        _ name: String, _ value: String, in policy: inout DataVaultPasswordPolicy
    ) throws {
        if let rule = numbers.first(where: { $0.0 == name })?.1, let number = Int(value) {
            policy[keyPath: rule] = number
        } else if let rule = times.first(where: { $0.0 == name })?.1, let number = Int(value) {
            policy[keyPath: rule] = number
        } else if let rule = flags.first(where: { $0.0 == name })?.1,
            let flag = ["on": true, "off": false][value]
        {
            policy[keyPath: rule] = flag
        } else {
            throw Failure(
                "a rule is one of \(names.joined(separator: ", ")); its value a number, or on or off"
            )
        }
    }
}
