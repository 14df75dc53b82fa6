internal import Crypto
internal import CryptoExtras
internal import Foundation

/// The encryption format of a file's pages: SQLCipher 4 with any settings, or a predecessor.
struct PageFormat: Equatable, Sendable {
    var pageSize: Int
    /// The HMAC; nil in files of SQLCipher 1, and of others with `PRAGMA cipher_use_hmac = OFF`,
    /// whose pages nothing protects.
    var hmac: CipherConfiguration.HMACAlgorithm?
    var kdf: CipherConfiguration.KDFAlgorithm
    var kdfIterations: Int
    var plaintextHeaderSize = 0
    /// Whether page numbers enter the HMAC in big-endian order.
    ///
    /// Only files of some programs with SQLCipher 2.0 do this (`PRAGMA cipher_hmac_pgno`).
    var hasBigEndianNumbers = false
    /// The mask that is XORed with the file's salt for the salt of the HMAC's key.
    ///
    /// Files of the betas of SQLCipher 2.0 have another one (`PRAGMA cipher_hmac_salt_mask`).
    var saltMask: UInt8 = Self.usualSaltMask

    static let usualSaltMask: UInt8 = 0x3a

    init(_ cipher: CipherConfiguration) {
        pageSize = cipher.pageSize
        hmac = cipher.hmacAlgorithm
        kdf = cipher.kdfAlgorithm
        kdfIterations = cipher.kdfIterations
        plaintextHeaderSize = cipher.plaintextHeaderSize
    }

    /// Creates the default format of SQLCipher 1, 2 or 3.
    init(legacy version: Int) {
        pageSize = 1024
        hmac = version > 1 ? .sha1 : nil
        kdf = .pbkdf2HMACSHA1
        kdfIterations = version > 2 ? 64_000 : 4000
    }

    /// The bytes at the end of each page that the cipher uses: the initialisation vector, the HMAC,
    /// and padding to whole blocks.
    ///
    /// SQLite may leave more free than that (`DatabaseHeader.reservedBytes`): the bytes in between
    /// are encrypted as any content, and mean nothing.
    var trailerBytes: Int { (16 + (hmac?.byteCount ?? 0) + 15) / 16 * 16 }

    /// The page that holds the byte on which SQLite locks (at one GiB): nothing is ever written
    /// there.
    var lockPage: UInt32 { UInt32((1 << 30) / pageSize + 1) }

    /// Returns where the encrypted part of a page begins: page 1 begins with the salt, or the
    /// plaintext header.
    func start(ofPage number: UInt32) -> Int {
        number == 1 ? max(plaintextHeaderSize, CipherConfiguration.saltLength) : 0
    }
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

/// Verifies by its HMAC that a page was written with a key, and decrypts it, without the engine.
///
/// A page ends with its initialisation vector (16 bytes), the HMAC over everything before it and
/// the page's number, and padding to a multiple of 16. The key of the HMAC is derived from the
/// file's key by two rounds of PBKDF2 with the salt XOR 0x3a (another mask in old files). See
/// [SQLCipher's design](https://www.zetetic.net/sqlcipher/design/).
struct PageCipher: Sendable {
    let format: PageFormat
    private let hmacKey: SymmetricKey
    private let key: SecretBytes

    /// Creates the cipher for pages of the current format.
    init(_ key: DerivedKey, _ cipher: CipherConfiguration) throws {
        try self.init(key, format: PageFormat(cipher))
    }

    init(_ key: DerivedKey, format: PageFormat) throws {
        self.format = format
        self.key = key.key
        hmacKey = try key.key.withUnsafeBytes { bytes in
            try KDF.Insecure.PBKDF2.deriveKey(
                from: bytes, salt: key.salt.map { $0 ^ format.saltMask },
                using: format.kdf.hashFunction,
                outputByteCount: 32, unsafeUncheckedRounds: 2)
        }
    }

    /// Returns whether `page`, of exactly the format's size, is page `number` under this key and,
    /// if it is page 1, may be read by the engine (`misstatesSizes`).
    ///
    /// Always false for a format without HMAC.
    func isAuthentic(_ page: [UInt8], number: UInt32) -> Bool {
        page.withUnsafeBytes { isAuthentic($0, number: number) }
    }

