internal import Crypto
public import SecureStorage

/// A key that data is sealed with: 256 bits and a name.
///
/// It is stored wrapped by one or several ``KeyEncryptionKey``s, in a ``WrappedKeySet``. The two
/// are different types so that data cannot be sealed with the wrong one.
///
/// The key itself is at work for nothing but deriving others, one for each purpose ([RFC
/// 5869](https://www.rfc-editor.org/rfc/rfc5869), section 2.3): for values, for each stream, and
/// those of ``derivedKey(for:)``. It prints as `<redacted>` and cannot be encoded.
///
/// Thread-safe. Its bytes are overwritten by ``clear()``, or when the last reference goes.
public final class DataEncryptionKey: Sendable {
    /// The name: 1 to 255 bytes of UTF-8, not secret, part of what each ciphertext is authenticated
    /// with.
    public let name: String

    let material: KeyMaterial

    /// A key that is there already, from another store for instance.
    ///
    /// - Parameters:
    ///   - name: 1 to 255 bytes of UTF-8.
    ///   - bytes: Exactly 32 random bytes, not all of them zero; not a password.
    /// - Throws: `EnvelopeError.unacceptableKey`.
    public init(name: String, bytes: SecretBytes) throws {
        self.name = name
        material = try KeyMaterial(name: name, bytes: bytes)
    }

    /// A new key from the system's generator.
    ///
    /// - Parameter name: 1 to 255 bytes of UTF-8.
    /// - Returns: A key that nobody else has.
    /// - Throws: `EnvelopeError.unacceptableKey` for the name.
    public static func random(name: String) throws -> DataEncryptionKey {
        try DataEncryptionKey(name: name, bytes: .random(count: KeyMaterial.length))
    }

    /// Whether the key was cleared, and is of no use any more.
    public var isCleared: Bool { material.isCleared }

    /// Overwrites the key, for all who refer to it.
    ///
    /// A call that is at work on another thread ends with the key that it has begun with.
    public func clear() {
        material.clear()
    }

    /// A key of 32 bytes for one purpose, the same each time; for a database of its own, for
    /// instance.
    ///
    /// - Parameter purpose: What it is for, not secret. Different purposes give unrelated keys,
    ///   none of which tells anything about this one.
    /// - Returns: The key, HKDF-Expand with HMAC-SHA256.
    /// - Throws: `EnvelopeError.cleared`.
    public func derivedKey(for purpose: String) throws -> SecretBytes {
        SecretBytes(copying: try subkey("derived", purpose))
    }

    /// The key for a use within the library: other uses and other purposes give unrelated ones.
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
    /// `<redacted>`, always.
    public var description: String { "<redacted>" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
