package import Crypto
package import Foundation

/// The key and the salt of a file, for work on its pages outside of the engine.
package struct PageKeys: Sendable {
    private let key: SecretBytes
    /// The file's salt: its first bytes, or those of its salt file.
    package let salt: [UInt8]

    init(_ key: DerivedKey) {
        self.key = key.key
        salt = key.salt
    }

    /// Derives the keys of a file with this salt.
    ///
    /// - Throws: `.authenticationFailed` for a key of another form.
    package init(_ key: DatabaseKey, salt: [UInt8], _ settings: CipherConfiguration) throws {
        self.init(try EncryptionKey(key).derived(salt: salt, cipher: settings))
    }

    /// Returns a key for another purpose, which only those can derive who have the file's.
    ///
    /// The function is HKDF with SHA-256 (RFC 5869).
    package func key(for purpose: String) -> SymmetricKey {
        key.withUnsafeBytes {
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: SymmetricKey(data: $0), salt: salt, info: Data(purpose.utf8),
                outputByteCount: 32)
        }
    }
}
