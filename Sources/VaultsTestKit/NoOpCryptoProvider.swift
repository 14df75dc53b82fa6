public import Foundation
public import Vaults

/// A provider that does not encrypt and accepts every password.
///
/// Use it to test what a vault stores. Its ciphertexts are the plaintexts.
public struct NoOpCryptoProvider: SecureStorageCryptoProvider {
    /// Creates a provider; all of them behave the same.
    public init() {}

    /// 16 bytes.
    public var passwordSalt: Data { Data(repeating: 1, count: 16) }

    /// 16 bytes.
    public var hashingSalt: Data? { Data(repeating: 1, count: 16) }

    /// `service`.
    public var keychainServiceName: String { "service" }

    /// `account`.
    public var keychainAccountName: String { "account" }

    /// Returns the same key for every password.
    ///
    /// - Parameter password: Ignored.
    /// - Returns: 32 bytes.
    /// - Throws: Nothing.
    public func deriveKeyFromPassword(_ password: Data) throws -> Data {
        Data(repeating: 2, count: 32)
    }

    /// Returns the plaintext.
    ///
    /// - Parameters:
    ///   - data: The plaintext.
    ///   - key: Ignored.
    /// - Returns: The plaintext.
    /// - Throws: Nothing.
    public func encrypt(_ data: Data, withKey key: Data) throws -> Data { Data([UInt8](data)) }

    /// Returns the plaintext.
    ///
    /// - Parameters:
    ///   - data: The plaintext.
    ///   - key: Ignored.
    /// - Returns: The plaintext.
    /// - Throws: Nothing.
    public func decrypt(_ data: Data, withKey key: Data) throws -> Data { Data([UInt8](data)) }
}
