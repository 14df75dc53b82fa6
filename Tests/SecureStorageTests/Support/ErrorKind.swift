import SecureStorage

extension SecureStorageError {
    /// The case, without its associated values.
    enum Kind: String {
        case openFailed, closed, suspended, authenticationFailed, notEncrypted, legacyFormat
        case encryptionKeyChangeFailed, encryptionKeyChangeUnknown, typeConversionFailed
        case backingStoreError
    }

    var kind: Kind {
        switch self {
        case .openFailed: .openFailed
        case .closed: .closed
        case .suspended: .suspended
        case .authenticationFailed: .authenticationFailed
        case .notEncrypted: .notEncrypted
        case .legacyFormat: .legacyFormat
        case .encryptionKeyChangeFailed: .encryptionKeyChangeFailed
        case .encryptionKeyChangeUnknown: .encryptionKeyChangeUnknown
        case .typeConversionFailed: .typeConversionFailed
        case .backingStoreError: .backingStoreError
        }
    }
}
