public import SecureStorage

/// The password of a ``DataVault``: text, or bytes that are cleared from memory.
///
/// The empty one is the default password.
public protocol DataVaultPassword: Sendable {
    /// The password's bytes; for text, its UTF-8. Two spellings of one text are one password.
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
        try check(PasswordCharacters(password.passwordBytes))
    }

    /// Checks what was found in a password, which takes no time.
    func check(_ found: PasswordCharacters) throws {
        guard found.count > 0 else {
            guard defaultPasswordAllowed else { throw DataVaultError.passwordRequired }
            return
        }
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
struct PasswordCharacters {
    private(set) var count = 0
    private(set) var uniqueCount = 0
    private(set) var hasDigit = false
    private(set) var hasUpper = false
    private(set) var hasLower = false
    private(set) var hasSpecial = false

    init(_ password: SecretBytes) {
        // One bit for each scalar: a `Set` of the characters would stay in memory.
        _ = SecretBytes(count: 0x11_0000 / 8) { seen in
            password.withUnsafeBytes { bytes in
                Self.forEachScalar(in: bytes) { scalar in
                    count += 1
                    let bit = UInt8(1) << (scalar.value % 8)
                    let place = Int(scalar.value / 8)
                    if seen[place] & bit == 0 { uniqueCount += 1 }
                    seen[place] |= bit
                    note(scalar)
                }
            }
        }
    }

    private mutating func note(_ scalar: Unicode.Scalar) {
        switch scalar.properties.generalCategory {
        case .decimalNumber: hasDigit = true
        case .uppercaseLetter, .titlecaseLetter: hasUpper = true
        case .lowercaseLetter: hasLower = true
        default: break
        }
        if DataVaultPasswordPolicy.specialCharacters.unicodeScalars.contains(scalar) {
            hasSpecial = true
        }
    }

    /// Calls `body` for each character; bytes that are not UTF-8 count as U+FFFD.
    private static func forEachScalar(
        in bytes: UnsafeRawBufferPointer, _ body: (Unicode.Scalar) -> Void
    ) {
        var decoder = UTF8()
        var rest = bytes.makeIterator()
        while true {
            switch decoder.decode(&rest) {
            case .scalarValue(let scalar): body(scalar)
            case .error: body("\u{fffd}")
            case .emptyInput: return
            }
        }
    }
}
