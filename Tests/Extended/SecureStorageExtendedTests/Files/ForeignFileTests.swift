import Foundation
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// Files that are not, or no longer, databases of this library.
///
/// Each gets its own error and remains unchanged, as does its modification time.
struct ForeignFileTests {
    let database: TemporaryDatabase

    init() throws {
        database = try TemporaryDatabase()
    }

    // MARK: - Databases of other formats

    @Test(arguments: [1, 2, 3])
    func `a file of SQLCipher 1, 2 or 3 is identified as such`(_ version: Int) throws {
        try Fixture.copy("sqlcipher-\(version)-passphrase.db", to: database)

        let error = try database.expectRefusal(
            .legacyFormat, mentioning: ["SQLCipher \(version)", "migrate"],
            passphrase: Fixture.passphrase)

        guard case .legacyFormat(version, _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test(arguments: [1, 2, 3])
    func `a raw-key file of SQLCipher 1, 2 or 3 is identified as such`(_ version: Int) throws {
        try Fixture.copy("sqlcipher-\(version)-raw-key.db", to: database)

        let error = try database.expectRefusal(.legacyFormat, key: Fixture.rawKey)

        // Versions 2 and 3 differ only in how they derive a key from a passphrase.
        let versions = version == 1 ? [1] : [2, 3]
        guard case .legacyFormat(let found, _) = error, versions.contains(found) else {
            Issue.record("\(String(describing: error))")
            return
        }
        try database.expectRefusal(
            .legacyFormat, passphrase: "x'\(Fixture.rawKey.hex)'")
    }

    @Test(arguments: [1, 2, 3], [true, false])
    func `with a wrong key a file of SQLCipher 1, 2 or 3 looks like noise`(
        _ version: Int, _ raw: Bool
    ) throws {
        try Fixture.copy("sqlcipher-\(version)-\(raw ? "raw-key" : "passphrase").db", to: database)

        // 4096 bytes could be a page of SQLCipher 4; 3072 could not.
        try database.expectRefusal(
            raw ? .openFailed : .authenticationFailed, mentioning: ["not changed"],
            passphrase: "wrong passphrase")
    }

    @Test func `a file of SQLCipher 4 opens`() throws {
        try Fixture.copy("sqlcipher-4-passphrase.db", to: database)
        let db = database.store()
        try db.open(with: Fixture.passphrase)
        try check(
            db.strings("SELECT text FROM note"),
            equals: [
                "written by SQLCipher 4", "second", "third",
            ])

        let other = try TemporaryDatabase()
        try Fixture.copy("sqlcipher-4-raw-key.db", to: other)
        let raw = other.store()
        try raw.open(with: Fixture.rawKey)
        try check(raw.int("SELECT count(*) FROM note"), equals: 3)
    }

    @Test func `a plain SQLite database is identified as such`() throws {
        try Fixture.copy("plaintext.db", to: database)

        try database.expectRefusal(.notEncrypted, mentioning: ["plain"])
        try database.expectRefusal(.notEncrypted, mentioning: ["plain"], passphrase: "passphrase")
    }

    @Test func `a plain SQLite database is not mistaken for one with a plaintext header`() throws {
        try Fixture.copy("plaintext.db", to: database)
        let before = try DirectorySnapshot(of: database.directory)
        let db = database.store {
            $0.cipher.plaintextHeaderSize = 32
            $0.cipher.salt = Data(count: 16)
        }

        check(storageError { try db.open(with: "passphrase") } != nil)

        check(!db.isOpen())
        try check(DirectorySnapshot(of: database.directory), equals: before)
    }

    // MARK: - Files that are not databases

    @Test func `a text file is refused`() throws {
        try Fixture.copy("text.txt", to: database)

        try database.expectRefusal(.openFailed, mentioning: ["54 bytes", "not changed"])
    }

    @Test func `a text file of whole pages is refused`() throws {
        let text = String(repeating: "A line of text, and no database.\n", count: 1000)
        for pages in [1, 2, 4] {
            try Data(text.utf8.prefix(pages * 4096)).write(to: database.url)
            try database.expectRefusal(
                .openFailed, mentioning: ["not a SQLCipher database", "evenly", "not changed"])
        }
    }

    /// The engine treats a file of 0 bytes or 1 byte as a new database, under any key.
    @Test(arguments: [0, 1])
    func `a file of 0 bytes or 1 byte is not mistaken for a new database`(_ size: Int) throws {
        try Data(repeating: 7, count: size).write(to: database.url)

        let error = try database.expectRefusal(
            .openFailed, mentioning: ["\(size) byte", "truncated"])

        check(error?.code, equals: 14)
    }

    @Test(arguments: [2, 15, 16, 100, 511, 512, 1023, 4095, 4097])
    func `a file of a few bytes is refused`(_ size: Int) throws {
        var generator = SystemRandomNumberGenerator()
        for byte in [nil, 0, 255] as [UInt8?] {
            try Data((0..<size).map { _ in byte ?? .random(in: 0...255, using: &generator) })
                .write(to: database.url)
            try database.expectRefusal(.openFailed, mentioning: ["\(size) bytes", "not changed"])
        }
    }

    @Test(arguments: [4096, 65536, 1 << 20])
    func `whole pages of random bytes or of zeros are refused`(_ size: Int) throws {
        // Random bytes look like encrypted ones.
        for (byte, kind) in [(nil, .authenticationFailed), (0, .openFailed)]
            as [(UInt8?, SecureStorageError.Kind)]
        {
            try Data((0..<size).map { _ in byte ?? .random(in: 0...255) }).write(to: database.url)
            try database.expectRefusal(kind, mentioning: ["not changed"])
        }
    }

    // MARK: - Damaged files

    /// Makes a file of at least ten pages in delete mode, where one file holds everything.
    private func makeFile() throws -> Data {
        let db = try database.openStore { $0.journalMode = .delete }
        try db.executeUpdate("CREATE TABLE t (id INTEGER PRIMARY KEY, x)")
        for _ in 1...10 {
            try db.executeUpdate("INSERT INTO t (x) VALUES (randomblob(4000))")
        }
        try db.executeUpdate("VACUUM")  // a free page's content would not matter
        db.close()
        return try Data(contentsOf: database.url)
    }

    /// Returns the error of reading every row, or nil if all are present and correct.
    private func readError(_ content: Data) throws -> SecureStorageError? {
        try content.write(to: database.url)
        let db = database.store { $0.journalMode = .delete }
        defer { db.close() }
        return storageError {
            try db.open(with: TemporaryDatabase.key)
            try check(db.int("SELECT count(*) FROM t WHERE length(x) = 4000"), equals: 10)
            try check(db.int("SELECT count(DISTINCT hex(x)) FROM t"), equals: 10)
        }
    }

    @Test func `a truncated file is refused by open or by reading`() throws {
        let whole = try makeFile()
        try require(whole.count >= 10 * 4096)
        let lastPage = whole.count - 4096
        for size in stride(from: 0, through: lastPage, by: 512) {
            try whole.prefix(size).write(to: database.url)
            let error = try database.expectRefusal(.openFailed)
            // A file shorter than a page could be anything.
            if size >= 4096 { check(error?.code, equals: 11, "\(size) bytes") }
        }
        // The engine counts a partial page as a page; reading it fails.
        for size in stride(from: lastPage + 1, to: whole.count, by: 511) {
            try check(readError(whole.prefix(size))?.code, equals: 11, "\(size) bytes")
        }
        try check(readError(whole) == nil)
    }

    @Test func `a page with another page's content is an error with code 11`() throws {
        let whole = try makeFile()
        // The same key but another salt.
        let sibling = try TemporaryDatabase()
        let other = try sibling.openStore { $0.journalMode = .delete }
        try other.executeUpdate("CREATE TABLE t (id INTEGER PRIMARY KEY, x)")
        for _ in 1...10 {
            try other.executeUpdate("INSERT INTO t (x) VALUES (randomblob(4000))")
        }
        other.close()
        let siblingFile = try Data(contentsOf: sibling.url)
        for page in 1..<whole.count / 4096 {
            let place = page * 4096..<(page + 1) * 4096
            let neighbour = (page == 1 ? 2 : page - 1) * 4096
            let contents = [
                whole[neighbour..<neighbour + 4096], siblingFile[place], Data(count: 4096),
            ]
            for content in contents {
                var changed = whole
                changed.replaceSubrange(place, with: content)

                let error = try readError(changed)

                check(error?.kind, equals: .backingStoreError, "page \(page + 1)")
                check(error?.code, equals: 11, "\(error?.description ?? "no error")")
            }
        }
    }
}
