internal import Crypto
internal import SecureStoragePlatform

/// A key that data is sealed with: 256 bits and a name.
///
/// It is stored in a ``WrappedKeySet``, wrapped by one or several ``KeyEncryptionKey``s. The two
/// key types are distinct so that data cannot be sealed with the wrong one.
///
/// The key itself is only used to derive others, one per purpose ([RFC
/// 5869](https://www.rfc-editor.org/rfc/rfc5869), section 2.3): for values, for each stream, and
/// those of ``derivedKey(for:)``. It prints as `<redacted>` and cannot be encoded.
///
/// Thread-safe. Its bytes are overwritten by ``clear()``, or when the last reference is released.
public final class DataEncryptionKey: Sendable {
    /// The name: 1 to 255 bytes of UTF-8, not secret, authenticated with every ciphertext.
    public let name: String

    package let material: KeyMaterial

    /// Creates a key from existing bytes, for instance from another store.
    ///
    /// - Parameters:
    ///   - name: 1 to 255 bytes of UTF-8.
    ///   - bytes: Exactly 32 random bytes, not all of them zero; not a password.
    /// - Throws: `EnvelopeError.unacceptableKey`.
    public init(name: String, bytes: SecretBytes) throws {
        self.name = name
        material = try KeyMaterial(name: name, bytes: bytes)
    }

    /// Returns a new key from the system's random number generator.
    ///
    /// - Parameter name: 1 to 255 bytes of UTF-8.
    /// - Returns: A unique key.
    /// - Throws: `EnvelopeError.unacceptableKey` for the name.
    public static func random(name: String) throws -> DataEncryptionKey {
        try DataEncryptionKey(name: name, bytes: .random(count: KeyMaterial.length))
    }

    /// Whether the key was cleared and can no longer be used.
    public var isCleared: Bool { material.isCleared }

    /// Overwrites the key, for every holder of a reference.
    ///
    /// A call in progress on another thread finishes with the key it started with.
    public func clear() {
        material.clear()
    }

    /// Returns a 32-byte key for one purpose, for instance for a separate database; the same every
    /// time.
    ///
    /// - Parameter purpose: What the key is for; not secret. Different purposes give unrelated
    ///   keys, none of which reveals anything about this one.
    /// - Returns: The key, derived by HKDF-Expand with HMAC-SHA256.
    /// - Throws: `EnvelopeError.cleared`.
    public func derivedKey(for purpose: String) throws -> SecretBytes {
        SecretBytes(copying: try subkey("derived", purpose))
    }

    /// Returns the key for a use within the library; other uses and purposes give unrelated keys.
    func subkey(
        _ use: StaticString, _ purpose: String = "", salt: [UInt8] = []
    ) throws -> SymmetricKey {
        Self.subkey(of: try material.secret(), use, purpose, salt: salt)
    }

    static func subkey(
        of key: SecretBytes, _ use: StaticString, _ purpose: String = "", salt: [UInt8] = []
    ) -> SymmetricKey {
        var info = ByteWriter()
        info.part("SecureStorage data key 1")
        info.part(use.description)
        info.part(purpose)
        info.part(salt)
        return KeyDerivation.expand(key, info: info.bytes)
    }
}

extension DataEncryptionKey: CustomStringConvertible, CustomReflectable {
    /// Always `<redacted>`.
    public var description: String { "<redacted>" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
