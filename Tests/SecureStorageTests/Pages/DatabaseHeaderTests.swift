import Foundation
import TestSupport
import Testing

@testable import SecureStorage

/// What page 1 says of the whole file, and what the other pages tell without it.
struct DatabaseHeaderTests {
    private let database: TemporaryDatabase
    private static let format = PageFormat(CipherConfiguration())

    init() throws { database = try TemporaryDatabase() }

    private func pages(_ sql: String) throws -> DecryptedPages {
        let db = try database.openStore { $0.journalMode = .delete }
        try db.executeStatements(sql)
        db.close()
        return try DecryptedPages(database)
    }

    // MARK: - Page 1

    @Test(arguments: [
        ("NONE", 0, "UTF-8", TextEncoding.utf8), ("FULL", 1, "UTF-16le", .utf16LittleEndian),
        ("INCREMENTAL", 2, "UTF-16be", .utf16BigEndian),
    ])
    func `page 1 says what the file's pragmas do`(
        _ mode: String, _ number: Int, _ name: String, _ encoding: TextEncoding
    ) throws {
        let pages = try pages(
            """
            PRAGMA auto_vacuum = \(mode); PRAGMA encoding = '\(name)'; PRAGMA user_version = -5;
            PRAGMA application_id = 1234567890; CREATE TABLE t (x); VACUUM;
            """)
        let db = try database.openStore()
        try check(db.int("PRAGMA auto_vacuum"), equals: number)
        try check(db.strings("PRAGMA encoding"), equals: [name])
        db.close()
        let header = try require(DatabaseHeader(pages[1], pages.format))
        check(header.autoVacuum, equals: number)
        check(header.encoding, equals: encoding)
        check(header.userVersion, equals: -5)
        check(header.applicationID, equals: 1_234_567_890)
        check(header.reservedBytes, equals: 80)
        check(header.firstFreePage, equals: 0)
        check(header.remark == nil)
    }

    @Test func `page 1 says where the free pages begin`() throws {
        let pages = try pages(
            "CREATE TABLE t (x); CREATE TABLE u (x); INSERT INTO u VALUES (1); DROP TABLE u")
        check(DatabaseHeader(pages[1], pages.format)?.firstFreePage, equals: 3)
    }

    @Test func `a page 1 with impossible values is none`() throws {
        let page = try pages("CREATE TABLE t (x)")[1]
        func isHeader(_ change: (inout [UInt8]) -> Void) -> Bool {
            var page = page
            change(&page)
            return DatabaseHeader(page, Self.format) != nil
        }
        check(isHeader { _ in })
        // No encoding before the first table, and none after the third.
        for (encoding, isPossible) in [(0, true), (3, true), (4, false)] as [(UInt8, Bool)] {
            check(isHeader { $0[59] = encoding }, equals: isPossible)
        }
        check(!isHeader { $0[56] = 1 })
        // The cipher's 80 bytes have to be left, and 480 bytes for SQLite.
        for (reserve, isPossible) in [(79, false), (80, true), (255, true)] as [(UInt8, Bool)] {
            check(isHeader { $0[20] = reserve }, equals: isPossible)
        }
        check(!isHeader { $0[16...17] = [8, 0] })
        check(!isHeader { $0.removeLast() })
    }

    @Test func `small pages keep 480 bytes for SQLite`() throws {
        var page = [UInt8](repeating: 0, count: 512)
        var format = PageFormat(legacy: 1)
        format.pageSize = 512
        page[16] = 2
        for (reserve, isPossible) in [(15, false), (16, true), (32, true), (33, false)] {
            page[20] = UInt8(reserve)
            check(DatabaseHeader(page, format) != nil, equals: isPossible, "\(reserve)")
        }
    }

    // MARK: - Without page 1

    private func inferred(_ sql: String) throws -> DatabaseHeader {
        let pages = try pages(sql)
        return DatabaseHeader(from: pages.others(), pages.format)
    }

