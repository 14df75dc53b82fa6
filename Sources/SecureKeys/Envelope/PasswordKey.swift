internal import Foundation

/// A key-encryption key derived from a password by scrypt.
///
/// Each record has its own random salt of 16 bytes and its parameters, so two records of one
/// password have unrelated keys. Deriving blocks the thread for as long as the ``ScryptParameters``
/// require: about half a second with the default, in an optimised build. The password stays in
/// memory as long as this value.
public struct PasswordKey: KeyEncryptionKeySource {
    /// The name of the key: 1 to 255 bytes of UTF-8, not secret.
    public let name: String

    /// The parameters of new records; an existing record carries its own.
    public let parameters: ScryptParameters

    private let password: SecretBytes

    /// Creates a source from a password as bytes.
    ///
    /// - Parameters:
    ///   - password: At least one byte; as text, two spellings of which are one.
    ///   - name: 1 to 255 bytes of UTF-8.
    ///   - parameters: For new records.
    public init(
        _ password: SecretBytes, name: String = "password",
        parameters: ScryptParameters = .default
    ) {
        self.name = name
        self.parameters = parameters
        self.password = password
    }

    /// Creates a source from a password as text.
    ///
    /// - Parameters:
    ///   - password: Its own memory cannot be cleared, so a password given as bytes is safer. Two
    ///     spellings of é, with one scalar and with two, are the same password.
    ///   - name: 1 to 255 bytes of UTF-8.
    ///   - parameters: For new records.
    public init(
        _ password: String, name: String = "password", parameters: ScryptParameters = .default
    ) {
        self.init(SecretBytes(utf8: password), name: name, parameters: parameters)
    }

    /// Derives a key for a new record, with a fresh salt.
    ///
    /// - Returns: The key. Keep it to avoid deriving it a second time for the same record.
    /// - Throws: `EnvelopeError.unacceptableKey` for an empty password or name.
    public func makeKey() throws -> KeyEncryptionKey {
        let salt = Data(RandomBytes.make(WrappedKey.saltLength))
        return try derive(parameters, salt, origin: .password(parameters, salt: salt))
    }

    /// Derives the key for an existing record.
    ///
    /// - Parameter record: A record that was wrapped with a password.
    /// - Returns: The key; only unwrapping shows whether the password was right.
    /// - Throws: `EnvelopeError.noSuchKey` for a record of another kind.
    public func key(for record: WrappedKey) throws -> KeyEncryptionKey {
        switch record.origin {
        case .password(let parameters, let salt):
            try derive(parameters, salt, origin: record.origin)
        case .key, .recoveryCode: throw EnvelopeError.noSuchKey(name: name)
        }
    }

    /// Returns the same password with other parameters for new records.
    package func with(_ parameters: ScryptParameters) -> PasswordKey {
        PasswordKey(password, name: name, parameters: parameters)
    }

    private func derive(
        _ parameters: ScryptParameters, _ salt: Data, origin: WrappedKey.Origin
    ) throws -> KeyEncryptionKey {
        guard password.count > 0 else {
            throw EnvelopeError.unacceptableKey(reason: "the password is empty")
        }
        do {
            let bytes = try KeyDerivation.scrypt(
                PasswordText.scryptInput(password), salt: Array(salt), cost: parameters.cost,
                blockSize: parameters.blockSize,
                parallelism: parameters.parallelism)
            return try KeyEncryptionKey(name: name, bytes: bytes, origin: origin)
        } catch let error as EnvelopeError {
            throw error
        } catch {
            throw EnvelopeError.limitReached(
                reason: "\(parameters) could not be derived; this needs "
                    + "\(parameters.memory >> 20) MiB of memory")
        }
    }
}

extension PasswordKey: CustomStringConvertible, CustomReflectable {
    /// Always `<redacted>`.
    public var description: String { "<redacted>" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
