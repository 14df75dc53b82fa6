public import Foundation
public import SecureStorage

/// One level of a vault while it is unlocked, passed by ``SecureVaultLevels`` and not to be kept.
///
/// Use ``seal(_:table:column:row:)-(Data,_,_,_)`` for values of a table: they open only at their
/// own place. Thread-safe.
public struct SecureVaultLevel: Sendable {
    private let crypto: any SecureStorageCryptoProvider
    private let key: DataEncryptionKey

    init(crypto: any SecureStorageCryptoProvider, key: DataEncryptionKey) {
        self.crypto = crypto
        self.key = key
    }

    /// Encrypts; an app's own ``SecureStorageCryptoProvider`` determines how.
    ///
    /// - Parameter data: At most 1 GiB.
    /// - Returns: The ciphertext, which is not bound to a place: 41 bytes more than the data,
    ///   unless the crypto provider is an app's own.
    /// - Throws: `SecureVaultError.authRequired` when the vault was locked in the meantime;
    ///   `.generalCryptoError`.
    public func encrypt(_ data: Data) throws -> Data {
        try mapped {
            guard crypto is VaultCryptoProvider else {
                return try withCipherKey { try crypto.encrypt(data, withKey: $0) }
            }
            return try key.seal(
                data, table: Self.anyPlace, column: Self.anyPlace, row: .text(Self.anyPlace))
        }
    }

    /// Of values that are bound to no place, only to the level.
    private static let anyPlace = ""

    /// Decrypts the result of ``encrypt(_:)``.
    ///
    /// - Parameter data: The ciphertext.
    /// - Returns: The plaintext.
    /// - Throws: `SecureVaultError.authRequired` when the vault was locked in the meantime;
    ///   `.generalCryptoError` when the data was changed or belongs to another level.
    public func decrypt(_ data: Data) throws -> Data {
        try mapped {
            if crypto is VaultCryptoProvider {
                return try key.open(
                    data, table: Self.anyPlace, column: Self.anyPlace, row: .text(Self.anyPlace))
            }
            return try withCipherKey { try crypto.decrypt(data, withKey: $0) }
        }
    }

    /// Seals a value for one place: see
    /// ``/SecureKeys/DataEncryptionKey/seal(_:table:column:row:)-(Data,_,_,_)``.
    ///
    /// - Parameters:
    ///   - plaintext: At most 1 GiB.
    ///   - table: The table's name.
    ///   - column: The column's name.
    ///   - row: The row's key.
    /// - Returns: 41 bytes more than the plaintext.
    /// - Throws: `SecureVaultError.authRequired` when the vault was locked in the meantime;
    ///   `.generalCryptoError`.
    public func seal(
        _ plaintext: Data, table: String, column: String, row: RowIdentity
    ) throws -> Data {
        try mapped { try key.seal(plaintext, table: table, column: column, row: row) }
    }

    /// Seals a secret for one place.
    ///
    /// - Parameters:
    ///   - secret: At most 1 GiB.
    ///   - table: The table's name.
    ///   - column: The column's name.
    ///   - row: The row's key.
    /// - Returns: 41 bytes more than the secret.
    /// - Throws: `SecureVaultError.authRequired` when the vault was locked in the meantime;
    ///   `.generalCryptoError`.
    public func seal(
        _ secret: SecretBytes, table: String, column: String, row: RowIdentity
    ) throws -> Data {
        try mapped { try key.seal(secret, table: table, column: column, row: row) }
    }

    /// Opens a value that was sealed for the same place.
    ///
    /// - Parameters:
    ///   - sealed: The result of `seal`.
    ///   - table: The table's name.
    ///   - column: The column's name.
    ///   - row: The row's key.
    /// - Returns: The plaintext, in memory that is not cleared.
    /// - Throws: `SecureVaultError.authRequired` when the vault was locked in the meantime;
    ///   `.generalCryptoError` when the value was changed or moved.
    public func open(
        _ sealed: Data, table: String, column: String, row: RowIdentity
    ) throws -> Data {
        try mapped { try key.open(sealed, table: table, column: column, row: row) }
    }

    /// Opens a secret that was sealed for the same place.
    ///
    /// - Parameters:
    ///   - sealed: The result of `seal`.
    ///   - table: The table's name.
    ///   - column: The column's name.
    ///   - row: The row's key.
    /// - Returns: The secret, whose bytes are cleared after use.
    /// - Throws: As ``open(_:table:column:row:)``.
    public func openSecret(
        _ sealed: Data, table: String, column: String, row: RowIdentity
    ) throws -> SecretBytes {
        try mapped { try key.openSecret(sealed, table: table, column: column, row: row) }
    }

    private func withCipherKey(_ body: (Data) throws -> Data) throws -> Data {
        try key.derivedKey(for: "encrypt").withData(body)
    }

    private func mapped<T>(_ body: () throws -> T) throws -> T {
        do {
            return try body()
        } catch EnvelopeError.cleared {
            throw SecureVaultError.authRequired
        } catch is EnvelopeError {
            throw SecureVaultError.generalCryptoError
        } catch SecureVaultError.invalidPassword {
            // Providers throw this for any key that does not fit.
            throw SecureVaultError.generalCryptoError
        }
    }
}

extension SecureVaultLevel: CustomStringConvertible, CustomReflectable {
    /// `<redacted>`, always.
    public var description: String { "<redacted>" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
