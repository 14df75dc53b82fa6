package import Crypto
package import Foundation

/// The keys of a file's pages, for work on its pages outside of the engine.
package struct PageKeys: Sendable {
    private let cipher: PageCipher
    private let key: SecretBytes
    /// The file's salt: its first bytes, or those of its salt file.
    package let salt: [UInt8]

    init(_ key: DerivedKey, _ settings: CipherConfiguration) throws {
        cipher = try PageCipher(key, settings)
        self.key = key.key
        salt = key.salt
    }

    /// Derives the keys of a file with this salt.
    ///
    /// - Throws: `.authenticationFailed` for a key of another form.
    package init(_ key: DatabaseKey, salt: [UInt8], _ settings: CipherConfiguration) throws {
        try self.init(EncryptionKey(key).derived(salt: salt, cipher: settings), settings)
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

    /// Returns whether these bytes are this page of a file with this key.
    ///
    /// - Parameters:
    ///   - page: The stored bytes.
    ///   - number: The page's number, from 1.
    /// - Returns: Whether they are; true for the page on which SQLite locks.
    package func isAuthentic(_ page: UnsafeRawBufferPointer, number: UInt32) -> Bool {
        // SQLite locks there, and nothing is ever written.
        number == cipher.format.lockPage || cipher.isAuthentic(page, number: number)
    }
}
