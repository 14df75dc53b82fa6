internal import Crypto
public import Foundation
internal import SecureStoragePlatform

/// One data key, wrapped by one key-encryption key: a record to store.
///
/// AES-256-GCM ([NIST SP 800-38D](https://csrc.nist.gov/pubs/sp/800/38/d/final)) with a random
/// nonce of 96 bits and a key of its own, which HKDF derives from the key-encryption key. The
/// format and its version, both names, and the derivation of the key-encryption key are
/// authenticated: a record under another name, or with other parameters, does not unwrap. The byte
/// format is in `Docs/FileFormats.md`.
///
/// A record commits to its key-encryption key: nobody can make one that two passwords unwrap, which
/// AES-GCM alone would allow.
///
/// An unkeyed checksum distinguishes damage from a wrong key. Anyone who edits a record on purpose
/// can choose which of the two errors is reported, but never learns the key.
public struct WrappedKey: Sendable, Equatable {
    /// The origin of a key-encryption key.
    public enum Origin: Sendable, Equatable {
        /// A random key that is stored elsewhere.
        case key
        /// A password, derived by scrypt.
        case password(ScryptParameters, salt: Data)
        /// A recovery code, derived by HKDF.
        case recoveryCode(salt: Data)
    }

    /// The name of the wrapped key.
    public let dataKeyName: String

    /// The name of the wrapping key.
    public let keyEncryptionKeyName: String

    /// The origin of the wrapping key.
    public let origin: Origin

    /// The nonce, the wrapped key and the tag.
    let box: Data

    /// Lets a holder of the wrapping key recognise it.
    let commitment: Data

    static let boxLength = AESGCM.overhead + KeyMaterial.length

    /// Wraps a key.
    ///
    /// - Parameters:
    ///   - dataKey: The key to wrap.
    ///   - key: The key to wrap it with.
    /// - Throws: `EnvelopeError.cleared` if one of them was cleared.
    public init(wrapping dataKey: DataEncryptionKey, with key: KeyEncryptionKey) throws {
        dataKeyName = dataKey.name
        keyEncryptionKeyName = key.name
        origin = key.origin
        let header = Self.header(dataKeyName, keyEncryptionKeyName, origin)
        let (plaintext, wrapping) = (try dataKey.material.secret(), try key.material.secret())
        defer { Scrubbing.encryption() }
        let nonce = RandomBytes.make(AESGCM.nonceLength)
        commitment = Self.commitment(wrapping, nonce)
        box = try plaintext.withUnsafeBytes {
            try AESGCM.seal(
                $0, key: Self.derived(wrapping, "encryption", nonce), nonce: nonce,
                authenticating: header)
        }
    }

    /// Unwraps the data key.
    ///
    /// - Parameter source: The wrapping key, the password or the recovery code. A password costs
    ///   the time and the memory of its ``ScryptParameters``.
    /// - Returns: The data key, under its name.
    /// - Throws: `EnvelopeError`: `.wrongKey`, `.wrongPassword` or `.wrongRecoveryCode`;
    ///   `.noSuchKey` if the record was not wrapped by a key of this name and kind.
    public func unwrap(with source: some KeyEncryptionKeySource) throws -> DataEncryptionKey {
        guard source.name == keyEncryptionKeyName else {
            throw EnvelopeError.noSuchKey(name: source.name)
        }
        let key = try source.key(for: self)
        guard key.origin == origin else { throw EnvelopeError.noSuchKey(name: source.name) }
        let wrapping = try key.material.secret()
        let header = Self.header(dataKeyName, keyEncryptionKeyName, origin)
        let nonce = [UInt8](box.prefix(AESGCM.nonceLength))
        defer { Scrubbing.encryption() }
        guard Self.commitment(wrapping, nonce) == commitment,
            var plaintext = AESGCM.open(
                box, key: Self.derived(wrapping, "encryption", nonce), authenticating: header)
        else { throw wrongKey }
        return try DataEncryptionKey(name: dataKeyName, bytes: SecretBytes(erasing: &plaintext))
    }

    private static func commitment(_ wrapping: SecretBytes, _ nonce: [UInt8]) -> Data {
        derived(wrapping, "commitment", nonce).withUnsafeBytes { Data($0) }
    }

    private static func derived(
        _ wrapping: SecretBytes, _ use: String, _ nonce: [UInt8]
    ) -> SymmetricKey {
        var info = ByteWriter()
        info.part("SecureStorage wrapped key 1")
        info.part(use)
        info.part(nonce)
        return KeyDerivation.expand(wrapping, info: info.bytes)
    }

    /// Whether the key was wrapped with a password that is cheaper to guess than with the current
    /// default.
    ///
    /// ``WrappedKeySet/upgrade(unlocking:)`` rewraps it.
    public var needsUpgrade: Bool {
        strongerParameters(than: .default) != nil
    }

    /// Returns the parameters with which to wrap the key again with a password; nil if the record
    /// is no weaker than one with `wanted`.
    package func strongerParameters(than wanted: ScryptParameters) -> ScryptParameters? {
        switch origin {
        case .password(let parameters, _):
            parameters.isWeaker(than: wanted) ? wanted : nil
        case .key, .recoveryCode: nil
        }
    }

    private var wrongKey: EnvelopeError {
        switch origin {
        case .key: .wrongKey(name: keyEncryptionKeyName)
        case .password: .wrongPassword(name: keyEncryptionKeyName)
        case .recoveryCode: .wrongRecoveryCode(name: keyEncryptionKeyName)
        }
    }
}

extension WrappedKey.Origin {
    /// The parameters of a password; nil for other origins.
    package var scryptParameters: ScryptParameters? {
        switch self {
        case .password(let parameters, _): parameters
        case .key, .recoveryCode: nil
        }
    }
}

extension WrappedKey: CustomStringConvertible, CustomReflectable {
    /// The two names and the kind, never any bytes.
    public var description: String {
        let kind =
            switch origin {
            case .key: "key"
            case .password: "password"
            case .recoveryCode: "recovery code"
            }
        return "\(dataKeyName.debugDescription) wrapped by \(kind) "
            + keyEncryptionKeyName.debugDescription
    }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
