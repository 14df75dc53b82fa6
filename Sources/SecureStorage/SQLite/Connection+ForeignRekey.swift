internal import CSQLCipher

// Reports that another connection has changed the key of the file: to the engine, pages under
// another key are damaged ones.

extension Connection {
    /// Returns the error for a failure of the engine whose cause is that the file now has another
    /// key.
    ///
    /// The pages are read without the engine, so this is called only after a failure.
    ///
    /// - Parameters:
    ///   - code: The engine's code.
    ///   - reason: The engine's message.
    /// - Returns: nil for all other failures, and for a connection whose key has not opened
    ///   anything yet.
    func foreignRekey(_ code: ResultCode, _ reason: String) -> SecureStorageError? {
        switch code.primary {
        case .corrupt, .notADatabase, .noMemory: break
        // SQLCipher up to 4.6 reports nothing more specific when a page's HMAC fails; 4.9 reports
        // that it is out of memory.
        case .error where reason == "SQL logic error": break
        default: return nil
        }
        guard isProven, let key,
            (try? file.isUnderAnotherKey(than: key, configuration.cipher)) == true
        else { return nil }
        return .foreignRekey(of: path)
    }
}

extension SecureStorageError {
    /// Returns the error for a key that has opened the file before and no longer does.
    static func foreignRekey(of path: String) -> SecureStorageError {
        .authenticationFailed(
            message:
                "\"\(path)\" has a different key now: another connection changed it; close the "
                + "store, and open it with the new key")
    }
}
