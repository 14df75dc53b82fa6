internal import Crypto
internal import CryptoExtras
internal import Foundation

/// Tells whether a page was written with a key, from its HMAC, without the engine.
///
/// A page ends with its initialisation vector (16 bytes), the HMAC over all before it and the page's
/// number, and padding to a multiple of 16. The key of the HMAC comes from the file's key by two rounds
/// of PBKDF2 with the salt XOR 0x3a. See [SQLCipher's design](https://www.zetetic.net/sqlcipher/design/).
struct PageAuthenticator {
    private let hmacKey: SymmetricKey
    private let cipher: CipherConfiguration

    init(_ key: DerivedKey, cipher: CipherConfiguration) throws {
        self.cipher = cipher
        hmacKey = try key.key.withUnsafeBytes { bytes in
            try KDF.Insecure.PBKDF2.deriveKey(
                from: bytes, salt: key.salt.map { $0 ^ 0x3a },
                using: cipher.kdfAlgorithm.hashFunction, outputByteCount: 32,
                unsafeUncheckedRounds: 2)
        }
    }

    /// Whether `page`, of exactly the configured size, is page 1 under this key.
    func isFirstPage(_ page: [UInt8]) -> Bool {
        guard page.count == cipher.pageSize else { return false }
        // What stands before it is the salt, or the plaintext header.
        let start = max(cipher.plaintextHeaderSize, CipherConfiguration.saltLength)
        let end = page.count - cipher.reservedBytes + 16
        let message = page[start..<end] + [1, 0, 0, 0]
        let code = page[end..<(end + cipher.hmacAlgorithm.byteCount)]
        return switch cipher.hmacAlgorithm {
        case .sha1: isValid(code, for: message, Insecure.SHA1.self)
        case .sha256: isValid(code, for: message, SHA256.self)
        case .sha512: isValid(code, for: message, SHA512.self)
        }
    }

    private func isValid<H: HashFunction>(
        _ code: ArraySlice<UInt8>, for message: ArraySlice<UInt8>, _: H.Type
    ) -> Bool {
        HMAC<H>.isValidAuthenticationCode(code, authenticating: message, using: hmacKey)
    }
}

extension CipherConfiguration {
    /// Bytes at the end of each page for the initialisation vector and the HMAC.
    var reservedBytes: Int { (16 + hmacAlgorithm.byteCount + 15) / 16 * 16 }
}

extension CipherConfiguration.HMACAlgorithm {
    fileprivate var byteCount: Int {
        switch self {
        case .sha1: 20
        case .sha256: 32
        case .sha512: 64
        }
    }
}
