/// The errors of a vault, divided by what a caller can do about them.
///
/// Code ported from another SecureVault, where this type is named `SecureStorageError`, adds
/// `typealias SecureStorageError = SecureVaultError`. The type of that name in the module
/// SecureStorage is a different one: it is the cause of ``databaseError(cause:)`` and
/// ``failedToOpenDatabase(cause:)``.
///
/// As an `NSError` it has the domain `SecureVaultError` and the codes 1 to 16, in the order below.
/// It holds no key and no password, and prints a cause only if that is an error of this package, or
/// of the system: its number and the path.
public enum SecureVaultError: Error {
    /// The vault could not be made.
    case initFailed(cause: any Error)

    /// The password is required: it has not been given yet, or has expired.
    case authRequired

    /// The password is wrong.
    case invalidPassword

    /// The device's key is missing and the data cannot be read without it; nothing was replaced.
    ///
    /// Restore the key store from a backup, or remove the database if its data is not needed.
    case noL1Key

    /// The wrapped key of L2, or the salt of its password, is missing; nothing was replaced.
    case noL2Key

    /// The password could not be checked.
    case authError(cause: any Error)

    /// The database could not be opened; its file was neither changed nor moved.
    case failedToOpenDatabase(cause: any Error)

    /// The database refused the operation, or failed.
    case databaseError(cause: any Error)

    /// The record already exists; for vaults of apps.
    case duplicateRecord

    /// The key store failed; the status is that of Apple's Security framework, on all platforms,
    /// and the cause a `KeyStoreError`, which names the entry.
    case keystoreError(status: Int32, cause: (any Error)? = nil)

    /// A system function failed.
    case secError(status: Int32)

    /// Data cannot be encrypted or decrypted: it was changed, or belongs to another key or place.
    case generalCryptoError

    /// A value cannot be encoded for storage, or decoded.
    case encodingFailed

    /// An entry of the key store cannot be read; see ``isKeyStoreUnavailable``.
    case keystoreReadError(status: Int32, cause: (any Error)? = nil)

    /// An entry of the key store cannot be written; see ``isKeyStoreUnavailable``.
    case keystoreUpdateError(status: Int32, cause: (any Error)? = nil)

    /// Too many passwords were wrong; the password was not tried, and may be tried in this many
    /// seconds.
    case mustWait(seconds: Int)
}

extension SecureVaultError {
    /// Whether the key store is locked or temporarily unavailable: the same call can succeed later.
    ///
    /// It says nothing about which keys exist, so nothing was made or replaced.
    public var isKeyStoreUnavailable: Bool {
        switch self {
        case .keystoreError(KeyStoreStatus.unavailable, _),
            .keystoreReadError(KeyStoreStatus.unavailable, _),
            .keystoreUpdateError(KeyStoreStatus.unavailable, _):
            true
        default: (cause as? SecureVaultError)?.isKeyStoreUnavailable ?? false
        }
    }

    /// The error that caused this one.
    public var cause: (any Error)? {
        switch self {
        case .initFailed(let cause), .authError(let cause), .failedToOpenDatabase(let cause),
            .databaseError(let cause):
            cause
        case .keystoreError(_, let cause), .keystoreReadError(_, let cause),
            .keystoreUpdateError(_, let cause):
            cause
        default: nil
        }
    }

    /// Returns the error for a failure of reading the key store.
    static func keystoreUnreadable(_ cause: any Error) -> SecureVaultError {
        .keystoreReadError(status: KeyStoreStatus.of(cause), cause: cause)
    }

    /// Returns the error itself if it is a `SecureVaultError`, otherwise the result of `wrap`.
    static func make(
        of error: any Error, _ wrap: (any Error) -> SecureVaultError
    ) -> SecureVaultError {
        error as? SecureVaultError ?? wrap(error)
    }
}

/// The status of a key store failure, as Apple's Security framework reports the same failure.
enum KeyStoreStatus {
    static let unavailable: Int32 = -25308  // errSecInteractionNotAllowed
    static let notFound: Int32 = -25300  // errSecItemNotFound

    static func of(_ error: any Error) -> Int32 {
        switch error as? KeyStoreError {
        case .notFound: notFound
        case .alreadyExists: -25299  // errSecDuplicateItem
        case .unavailable: unavailable
        case .refused: -25293  // errSecAuthFailed
        case .damaged: -26275  // errSecDecode
        case .invalidName: -50  // errSecParam
        case nil: -2070  // errSecInternalError
        }
    }
}
