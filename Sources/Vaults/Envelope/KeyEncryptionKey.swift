public import SecureStorage

/// A key that wraps data keys, and does nothing else: 256 bits and a name.
///
/// It lies in the system's key store, or comes from a ``PasswordKey`` or a ``RecoveryCode``. It
/// prints as `<redacted>` and cannot be encoded.
///
/// Thread-safe. Its bytes are overwritten by ``clear()``, or when the last reference goes.
public final class KeyEncryptionKey: Sendable {
    /// The name: 1 to 255 bytes of UTF-8, not secret, kept in the records that it wraps.
    public let name: String

    /// Where it comes from; kept in the records that it wraps.
    let origin: WrappedKey.Origin
    let material: KeyMaterial

    init(name: String, bytes: SecretBytes, origin: WrappedKey.Origin) throws {
        self.name = name
        self.origin = origin
        material = try KeyMaterial(name: name, bytes: bytes)
    }

    /// A key that is there already, in a key store for instance.
    ///
    /// - Parameters:
    ///   - name: 1 to 255 bytes of UTF-8.
    ///   - bytes: Exactly 32 random bytes, not all of them zero; not a password: see
    ///     ``PasswordKey``.
    /// - Throws: `EnvelopeError.unacceptableKey`.
    public convenience init(name: String, bytes: SecretBytes) throws {
        try self.init(name: name, bytes: bytes, origin: .key)
    }

    /// A new key from the system's generator.
    ///
    /// - Parameter name: 1 to 255 bytes of UTF-8.
    /// - Returns: A key that nobody else has: store its ``secret()`` before anything is wrapped
    ///   with it.
    /// - Throws: `EnvelopeError.unacceptableKey` for the name.
    public static func random(name: String) throws -> KeyEncryptionKey {
        try KeyEncryptionKey(name: name, bytes: .random(count: KeyMaterial.length))
    }

    /// Whether the key was cleared, and is of no use any more.
    public var isCleared: Bool { material.isCleared }

    /// Overwrites the key, for all who refer to it, unless someone holds its ``secret()``.
    public func clear() {
        material.clear()
    }

    /// The key itself, for a key store to keep.
    ///
    /// - Returns: 32 bytes, which are overwritten when nobody refers to them, and not before.
    /// - Throws: `EnvelopeError.cleared`.
    public func secret() throws -> SecretBytes {
        try material.secret()
    }
}

extension KeyEncryptionKey: CustomStringConvertible, CustomReflectable {
    /// `<redacted>`, always.
    public var description: String { "<redacted>" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// What a key-encryption key comes from: the key itself, a password, a recovery code.
public protocol KeyEncryptionKeySource: Sendable {
    /// The name of the key, and of the record in a set.
    var name: String { get }

    /// A key for a new record.
    ///
    /// - Returns: A key, with a fresh salt where it is derived.
    /// - Throws: `EnvelopeError`.
    func makeKey() throws -> KeyEncryptionKey

    /// The key that a record asks for.
    ///
    /// - Parameter record: Tells how the key was derived, and with what salt.
    /// - Returns: The key; whether it is the right one shows when it unwraps.
    /// - Throws: `EnvelopeError.noSuchKey` when the record was wrapped by a key of another kind.
    func key(for record: WrappedKey) throws -> KeyEncryptionKey
}

extension KeyEncryptionKey: KeyEncryptionKeySource {
    /// This key.
    ///
    /// - Returns: `self`.
    public func makeKey() -> KeyEncryptionKey { self }

    /// This key.
    ///
    /// - Parameter record: Looked at when it unwraps.
    /// - Returns: `self`.
    public func key(for record: WrappedKey) -> KeyEncryptionKey { self }
}
