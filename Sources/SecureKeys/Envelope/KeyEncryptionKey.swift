/// A key that only wraps data keys: 256 bits and a name.
///
/// It is kept in the system's key store, or comes from a ``PasswordKey`` or a ``RecoveryCode``. It
/// prints as `<redacted>` and cannot be encoded.
///
/// Thread-safe. Its bytes are overwritten by ``clear()``, or when the last reference is released.
public final class KeyEncryptionKey: Sendable {
    /// The name: 1 to 255 bytes of UTF-8, not secret, stored in the records that this key wraps.
    public let name: String

    /// Where the key comes from; stored in the records that it wraps.
    let origin: WrappedKey.Origin
    package let material: KeyMaterial

    /// Creates a key that was derived in the way that `origin` describes.
    package init(name: String, bytes: SecretBytes, origin: WrappedKey.Origin) throws {
        self.name = name
        self.origin = origin
        material = try KeyMaterial(name: name, bytes: bytes)
    }

    /// Creates a key from existing bytes, for instance from a key store.
    ///
    /// - Parameters:
    ///   - name: 1 to 255 bytes of UTF-8.
    ///   - bytes: Exactly 32 random bytes, not all of them zero; not a password: see
    ///     ``PasswordKey``.
    /// - Throws: `EnvelopeError.unacceptableKey`.
    public convenience init(name: String, bytes: SecretBytes) throws {
        try self.init(name: name, bytes: bytes, origin: .key)
    }

    /// Returns a new key from the system's random number generator.
    ///
    /// - Parameter name: 1 to 255 bytes of UTF-8.
    /// - Returns: A unique key: store its ``secret()`` before wrapping anything with it.
    /// - Throws: `EnvelopeError.unacceptableKey` for the name.
    public static func random(name: String) throws -> KeyEncryptionKey {
        try KeyEncryptionKey(name: name, bytes: .random(count: KeyMaterial.length))
    }

    /// Whether the key was cleared and can no longer be used.
    public var isCleared: Bool { material.isCleared }

    /// Overwrites the key for every holder of a reference, unless its ``secret()`` is still held.
    public func clear() {
        material.clear()
    }

    /// Returns the key itself, for storage in a key store.
    ///
    /// - Returns: 32 bytes, which are overwritten only when the last reference to them is released.
    /// - Throws: `EnvelopeError.cleared`.
    public func secret() throws -> SecretBytes {
        try material.secret()
    }
}

extension KeyEncryptionKey: CustomStringConvertible, CustomReflectable {
    /// Always `<redacted>`.
    public var description: String { "<redacted>" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The source of a key-encryption key: the key itself, a password or a recovery code.
public protocol KeyEncryptionKeySource: Sendable {
    /// The name of the key and of its record in a set.
    var name: String { get }

    /// Makes a key for a new record.
    ///
    /// - Returns: A key, with a fresh salt if it is derived.
    /// - Throws: `EnvelopeError`.
    func makeKey() throws -> KeyEncryptionKey

    /// Returns the key for an existing record.
    ///
    /// - Parameter record: States how the key was derived and with which salt.
    /// - Returns: The key; only unwrapping shows whether it is the right one.
    /// - Throws: `EnvelopeError.noSuchKey` if the record was wrapped by a key of another kind.
    func key(for record: WrappedKey) throws -> KeyEncryptionKey
}

extension KeyEncryptionKey: KeyEncryptionKeySource {
    /// Returns this key.
    ///
    /// - Returns: `self`.
    public func makeKey() -> KeyEncryptionKey { self }

    /// Returns this key.
    ///
    /// - Parameter record: Not examined before unwrapping.
    /// - Returns: `self`.
    public func key(for record: WrappedKey) -> KeyEncryptionKey { self }
}
