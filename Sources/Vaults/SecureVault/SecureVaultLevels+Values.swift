public import Foundation
public import SecureStorage

// One value each. For several, `withL2` and `withL3` ask once.

extension SecureVaultLevels {
    /// Encrypts for L2.
    ///
    /// - Parameter data: Any number of bytes.
    /// - Returns: The ciphertext.
    /// - Throws: `SecureVaultError`: `.authRequired` when L2 is locked; `.keystoreReadError`.
    public func l2Encrypt(data: Data) throws -> Data {
        try withL2 { try $0.encrypt(data) }
    }

    /// Decrypts what ``l2Encrypt(data:)`` has returned.
    ///
    /// - Parameter data: The ciphertext.
    /// - Returns: The plaintext.
    /// - Throws: `SecureVaultError`: `.authRequired` when L2 is locked; `.generalCryptoError`.
    public func l2Decrypt(data: Data) throws -> Data {
        try withL2 { try $0.decrypt(data) }
    }

    /// Seals a value for L2 and one place of the database.
    ///
    /// - Parameters:
    ///   - plaintext: At most 1 GiB.
    ///   - table: The table's name.
    ///   - column: The column's name.
    ///   - row: The row's key.
    /// - Returns: 41 bytes more than the plaintext.
    /// - Throws: `SecureVaultError`: `.authRequired` when L2 is locked; `.keystoreReadError`.
    public func l2Seal(
        _ plaintext: Data, table: String, column: String, row: RowIdentity
    ) throws -> Data {
        try withL2 { try $0.seal(plaintext, table: table, column: column, row: row) }
    }

    /// Opens a value of L2 at its place.
    ///
    /// - Parameters:
    ///   - sealed: As ``l2Seal(_:table:column:row:)`` has returned it.
    ///   - table: The table's name.
    ///   - column: The column's name.
    ///   - row: The row's key.
    /// - Returns: The plaintext.
    /// - Throws: `SecureVaultError`: `.authRequired` when L2 is locked; `.generalCryptoError` when
    ///   the value was changed or moved.
    public func l2Open(
        _ sealed: Data, table: String, column: String, row: RowIdentity
    ) throws -> Data {
        try withL2 { try $0.open(sealed, table: table, column: column, row: row) }
    }

    /// Encrypts for L3.
    ///
    /// - Parameters:
    ///   - data: Any number of bytes.
    ///   - password: The user's.
    /// - Returns: The ciphertext.
    /// - Throws: `SecureVaultError`: `.invalidPassword`, `.keystoreReadError`.
    public func l3Encrypt(data: Data, password: SecretBytes) throws -> Data {
        try withL3(password: password) { try $0.encrypt(data) }
    }

    /// Decrypts what ``l3Encrypt(data:password:)`` has returned.
    ///
    /// - Parameters:
    ///   - data: The ciphertext.
    ///   - password: The user's.
    /// - Returns: The plaintext.
    /// - Throws: `SecureVaultError`: `.invalidPassword`, `.generalCryptoError`,
    ///   `.keystoreReadError`.
    public func l3Decrypt(data: Data, password: SecretBytes) throws -> Data {
        try withL3(password: password) { try $0.decrypt(data) }
    }
}
