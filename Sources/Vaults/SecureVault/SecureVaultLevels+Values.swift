public import Foundation
public import SecureStorage

// One value per call. For several values, `withL2` and `withL3` need the password only once.

extension SecureVaultLevels {
    /// Encrypts for L2.
    ///
    /// - Parameter data: At most 1 GiB.
    /// - Returns: The ciphertext.
    /// - Throws: `SecureVaultError`: `.authRequired` when L2 is locked; `.keystoreReadError`,
    ///   `.generalCryptoError`.
    public func l2Encrypt(data: Data) throws -> Data {
        try withL2 { try $0.encrypt(data) }
    }

    /// Decrypts the result of ``l2Encrypt(data:)``.
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
    ///   - sealed: The result of ``l2Seal(_:table:column:row:)``.
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
    ///   - data: At most 1 GiB.
    ///   - password: The user's password.
    /// - Returns: The ciphertext.
    /// - Throws: `SecureVaultError`: `.invalidPassword`, `.mustWait(seconds:)`,
    ///   `.keystoreReadError`, `.generalCryptoError`.
    public func l3Encrypt(data: Data, password: SecretBytes) throws -> Data {
        try withL3(password: password) { try $0.encrypt(data) }
    }

    /// Decrypts the result of ``l3Encrypt(data:password:)``.
    ///
    /// - Parameters:
    ///   - data: The ciphertext.
    ///   - password: The user's password.
    /// - Returns: The plaintext.
    /// - Throws: `SecureVaultError`: `.invalidPassword`, `.mustWait(seconds:)`,
    ///   `.generalCryptoError`, `.keystoreReadError`.
    public func l3Decrypt(data: Data, password: SecretBytes) throws -> Data {
        try withL3(password: password) { try $0.decrypt(data) }
    }
}
