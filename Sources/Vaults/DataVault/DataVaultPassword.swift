public import SecureStorage

/// The password of a ``DataVault``: text, or bytes that are cleared from memory.
///
/// The empty one is the default password.
public protocol DataVaultPassword: Sendable {
    /// The password's bytes, used exactly as they are; for text, its UTF-8 without normalisation.
    var passwordBytes: SecretBytes { get }
}

extension String: DataVaultPassword {
    /// The UTF-8 bytes; the text's own memory cannot be cleared.
    public var passwordBytes: SecretBytes { SecretBytes(utf8: self) }
}

extension SecretBytes: DataVaultPassword {
    /// These bytes.
    public var passwordBytes: SecretBytes { self }
}

extension Optional: DataVaultPassword where Wrapped: DataVaultPassword {
    /// No bytes for nil, which is the default password.
    public var passwordBytes: SecretBytes {
        self?.passwordBytes ?? SecretBytes(count: 0) { _ in }
    }
}

extension DataVaultPasswordPolicy {
    /// Checks a password against the rules.
    ///
    /// - Parameter password: A new password, or a vault's current one.
    /// - Throws: `DataVaultError`, codes 50 to 56: the first rule that it breaks.
    public func check(_ password: some DataVaultPassword) throws {
        let password = password.passwordBytes
        guard password.count > 0 else {
            guard defaultPasswordAllowed else { throw DataVaultError.passwordRequired }
            return
        }
        let found = PasswordCharacters(password)
        let rules: [(isKept: Bool, error: DataVaultError)] = [
            (found.count >= minLength, .passwordUnderMinLength),
            (!hasDigits || found.hasDigit, .passwordRequiresDigit),
            (!hasUpper || found.hasUpper, .passwordRequiresUpper),
            (!hasLower || found.hasLower, .passwordRequiresLower),
            (!hasSpecial || found.hasSpecial, .passwordRequiresSpecial),
            (found.uniqueCount >= minUniqueChars, .passwordUnderMinUnique),
        ]
        if let broken = rules.first(where: { !$0.isKept }) { throw broken.error }
    }
}

/// The properties of a password that the rules check, found without a `String` of it, which could
/// not be cleared.
private struct PasswordCharacters {
    private(set) var count = 0
    private(set) var uniqueCount = 0
    private(set) var hasDigit = false
    private(set) var hasUpper = false
    private(set) var hasLower = false
    private(set) var hasSpecial = false

    init(_ password: SecretBytes) {
        password.withUnsafeBytes { bytes in
            _ = Self.isTrue(ofAll: bytes) { scalar, place in
                count += 1
                // Not with a set of the characters, which would stay in memory.
                let before = UnsafeRawBufferPointer(rebasing: bytes[..<place])
                if Self.isTrue(ofAll: before, { earlier, _ in earlier != scalar }) {
                    uniqueCount += 1
                }
                switch scalar.properties.generalCategory {
                case .decimalNumber: hasDigit = true
                case .uppercaseLetter, .titlecaseLetter: hasUpper = true
                case .lowercaseLetter: hasLower = true
                default: break
                }
                if DataVaultPasswordPolicy.specialCharacters.unicodeScalars.contains(scalar) {
                    hasSpecial = true
                }
                return true
            }
        }
    }

    /// Calls `body` for each character until it returns false; bytes that are not UTF-8 count as
    /// U+FFFD.
    private static func isTrue(
        ofAll bytes: UnsafeRawBufferPointer, _ body: (Unicode.Scalar, _ place: Int) -> Bool
    ) -> Bool {
        var decoder = UTF8()
        var rest = bytes.makeIterator()
        var place = 0
        while true {
            let (scalar, width): (Unicode.Scalar, Int)
            switch decoder.decode(&rest) {
            case .scalarValue(let decoded): (scalar, width) = (decoded, UTF8.width(decoded))
            case .error: (scalar, width) = ("\u{fffd}", 1)
            case .emptyInput: return true
            }
            guard body(scalar, place) else { return false }
            place += width
        }
    }
}
