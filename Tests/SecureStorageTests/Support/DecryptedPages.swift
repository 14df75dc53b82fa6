import Foundation
import TestSupport

@testable import SecureStorage

/// The decrypted pages of a file with `TemporaryDatabase.key` and the default cipher.
struct DecryptedPages {
    let format = PageFormat(CipherConfiguration())
    let all: [[UInt8]]

    init(_ database: TemporaryDatabase) throws {
        let bytes = [UInt8](try Data(contentsOf: database.url))
        let key = DerivedKey(
            key: SecretBytes(copying: TemporaryDatabase.key), salt: Array(bytes[..<16]))
        let cipher = try PageCipher(key, format: format)
        let size = format.pageSize
        all = try (1...(bytes.count / size)).map { number in
            let page = bytes[((number - 1) * size)..<(number * size)]
            return try page.withUnsafeBytes {
                try require(cipher.decrypt($0, number: UInt32(number)))
            }
        }
    }

    /// A page, counted from 1.
    subscript(number: Int) -> [UInt8] { all[number - 1] }

    /// The bytes of each page that SQLite uses.
    var usableSize: Int { format.pageSize - Int(self[1][20]) }

    /// The pages of tables and indexes, by their numbers; a page of another kind may look like one.
    func tree(_ number: Int) -> BTreePage? {
        BTreePage(self[number], number: UInt32(number), usableSize: usableSize)
    }

    /// Those after page 1, one after the other.
    func others() -> () -> [UInt8]? {
        var rest = all.dropFirst().makeIterator()
        return { rest.next() }
    }
}
