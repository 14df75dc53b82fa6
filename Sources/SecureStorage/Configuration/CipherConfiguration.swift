public import Foundation

/// How the pages of a file are encrypted: a property of the file, to be given alike at every open.
///
/// The default is exactly SQLCipher 4's, which other SQLCipher 4 programs open without settings:
/// AES-256-CBC in pages of 4096 bytes, each with an HMAC-SHA512, and PBKDF2-HMAC-SHA512 with
/// 256,000 iterations for passphrases. See [SQLCipher's
/// design](https://www.zetetic.net/sqlcipher/design/).
public struct CipherConfiguration: Sendable, Equatable {
    /// The hash of the HMAC that authenticates each page (`PRAGMA cipher_hmac_algorithm`).
    public enum HMACAlgorithm: String, Sendable, CaseIterable {
        /// HMAC-SHA1, SQLCipher 3's.
        case sha1 = "HMAC_SHA1"
        /// HMAC-SHA256: reads that miss the page cache are about a third faster where the processor
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

    /// Bytes per page: a power of two from 1024 to 65536.
    ///
    /// Default: 4096.
    ///
    /// SQLCipher also takes 512, but makes a file of it that nothing can read again.
    public var pageSize = 4096

    /// The hash of each page's HMAC.
    ///
    /// Default: ``HMACAlgorithm/sha512``.
    public var hmacAlgorithm = HMACAlgorithm.sha512

    /// The function that derives the key from a passphrase.
    ///
    /// Default: ``KDFAlgorithm/pbkdf2HMACSHA512``. Unused with a raw key.
    public var kdfAlgorithm = KDFAlgorithm.pbkdf2HMACSHA512

    /// Rounds of the key derivation, at least 1.
    ///
    /// Default: 256,000. Unused with a raw key.
    ///
    /// Fewer make guessing a passphrase cheaper; that is for files of other programs.
    public var kdfIterations = 256_000

    /// Bytes at the start of the file that stay readable: 0 (default), or 16 to 96 in steps of 16.
    ///
    /// With 32, iOS recognises a SQLite file in an app group's container and does not end the app
    /// for holding its lock while suspended. The salt is then **not** in the file but beside it, in
    /// `NAME-salt`, unless ``salt`` or a key of 96 digits holds it. A file whose salt is lost is
    /// lost: who copies the file copies `NAME-salt` with it.
    public var plaintextHeaderSize = 0

    /// The 16 bytes of salt of a file with a plaintext header, where the app keeps them itself.
    ///
    /// Not secret. nil (default): the library keeps the salt of such a file beside it. All other
    /// files begin with theirs.
    public var salt: Data?

    /// What a caller has to set for a file of this kind, for people.
    var summary: String {
        "pages of \(pageSize) bytes, \(hmacAlgorithm.rawValue), and for passphrases \(kdfAlgorithm.rawValue) with "
            + "\(kdfIterations) rounds"
    }

    /// Bytes of salt, of any file.
    static let saltLength = 16

    /// SQLCipher 4's defaults.
    public init() {}
}

extension CipherConfiguration {
    /// Refuses what SQLCipher would take silently and turn into an unreadable file.
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
                "cipher.salt is for files with a plaintext header, all others hold their salt; "
                    + "leave it nil, or set cipher.plaintextHeaderSize as well")
        }
    }
}
