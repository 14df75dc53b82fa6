internal import Foundation
internal import SecureStorage

/// What a vault's error prints of its cause.
enum CauseText {
    /// Returns the description of this package's errors, and of a failed system call the path and
    /// the error number; of others only the type, since they may quote the input that they failed
    /// on, which can be a secret.
    static func of(_ error: any Error) -> String {
        own(error) ?? system(error as NSError) ?? "an error of type \(type(of: error))"
    }

    /// Returns the description of an error of this package; nil for any other.
    static func own(_ error: any Error) -> String? {
        switch error {
        case let error as SecureVaultError: error.description
        case let error as DataVaultError: error.description
        case let error as SecureStorageError: error.description
        case let error as KeyStoreError: error.description
        case let error as EnvelopeError: error.description
        case let error as VaultBackupError: error.description
        default: nil
        }
    }

    private static func system(_ error: NSError) -> String? {
        guard error.domain == NSPOSIXErrorDomain else {
            // Foundation's errors about files have the system's as their cause.
            let cause = error.userInfo[NSUnderlyingErrorKey] as? NSError
            guard error.domain == NSCocoaErrorDomain, let cause,
                cause.domain == NSPOSIXErrorDomain
            else { return nil }
            return text(code: cause.code, path: path(error) ?? path(cause))
        }
        return text(code: error.code, path: path(error))
    }

    private static func path(_ error: NSError) -> String? {
        error.userInfo[NSFilePathErrorKey] as? String
            ?? (error.userInfo[NSURLErrorKey] as? URL)?.path
    }

    private static func text(code: Int, path: String?) -> String {
        let reason = "\(String(cString: strerror(Int32(clamping: code)))) (errno \(code))"
        let hint =
            [ENOSPC, EDQUOT].contains(Int32(clamping: code))
            ? "; free some space, then try again" : ""
        return (path.map { "\(KeyStoreError.quoted($0)): " } ?? "") + reason + hint
    }
}
