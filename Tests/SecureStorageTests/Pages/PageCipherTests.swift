import Foundation
import TestSupport
import Testing

@testable import SecureStorage

struct PageCipherTests {
    // MARK: - The format

    @Test(
        arguments: [
            (512, 2_097_153), (1024, 1_048_577), (4096, 262_145), (8192, 131_073), (65_536, 16_385),
        ] as [(Int, UInt32)])
    func `nothing is written to the page with the byte at one GiB`(_ size: Int, _ number: UInt32) {
        var format = PageFormat(CipherConfiguration())
        format.pageSize = size
        check(format.lockPage, equals: number)
        let bytes = (Int(number) - 1) * size..<Int(number) * size
        check(bytes.contains(0x4000_0000))
    }

    @Test func `the cipher uses the bytes that SQLCipher's documentation names`() {
        var format = PageFormat(CipherConfiguration())
        check(format.trailerBytes, equals: 80)
        format.hmac = .sha256
        check(format.trailerBytes, equals: 48)
        format.hmac = .sha1
        check(format.trailerBytes, equals: 48)
        format.hmac = nil
        check(format.trailerBytes, equals: 16)
        check(format.start(ofPage: 1), equals: 16)
        check(format.start(ofPage: 2), equals: 0)
        format.plaintextHeaderSize = 32
        check(format.start(ofPage: 1), equals: 32)
        check(format.start(ofPage: 2), equals: 0)
    }

    @Test func `files of earlier versions have their own formats`() {
        let formats = (1...3).map(PageFormat.init(legacy:))
        check(formats.map(\.pageSize), equals: [1024, 1024, 1024])
        check(formats.map(\.hmac), equals: [nil, .sha1, .sha1])
        check(formats.map(\.kdfIterations), equals: [4000, 4000, 64_000])
    }

    // MARK: - A page

    /// A file of two pages, and the cipher for it.
    private static func file(
        plaintextHeader: Int = 0
    ) throws -> (cipher: PageCipher, pages: [[UInt8]]) {
        let database = try TemporaryDatabase()
        let salt = [UInt8](repeating: 3, count: 16)
        let key = SecretBytes(copying: TemporaryDatabase.key)
        let db = database.store {
            $0.journalMode = .delete
            $0.cipher.plaintextHeaderSize = plaintextHeader
        }
        try db.open(with: .raw(key, salt: Data(salt)))
        try db.executeStatements("CREATE TABLE t (x)")
        db.close()
        let bytes = [UInt8](try Data(contentsOf: database.url))
        let cipher = try PageCipher(
            DerivedKey(key: key, salt: salt), db.configuration.cipher)
        return (cipher, [Array(bytes[..<4096]), Array(bytes[4096..<8192])])
    }

    @Test func `a page is authentic as it was written, in its place`() throws {
        let (cipher, pages) = try Self.file()
        for (index, page) in pages.enumerated() {
            check(cipher.isAuthentic(page, number: UInt32(index + 1)))
            check(!cipher.isAuthentic(page, number: UInt32(2 - index)))
            check(!cipher.isAuthentic(page + [0], number: UInt32(index + 1)))
            // The first 16 bytes of page 1 are the salt: with another one, there is another key.
            for offset in [index == 0 ? 16 : 0, 100, 4015, 4016, 4031, 4032, 4095] {
                var changed = page
                changed[offset] ^= 1
                check(!cipher.isAuthentic(changed, number: UInt32(index + 1)), "byte \(offset)")
            }
        }
    }

    @Test func `page 1 is not authentic with a plaintext header that the engine does not take`()
        throws
    {
        let (cipher, pages) = try Self.file(plaintextHeader: 32)
        func isAuthentic(_ offset: Int, _ value: UInt8) -> Bool {
            var page = pages[0]
            page[offset] = value
            return cipher.isAuthentic(page, number: 1)
        }
        check(cipher.isAuthentic(pages[0], number: 1))
        // The page size; the version; the reserved bytes; the three fractions of a payload.
        for (offset, possible, impossible) in [
            (16, [16], [8, 32]), (17, [0], [1]), (19, [1, 2], [0, 3]), (20, [80, 255], [0, 79]),
            (21, [64], [63, 65]), (22, [32], [31, 33]), (23, [32], [31, 33]),
        ] as [(Int, [UInt8], [UInt8])] {
            for value in possible { check(isAuthentic(offset, value), "byte \(offset): \(value)") }
            for value in impossible {
                check(!isAuthentic(offset, value), "byte \(offset): \(value)")
            }
        }
    }

    @Test func `a first page that claims other sizes is told from one that was damaged`() throws {
        let (cipher, pages) = try Self.file(plaintextHeader: 32)
        check(!cipher.misstatesSizes(pages[0]))
        var page = pages[0]
        page[20] = 79
        check(cipher.misstatesSizes(page))
        check(!cipher.misstatesSizes(page + [0]))
        page[2000] ^= 1
        check(!cipher.misstatesSizes(page))
    }
}
