/// What can go wrong with a vault, as a caller can act on it.
///
/// Code that comes from another SecureVault, where this type is called `SecureStorageError`, adds
/// `typealias SecureStorageError = SecureVaultError`. The type of that name in the module
/// SecureStorage is another one: it is the cause of ``databaseError(cause:)`` and
/// ``failedToOpenDatabase(cause:)``.
///
/// As an `NSError` it has the domain `SecureVaultError` and the codes 1 to 15, in the order below.
/// It holds no key and no password, and prints a cause only if that is an error of this package.
public enum SecureVaultError: Error {
    /// The vault could not be made.
    case initFailed(cause: any Error)

    /// The password is needed: it was not given yet, or too long ago.
    case authRequired

    /// That is not the password.
    case invalidPassword

    /// The device's key is missing, and the data cannot be read without it: nothing was replaced.
    ///
    /// Restore the key store from a backup, or remove the database if its data is not needed.
    case noL1Key

    /// The wrapped key of L2, or the salt of its password, is missing: nothing was replaced.
    case noL2Key

    /// The password could not be checked.
    case authError(cause: any Error)

    /// The database could not be opened; its file was neither changed nor moved.
    case failedToOpenDatabase(cause: any Error)

    /// The database refused, or failed.
    case databaseError(cause: any Error)

    /// There is such a record already; for vaults of apps.
    case duplicateRecord

    /// The key store failed; the status is one of Apple's Security framework, on all platforms.
    case keystoreError(status: Int32)

    /// A function of the system failed.
    case secError(status: Int32)

    /// Data cannot be encrypted or decrypted: it was changed, or belongs to another key or place.
    case generalCryptoError

    /// A value cannot be brought into the form in which it is stored, or back.
    case encodingFailed

    /// An entry of the key store cannot be read; see ``isKeyStoreUnavailable``.
    case keystoreReadError(status: Int32)

    /// An entry of the key store cannot be written; see ``isKeyStoreUnavailable``.
    case keystoreUpdateError(status: Int32)
}

extension SecureVaultError {
    /// Whether the key store is locked, or not there now: the same call can succeed later.
    ///
    /// It says nothing about which keys there are, so nothing was made or replaced.
    public var isKeyStoreUnavailable: Bool {
        switch self {
        case .keystoreError(KeyStoreStatus.unavailable),
            .keystoreReadError(KeyStoreStatus.unavailable),
            .keystoreUpdateError(KeyStoreStatus.unavailable):
            true
        default: (cause as? SecureVaultError)?.isKeyStoreUnavailable ?? false
        }
    }

    /// The error that this one was made of.
    public var cause: (any Error)? {
        switch self {
        case .initFailed(let cause), .authError(let cause), .failedToOpenDatabase(let cause),
            .databaseError(let cause):
            cause
        default: nil
        }
    }

    /// The error as it is, if it is one of these, else what `wrap` makes of it.
    static func make(
        of error: any Error, _ wrap: (any Error) -> SecureVaultError
    ) -> SecureVaultError {
        error as? SecureVaultError ?? wrap(error)
    }
}

/// The status of a failure of a key store: what Apple's Security framework returns for the same
/// failure.
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
