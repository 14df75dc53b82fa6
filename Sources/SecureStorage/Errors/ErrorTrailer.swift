/// The end of an error's message: what the error's case has no place for, as
/// `[SQLITE_CONSTRAINT_UNIQUE]` or `[SQLITE_INTERRUPT: deadline]`.
///
/// The cases have a primary code and a message, and patterns over them are in the apps' sources. So
/// the rest is written here, for people, and read back here, for ``SecureStorageError/resultCode``
/// and ``SecureStorageError/interruption``. Whatever a message quotes stands before it.
struct ErrorTrailer: Equatable {
    let code: SQLiteResultCode
    var interruption: SecureDatabaseInterruption?

    /// As it follows a message.
    var text: String {
        guard let interruption, interruption != .request else { return "[\(code)]" }
        return "[\(code): \(interruption.rawValue)]"
    }
}

extension ErrorTrailer {
    /// The trailer of a message; nil when it has none.
    init?(of message: String) {
        guard message.last == "]", let start = message.lastIndex(of: "[") else { return nil }
        let text = message[message.index(after: start)...].dropLast()
        let parts = text.split(separator: ":", maxSplits: 1)
        guard let first = parts.first, let code = Self.code(first) else { return nil }
        self.code = code
        interruption =
            parts.count > 1
            ? SecureDatabaseInterruption(rawValue: parts[1].drop { $0 == " " }.description) : nil
    }

    private static func code(_ text: Substring) -> SQLiteResultCode? {
        if let code = SQLiteResultCode(name: text) { return code }
        guard text.hasPrefix("code ") else { return nil }
        return Int(text.dropFirst(5)).map { SQLiteResultCode(rawValue: $0) }
    }
}

extension SecureStorageError {
    /// SQLite's extended code, such as ``SQLiteResultCode/constraintUnique`` where `code` is 19.
    ///
    /// The primary one where SQLite gave no other: compare with `resultCode?.primary` for any
    /// constraint. nil for the cases without a code.
    public var resultCode: SQLiteResultCode? {
        switch self {
        case .openFailed(let code, let message), .encryptionKeyChangeFailed(let code, let message),
            .encryptionKeyChangeUnknown(let code, let message),
            .backingStoreError(let code, let message):
            let code = SQLiteResultCode(rawValue: code)
            // A message may end with that of another error, which was the reason.
            guard let extended = ErrorTrailer(of: message)?.code, extended.primary == code.primary
            else { return code }
            return extended
        case .closed, .suspended, .authenticationFailed, .notEncrypted, .legacyFormat,
            .typeConversionFailed:
            return nil
        }
    }
}
