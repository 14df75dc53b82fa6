public import Foundation
public import Vaults

/// Encryption that does nothing and remembers what it was asked for.
///
/// ``encrypt(_:withKey:)`` returns the plaintext, ``decrypt(_:withKey:)`` what the test has set.
/// Thread-safe.
public final class MockCryptoProvider: SecureStorageCryptoProvider, @unchecked Sendable {
    // @unchecked: `state` is only touched under `lock`.
    private struct State {
        var derivedKey: Data?
        var decryptedData: Data?
        var lastDataToDecrypt: Data?
        var lastDataToEncrypt: Data?
        var lastKey: Data?
        var hashingSalt: Data?
    }

    private let lock = NSLock()
    private var state = State()

    /// Without anything set.
    public init() {}

    /// What `deriveKeyFromPassword` returns; nil: it throws `.invalidPassword`.
    public var _derivedKey: Data? {
        get { lock.withLock { state.derivedKey } }
        set { lock.withLock { state.derivedKey = newValue } }
    }

    /// What `decrypt` returns; nil: it throws `.invalidPassword`.
    ///
    /// `SecureVaultLevels` needs 32 bytes here, not all of them zero.
    public var _decryptedData: Data? {
        get { lock.withLock { state.decryptedData } }
        set { lock.withLock { state.decryptedData = newValue } }
    }

    /// What `decrypt` was given last.
    public var _lastDataToDecrypt: Data? { lock.withLock { state.lastDataToDecrypt } }

    /// What `encrypt` was given last.
    public var _lastDataToEncrypt: Data? { lock.withLock { state.lastDataToEncrypt } }

    /// The key that `encrypt` or `decrypt` was given last.
    public var _lastKey: Data? { lock.withLock { state.lastKey } }

    /// The salt of hashes; nil until a test sets one.
    public var hashingSalt: Data? {
        get { lock.withLock { state.hashingSalt } }
        set { lock.withLock { state.hashingSalt = newValue } }
    }

    /// 16 bytes.
    public var passwordSalt: Data { Data(repeating: 1, count: 16) }

    /// `service`.
    public var keychainServiceName: String { "service" }

    /// `account`.
    public var keychainAccountName: String { "account" }

    /// The same key each time.
    ///
    /// - Returns: 32 bytes.
    public func generateSecretKey() throws -> Data { Data(repeating: 2, count: 32) }

    /// The same password each time.
    ///
    /// - Returns: 32 bytes.
    public func generatePassword() throws -> Data { Data(repeating: 3, count: 32) }

    /// What the test has set.
    ///
    /// - Parameter password: Of no importance.
    /// - Returns: ``_derivedKey``.
    /// - Throws: `SecureVaultError.invalidPassword` when none is set.
    public func deriveKeyFromPassword(_ password: Data) throws -> Data {
        guard let key = _derivedKey else { throw SecureVaultError.invalidPassword }
        return key
    }

    /// The plaintext.
    ///
    /// - Parameters:
    ///   - data: Remembered in ``_lastDataToEncrypt``.
    ///   - key: Remembered in ``_lastKey``.
    /// - Returns: The plaintext.
    /// - Throws: Nothing.
    public func encrypt(_ data: Data, withKey key: Data) throws -> Data {
        lock.withLock {
            state.lastDataToEncrypt = Data([UInt8](data))
            state.lastKey = Data([UInt8](key))
        }
        return Data([UInt8](data))
    }

    /// What the test has set.
    ///
    /// - Parameters:
    ///   - data: Remembered in ``_lastDataToDecrypt``.
    ///   - key: Remembered in ``_lastKey``.
    /// - Returns: ``_decryptedData``.
    /// - Throws: `SecureVaultError.invalidPassword` when none is set.
    public func decrypt(_ data: Data, withKey key: Data) throws -> Data {
        let decrypted = lock.withLock {
            state.lastDataToDecrypt = Data([UInt8](data))
            state.lastKey = Data([UInt8](key))
            return state.decryptedData
        }
        guard let decrypted else { throw SecureVaultError.invalidPassword }
        return Data([UInt8](decrypted))
    }
}
