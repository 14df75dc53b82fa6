public import Foundation

/// How the pages of a file are encrypted: a property of the file that every open must repeat.
///
/// The default is exactly SQLCipher 4's, so other SQLCipher 4 programs open the file without
/// settings: AES-256-CBC in pages of 4096 bytes, each with an HMAC-SHA512, and PBKDF2-HMAC-SHA512
/// with 256,000 iterations for passphrases. See [SQLCipher's
/// design](https://www.zetetic.net/sqlcipher/design/).
public struct CipherConfiguration: Sendable, Equatable {
    /// The hash of the HMAC that authenticates each page (`PRAGMA cipher_hmac_algorithm`).
    public enum HMACAlgorithm: String, Sendable, CaseIterable {
        /// HMAC-SHA1, SQLCipher 3's.
        case sha1 = "HMAC_SHA1"
        /// HMAC-SHA256. Reads that miss the page cache are about a third faster if the processor
        /// has SHA instructions.
        case sha256 = "HMAC_SHA256"
        /// HMAC-SHA512, SQLCipher 4's default.
        case sha512 = "HMAC_SHA512"
    }

    /// The function that turns a passphrase into a key (`PRAGMA cipher_kdf_algorithm`).
    public enum KDFAlgorithm: String, Sendable, CaseIterable {
        /// PBKDF2 with HMAC-SHA1, SQLCipher 3's.
        case pbkdf2HMACSHA1 = "PBKDF2_HMAC_SHA1"
        /// PBKDF2 with HMAC-SHA256.
        case pbkdf2HMACSHA256 = "PBKDF2_HMAC_SHA256"
        /// PBKDF2 with HMAC-SHA512, SQLCipher 4's default.
        case pbkdf2HMACSHA512 = "PBKDF2_HMAC_SHA512"
    }

    /// The page size in bytes: a power of two from 1024 to 65536.
    ///
    /// Default: 4096.
    ///
    /// SQLCipher also accepts 512, but the resulting file cannot be read again.
    public var pageSize = 4096

    /// The hash of each page's HMAC.
    ///
    /// Default: ``HMACAlgorithm/sha512``.
    public var hmacAlgorithm = HMACAlgorithm.sha512

    /// The function that derives the key from a passphrase.
    ///
    /// Default: ``KDFAlgorithm/pbkdf2HMACSHA512``. Unused with a raw key.
    public var kdfAlgorithm = KDFAlgorithm.pbkdf2HMACSHA512

    /// The number of key derivation rounds, at least 1.
    ///
    /// Default: 256,000. Unused with a raw key.
    ///
    /// Fewer rounds make a passphrase cheaper to guess; use them only for other programs' files.
    public var kdfIterations = 256_000

    /// The number of bytes at the start of the file that stay plaintext: 0 (default), or 16 to 96
    /// in steps of 16.
    ///
    /// With 32, iOS recognises a SQLite file in an app group's container and does not kill the app
    /// for holding the file's lock while suspended. The salt is then **not** in the file but beside
    /// it, in `NAME-salt`, unless ``salt`` or a 96-digit key provides it. Without its salt the file
    /// cannot be recovered: copy `NAME-salt` with the file.
    public var plaintextHeaderSize = 0

    /// The 16-byte salt of a file with a plaintext header, if the app stores it.
    ///
    /// Not secret. nil (default): the library keeps the salt of such a file beside it. All other
    /// files begin with their salt.
    public var salt: Data?

    /// The settings that open a file of this kind, in readable form.
    var summary: String {
        "pages of \(pageSize) bytes, \(hmacAlgorithm.rawValue), and for passphrases \(kdfAlgorithm.rawValue) with "
            + "\(kdfIterations) iterations"
    }

    /// The length in bytes of every file's salt.
    static let saltLength = 16

    /// Creates SQLCipher 4's defaults.
    public init() {}
}

extension CipherConfiguration {
    /// Refuses values that SQLCipher would silently accept and that would make the file unreadable.
    func validate() throws {
        func refuse(_ message: String) -> SecureStorageError {
            .openFailed(code: ResultCode.misuse.rawValue, message: message)
        }
        guard (1024...65536).contains(pageSize), pageSize & (pageSize - 1) == 0 else {
            throw refuse("the page size must be a power of two from 1024 to 65536, not \(pageSize)")
        }
        guard (1...Int(Int32.max)).contains(kdfIterations) else {
            throw refuse("the number of KDF iterations must be at least 1, not \(kdfIterations)")
        }
        guard (0...96).contains(plaintextHeaderSize), plaintextHeaderSize % 16 == 0 else {
            throw refuse(
                "the plaintext header must be 0 to 96 bytes in steps of 16, "
                    + "not \(plaintextHeaderSize)")
        }
        guard let salt else { return }
        guard salt.count == Self.saltLength else {
            throw refuse("the salt must be 16 bytes long, not \(salt.count)")
        }
        guard plaintextHeaderSize > 0 else {
            throw refuse(
                "cipher.salt is only for files with a plaintext header, all others contain their salt; "
                    + "leave it nil, or set cipher.plaintextHeaderSize as well")
        }
    }
}
