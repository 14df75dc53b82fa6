public import Foundation
internal import SecureStorage

extension SecureVaultError: CustomStringConvertible {
    /// One line that says what failed and, where known, what to do.
    public var description: String {
        switch self {
        case .initFailed(let cause): "the vault cannot be created: \(CauseText.of(cause))"
        case .authRequired: "the password is required; call authWith(password:) first"
        case .invalidPassword: "wrong password; try again"
        case .noL1Key:
            "the device's key, which the data needs, is missing; restore the key store from a backup"
        case .noL2Key:
            "the key of L2 or the salt of its password is missing; restore the key store from a backup"
        case .authError(let cause): "the password cannot be checked: \(CauseText.of(cause))"
        case .failedToOpenDatabase(let cause):
            "the database cannot be opened, and was not changed: \(CauseText.of(cause))"
        case .databaseError(let cause): "the database failed: \(CauseText.of(cause))"
        case .duplicateRecord: "the record already exists"
        case .keystoreError(let status, let cause):
            "the key store failed: \(Self.text(ofStatus: status, cause))"
        case .secError(let status): "a system function failed (\(status))"
        case .generalCryptoError:
            "the data cannot be encrypted or decrypted: "
                + "it was changed, or belongs to another key or place"
        case .encodingFailed: "the value cannot be encoded or decoded"
        case .keystoreReadError(let status, let cause):
            "the key store cannot be read: \(Self.text(ofStatus: status, cause))"
        case .keystoreUpdateError(let status, let cause):
            "the key store cannot be written: \(Self.text(ofStatus: status, cause))"
        case .mustWait(let seconds): "too many wrong passwords; try again in \(seconds) s"
        }
    }

    private static func text(ofStatus status: Int32, _ cause: (any Error)?) -> String {
        if let cause { return "\(CauseText.of(cause)) (\(status))" }
        return switch status {
        case KeyStoreStatus.unavailable:
            "it is locked or not available; try again later (\(status))"
        case KeyStoreStatus.notFound: "no such entry exists (\(status))"
        case -25299: "the entry already exists (\(status))"
        case -25293: "it refused access; check its permissions (\(status))"
        case -26275: "an entry is damaged; restore it from a backup (\(status))"
        default: "status \(status)"
        }
    }
}

extension SecureVaultError: LocalizedError {
    /// The description.
    public var errorDescription: String? { description }
}

extension SecureVaultError: CustomReflectable {
    /// A mirror without children, because a cause from the app may hold anything.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension SecureVaultError: CustomNSError {
    /// `SecureVaultError`.
    public static var errorDomain: String { "SecureVaultError" }

    /// 1 to 16, in the order of the cases.
    public var errorCode: Int {
        switch self {
        case .initFailed: 1
        case .authRequired: 2
        case .invalidPassword: 3
        case .noL1Key: 4
        case .noL2Key: 5
        case .authError: 6
        case .failedToOpenDatabase: 7
        case .databaseError: 8
        case .duplicateRecord: 9
        case .keystoreError: 10
        case .secError: 11
        case .generalCryptoError: 12
        case .encodingFailed: 13
        case .keystoreReadError: 14
        case .keystoreUpdateError: 15
        case .mustWait: 16
        }
    }

    /// The cause under `NSUnderlyingErrorKey` if it is an error of this package, and SQLite's
    /// primary result code under `SQLiteResultCode`.
    ///
    /// For nested causes, both are those of the innermost one.
    public var errorUserInfo: [String: Any] {
        var info: [String: Any] = [NSLocalizedDescriptionKey: description]
        switch self {
        case .keystoreError(let status, _), .keystoreReadError(let status, _),
            .keystoreUpdateError(let status, _):
            info[NSUnderlyingErrorKey] = NSError(domain: "keystoreError", code: Int(status))
        case .secError(let status):
            info[NSUnderlyingErrorKey] = NSError(domain: "secError", code: Int(status))
        default:
            guard let cause else { return info }
            if let cause = cause as? SecureVaultError {
                return cause.errorUserInfo.merging(info) { _, outer in outer }
            }
            if CauseText.own(cause) != nil { info[NSUnderlyingErrorKey] = cause }
            if let code = (cause as? SecureStorageError)?.primaryCode {
                info["SQLiteResultCode"] = NSNumber(value: code)
            }
        }
        return info
    }
}

extension SecureStorageError {
    /// SQLite's primary result code; 26 is SQLITE_NOTADB, its response to a wrong key.
    fileprivate var primaryCode: Int? {
        switch self {
        case .authenticationFailed, .notEncrypted: SQLiteResultCode.notADatabase.rawValue
        case .closed: SQLiteResultCode.misuse.rawValue
        default: resultCode?.primary.rawValue
        }
    }
}
