public import Foundation
public import Vaults

/// Encryption that encrypts nothing, and takes every password for the right one.
///
/// For tests of what a vault stores. Its ciphertexts are the plaintexts.
public struct NoOpCryptoProvider: SecureStorageCryptoProvider {
    /// The provider; all of them do the same.
    public init() {}

    /// 16 bytes.
    public var passwordSalt: Data { Data(repeating: 1, count: 16) }

    /// 16 bytes.
    public var hashingSalt: Data? { Data(repeating: 1, count: 16) }

    /// `service`.
    public var keychainServiceName: String { "service" }

    /// `account`.
    public var keychainAccountName: String { "account" }

    /// The same key for each password.
    ///
    /// - Parameter password: Of no importance.
    /// - Returns: 32 bytes.
    /// - Throws: Nothing.
    public func deriveKeyFromPassword(_ password: Data) throws -> Data {
        Data(repeating: 2, count: 32)
    }

    /// The plaintext.
    ///
    /// - Parameters:
    ///   - data: The plaintext.
    ///   - key: Of no importance.
    /// - Returns: The plaintext.
    /// - Throws: Nothing.
    public func encrypt(_ data: Data, withKey key: Data) throws -> Data { Data([UInt8](data)) }

    /// The plaintext.
    ///
    /// - Parameters:
    ///   - data: The plaintext.
    ///   - key: Of no importance.
    /// - Returns: The plaintext.
    /// - Throws: Nothing.
    public func decrypt(_ data: Data, withKey key: Data) throws -> Data { Data([UInt8](data)) }
}