    @Test(arguments: [
        ("UTF-8", TextEncoding.utf8), ("UTF-16le", .utf16LittleEndian),
        ("UTF-16be", .utf16BigEndian),
    ])
    func `the encoding of a file shows in its texts`(
        _ name: String, _ encoding: TextEncoding
    ) throws {
        for text in ["word", "слово", "كلمة", "mixed 言葉"] {
            let database = try TemporaryDatabase()
            let db = try database.openStore { $0.journalMode = .delete }
            try db.executeStatements("PRAGMA encoding = '\(name)'; CREATE TABLE t (x)")
            for _ in 0..<20 { try db.executeUpdate("INSERT INTO t VALUES (?)", text) }
            db.close()
            let pages = try DecryptedPages(database)
            let header = DatabaseHeader(from: pages.others(), pages.format)
            check(header.encoding, equals: encoding, "\(text)")
            check(header.reservedBytes, equals: 80)
            check(header.remark?.contains(name), equals: true)
        }
    }

    // Of 20 texts of two bytes each: more than a tenth decide.
    @Test(arguments: [
        ("6100", 2, TextEncoding.utf8), ("6100", 3, .utf16LittleEndian),
        ("0061", 2, .utf8), ("0061", 3, .utf16BigEndian),
        // Not UTF-8, and without a NUL.
        ("ffff", 2, .utf8), ("ffff", 3, .utf16LittleEndian),
        // As many NULs at even offsets as at odd ones.
        ("0000", 20, .utf8),
        // Other control characters, and tabs and ends of lines, which are usual in any text.
        ("6104", 20, .utf16LittleEndian), ("6109", 20, .utf8),
        ("610a", 20, .utf8), ("0d61", 20, .utf8),
    ])
    func `a few texts with control characters do not make a file one of UTF-16`(
        _ bytes: String, _ count: Int, _ encoding: TextEncoding
    ) throws {
        let texts =
            Array(repeating: "(CAST(x'\(bytes)' AS TEXT))", count: count)
            + Array(repeating: "('ab')", count: 20 - count) + ["('')", "(x'00')", "(7)"]
        let header = try inferred(
            "CREATE TABLE t (x); INSERT INTO t VALUES \(texts.joined(separator: ","))")
        check(header.encoding, equals: encoding)
    }

    @Test func `one text of an odd number of bytes makes a file one of UTF-8`() throws {
        let texts = Array(repeating: "(CAST(x'6100' AS TEXT))", count: 20) + ["('abc')"]
        let header = try inferred(
            "CREATE TABLE t (x); INSERT INTO t VALUES \(texts.joined(separator: ","))")
        check(header.encoding, equals: .utf8)
    }

    @Test func `a file without any readable page has SQLCipher's own numbers`() {
        let none = DatabaseHeader(from: { nil }, Self.format)
        check(none.reservedBytes, equals: 80)
        check(none.encoding, equals: .utf8)
        var format = Self.format
        format.hmac = .sha1
        // SQLCipher leaves 80 bytes whatever the HMAC.
        check(DatabaseHeader(from: { nil }, format).reservedBytes, equals: 80)
    }

    /// A page of 1024 bytes with one row of one text, which leaves `reserve` bytes free.
    private static func page(leaving reserve: Int) -> [UInt8] {
        let row: [UInt8] = [6, 1, 2, 21, 97, 98, 99, 100]
        let start = 1024 - reserve - row.count
        var page = [UInt8](repeating: 0, count: 1024)
        page[..<10] = [
            13, 0, 0, 0, 1, UInt8(start >> 8), UInt8(start & 255), 0, UInt8(start >> 8),
            UInt8(start & 255),
        ]
        page.replaceSubrange(start..<(start + row.count), with: row)
        return page
    }

    @Test(arguments: [
        // What SQLCipher 3 leaves, what SQLCipher 4 does, and others.
        ([48, 48], 48), ([80, 80], 80), ([100, 100, 48], 100), ([48, 80], 80), ([64, 48, 48], 48),
    ])
    func `the bytes that are left free are those that most pages leave`(
        _ reserves: [Int], _ expected: Int
    ) {
        var format = PageFormat(legacy: 3)
        format.pageSize = 1024
        var pages = reserves.map(Self.page(leaving:)).makeIterator()
        let header = DatabaseHeader(from: { pages.next() }, format)
        check(header.reservedBytes, equals: expected)
    }
}
