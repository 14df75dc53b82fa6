internal import CSQLCipher

// What a connection says when somebody else has changed the key of its file: to the engine, pages
// under another key are damaged ones.

extension Connection {
    /// The error for a failure of the engine whose cause is that the file has another key now.
    ///
    /// The pages are looked at beside the engine, so that is asked after a failure only.
    ///
    /// - Parameters:
    ///   - code: The engine's.
    ///   - reason: The engine's message.
    /// - Returns: nil for all other failures, and for those of a connection whose key has opened
    ///   nothing yet.
    func foreignRekey(_ code: ResultCode, _ reason: String) -> SecureStorageError? {
        switch code.primary {
        case .corrupt, .notADatabase, .noMemory: break
        // SQLCipher up to 4.6 says no more when a page's HMAC fails; 4.9 says that it is out of
        // memory.
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
    /// The error for a key that has opened the file, and does no more.
    static func foreignRekey(of path: String) -> SecureStorageError {
        .authenticationFailed(
            message:
                "\"\(path)\" is under another key now: somebody else has changed it; close the "
                + "store, and open it with the new key")
    }
}
