public import Foundation
internal import SecureStoragePlatform
public import Vaults

/// A provider that does not encrypt and records its arguments.
///
/// ``encrypt(_:withKey:)`` returns the plaintext, ``decrypt(_:withKey:)`` the result that the test
/// has set. Thread-safe.
public final class MockCryptoProvider: SecureStorageCryptoProvider {
    private struct State {
        var derivedKey: Data?
        var decryptedData: Data?
        var lastDataToDecrypt: Data?
        var lastDataToEncrypt: Data?
        var lastKey: Data?
        var hashingSalt: Data?
    }

    private let state = Locked(State())

    /// Creates a provider for which no results are set.
    public init() {}

    /// The result of `deriveKeyFromPassword`; if nil, it throws `.invalidPassword`.
    public var _derivedKey: Data? {
        get { state.withLock { $0.derivedKey } }
        set { state.withLock { $0.derivedKey = newValue } }
    }

    /// The result of `decrypt`; if nil, it throws `.invalidPassword`.
    ///
    /// `SecureVaultLevels` needs 32 bytes here, not all of them zero.
    public var _decryptedData: Data? {
        get { state.withLock { $0.decryptedData } }
        set { state.withLock { $0.decryptedData = newValue } }
    }

    /// The last argument of `decrypt`.
    public var _lastDataToDecrypt: Data? { state.withLock { $0.lastDataToDecrypt } }

    /// The last argument of `encrypt`.
    public var _lastDataToEncrypt: Data? { state.withLock { $0.lastDataToEncrypt } }

    /// The last key that was passed to `encrypt` or `decrypt`.
    public var _lastKey: Data? { state.withLock { $0.lastKey } }

    /// The salt of hashes, or nil until a test sets one.
    public var hashingSalt: Data? {
        get { state.withLock { $0.hashingSalt } }
        set { state.withLock { $0.hashingSalt = newValue } }
    }

    /// 16 bytes.
    public var passwordSalt: Data { Data(repeating: 1, count: 16) }

    /// `service`.
    public var keychainServiceName: String { "service" }

    /// `account`.
    public var keychainAccountName: String { "account" }

    /// Returns the same key every time.
    ///
    /// - Returns: 32 bytes.
    public func generateSecretKey() throws -> Data { Data(repeating: 2, count: 32) }

    /// Returns the same password every time.
    ///
    /// - Returns: 32 bytes.
    public func generatePassword() throws -> Data { Data(repeating: 3, count: 32) }

    /// Returns the key that the test has set.
    ///
    /// - Parameter password: Ignored.
    /// - Returns: `_derivedKey`.
    /// - Throws: `SecureVaultError.invalidPassword` when none is set.
    public func deriveKeyFromPassword(_ password: Data) throws -> Data {
        guard let key = _derivedKey else { throw SecureVaultError.invalidPassword }
        return key
    }

    /// Returns the plaintext and records the arguments.
    ///
    /// - Parameters:
    ///   - data: Recorded in `_lastDataToEncrypt`.
    ///   - key: Recorded in `_lastKey`.
    /// - Returns: The plaintext.
    /// - Throws: Nothing.
    public func encrypt(_ data: Data, withKey key: Data) throws -> Data {
        state.withLock { state in
            state.lastDataToEncrypt = Data([UInt8](data))
            state.lastKey = Data([UInt8](key))
        }
        return Data([UInt8](data))
    }

    /// Returns the data that the test has set and records the arguments.
    ///
    /// - Parameters:
    ///   - data: Recorded in `_lastDataToDecrypt`.
    ///   - key: Recorded in `_lastKey`.
    /// - Returns: `_decryptedData`.
    /// - Throws: `SecureVaultError.invalidPassword` when none is set.
    public func decrypt(_ data: Data, withKey key: Data) throws -> Data {
        let decrypted = state.withLock { state in
            state.lastDataToDecrypt = Data([UInt8](data))
            state.lastKey = Data([UInt8](key))
            return state.decryptedData
        }
        guard let decrypted else { throw SecureVaultError.invalidPassword }
        return Data([UInt8](decrypted))
    }
}
