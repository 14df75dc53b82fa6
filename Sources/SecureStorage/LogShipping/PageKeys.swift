package import Crypto
package import Foundation

/// The key and the salt of a file, for work on its pages outside of the engine.
package struct PageKeys: Sendable {
    private let key: DerivedKey
    /// The file's salt: its first bytes, or those of its salt file.
    package var salt: [UInt8] { key.salt }

    init(_ key: DerivedKey) { self.key = key }

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
        key.key.withUnsafeBytes {
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: SymmetricKey(data: $0), salt: salt, info: Data(purpose.utf8),
                outputByteCount: 32)
        }
    }

    /// Returns a check of pages by their own HMACs.
    package func check(_ settings: CipherConfiguration) throws -> PageCheck {
        PageCheck(cipher: try PageCipher(key, settings))
    }
}

/// Checks that pages are as the database has written them.
package struct PageCheck: Sendable {
    fileprivate let cipher: PageCipher

    /// - Parameters:
    ///   - page: Exactly a page.
    ///   - number: Its number, from 1.
    /// - Returns: Whether it is.
    package func isSound(_ page: Data, number: UInt32) -> Bool {
        page.withUnsafeBytes { bytes in
            // The engine stores nothing in some pages, and reads zeros there.
            cipher.isAuthentic(bytes, number: number) || bytes.allSatisfy { $0 == 0 }
        }
    }
}