    func isAuthentic(_ page: UnsafeRawBufferPointer, number: UInt32) -> Bool {
        hasRightHMAC(page, number) && (number > 1 || hasRightHeader(page))
    }

    /// Returns whether this first page, which the engine would accept, claims another page size, or
    /// fewer bytes of each page for the cipher.
    ///
    /// SQLite trusts it and SQLCipher does not: pages then overflow SQLite's buffers. Only a holder
    /// of the key can have written such a page, or anyone where it has a plaintext header or no
    /// HMAC.
    func misstatesSizes(_ page: [UInt8]) -> Bool {
        page.withUnsafeBytes {
            // The HMAC last, which costs far more than the sizes.
            $0.count == format.pageSize && !hasRightSizes($0)
                && (format.hmac == nil || hasRightHMAC($0, 1))
        }
    }

    /// Whether the engine takes the header, which is not authenticated where it is plaintext.
    private func hasRightHeader(_ page: UnsafeRawBufferPointer) -> Bool {
        guard let header = decrypt(page, number: 1, upTo: 32) else { return false }
        let plain = PlainHeader(header)
        return DatabaseHeader.hasSizes(header, of: format) && plain.hasFractions
            && plain.hasKnownVersion
    }

    private func hasRightSizes(_ page: UnsafeRawBufferPointer) -> Bool {
        // The fields are among the first 32 bytes.
        guard let header = decrypt(page, number: 1, upTo: 32) else { return false }
        return DatabaseHeader.hasSizes(header, of: format)
    }

    private func hasRightHMAC(_ page: UnsafeRawBufferPointer, _ number: UInt32) -> Bool {
        switch format.hmac {
        case .sha1: isAuthentic(page, number, Insecure.SHA1.self)
        case .sha256: isAuthentic(page, number, SHA256.self)
        case .sha512: isAuthentic(page, number, SHA512.self)
        case nil: false
        }
    }

    private func isAuthentic<H: HashFunction>(
        _ page: UnsafeRawBufferPointer, _ number: UInt32, _: H.Type
    ) -> Bool {
        guard page.count == format.pageSize else { return false }
        let end = page.count - format.trailerBytes + 16
        var code = HMAC<H>(key: hmacKey)
        code.update(
            data: UnsafeRawBufferPointer(rebasing: page[format.start(ofPage: number)..<end]))
        let storedNumber = format.hasBigEndianNumbers ? number.bigEndian : number.littleEndian
        withUnsafeBytes(of: storedNumber) { code.update(data: $0) }
        // In constant time: from how early a forged code differs, whoever can change the file and
        // has it opened would learn the right one, byte after byte.
        return code.finalize() == Data(page[end..<(end + H.Digest.byteCount)])
    }

    /// Returns the content of a page, whether or not it is authentic; nil when it cannot be
    /// decrypted.
    ///
    /// The content of page 1 begins like that of every SQLite file, or with the plaintext header.
    func decrypt(_ page: UnsafeRawBufferPointer, number: UInt32) -> [UInt8]? {
        decrypt(page, number: number, upTo: format.pageSize - format.trailerBytes).map {
            $0 + [UInt8](repeating: 0, count: format.trailerBytes)
        }
    }

    /// Returns the content up to `end`, the end of a block of 16 bytes.
    private func decrypt(
        _ page: UnsafeRawBufferPointer, number: UInt32, upTo end: Int
    ) -> [UInt8]? {
        let start = format.start(ofPage: number)
        let trailer = format.pageSize - format.trailerBytes
        guard page.count == format.pageSize, start < trailer, end <= trailer else { return nil }
        let header: [UInt8]
        switch (number, format.plaintextHeaderSize) {
        case (1, 0): header = Array("SQLite format 3\0".utf8)
        default: header = Array(page[..<start])
        }
        guard start < end else { return header }
        guard let vector = try? AES._CBC.IV(ivBytes: Array(page[trailer..<(trailer + 16)])),
            let content = try? AES._CBC.decrypt(
                UnsafeRawBufferPointer(rebasing: page[start..<end]),
                using: key.withUnsafeBytes { SymmetricKey(data: $0) }, iv: vector, noPadding: true)
        else { return nil }
        return header + content
    }
}
