/// The end of an error's message: data that the error's case cannot hold, such as
/// `[SQLITE_CONSTRAINT_UNIQUE]` or `[SQLITE_INTERRUPT: deadline]`.
///
/// The cases hold a primary code and a message, and apps' sources contain patterns that match them.
/// The rest is therefore written here, for people, and parsed again for
/// ``SecureStorageError/resultCode`` and ``SecureStorageError/interruption``. Any text that a
/// message quotes precedes it.
struct ErrorTrailer: Equatable {
    let code: SQLiteResultCode
    var interruption: SecureDatabaseInterruption?

    /// The text that follows the message.
    var text: String {
        guard let interruption, interruption != .request else { return "[\(code)]" }
        return "[\(code): \(interruption.rawValue)]"
    }
}

extension ErrorTrailer {
    /// Parses the trailer of a message; nil if it has none.
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
    /// SQLite's extended code, such as ``SQLiteResultCode/constraintUnique`` if `code` is 19.
    ///
    /// If SQLite gave no extended code, this is the primary one: compare with `resultCode?.primary`
    /// to match any constraint. nil for cases without a code.
    public var resultCode: SQLiteResultCode? {
        switch self {
        case .openFailed(let code, let message), .encryptionKeyChangeFailed(let code, let message),
            .encryptionKeyChangeUnknown(let code, let message),
            .backingStoreError(let code, let message):
            let code = SQLiteResultCode(rawValue: code)
            // A message may end with that of another error, its cause.
            guard let extended = ErrorTrailer(of: message)?.code, extended.primary == code.primary
            else { return code }
            return extended
        case .closed, .suspended, .authenticationFailed, .notEncrypted, .legacyFormat,
            .typeConversionFailed:
            return nil
        }
    }
}
