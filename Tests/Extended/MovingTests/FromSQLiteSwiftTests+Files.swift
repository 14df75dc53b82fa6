import Foundation
import SecureStorage
import TestSupport
import Testing

/// Files that SQLite.swift 0.16.0 wrote, and encrypted ones; see Fixtures/README.md.
extension FromSQLiteSwiftTests {
    struct StoredUser: Codable, Equatable {
        struct Settings: Codable, Equatable {
            var theme: String
            var since: Date
        }
        var id: Int64
        var email: String
        var isAdmin: Bool
        var joined: Date
        var token: UUID
        var site: URL?
        var photo: Data?
        var settings: Settings?
    }

    /// Returns an encrypted copy of the file, not migrated.
    private func imported() throws -> SecureDatabaseQueue {
        let plain = try ForeignFile.copy("sqliteswift.sqlite3", beside: database)
        let encrypted = database.directory.appendingPathComponent("app.db")
        try encryptFile(from: plain, to: encrypted, key: .raw(TemporaryDatabase.key))
        let queue = SecureDatabaseQueue(url: encrypted)
        try queue.open(with: .raw(TemporaryDatabase.key))
        return queue
    }

    @Test func `rows 25 and 26: its dates, UUIDs and URLs are read as text`() throws {
        let queue = try imported()
        struct User: Codable, Equatable {
            var joined: Date
            var token: UUID
            var site: URL?
        }
        let ada = try require(
            queue.read { db in
                try db.fetchOne(User.self, "SELECT * FROM users WHERE id = 1", dates: .text)
            })
        check(abs(ada.joined.timeIntervalSince1970 - 1_700_000_000.123) < 1e-6)
        check(ada.token, equals: UUID(uuidString: "0F8FAD5B-D9CB-469F-A165-70867728950E"))
        check(ada.site?.absoluteString, equals: "https://example.com/a?b=1")
        // The same text is written for a UUID, and a number for a date.
        try queue.write { db in
            try db.executeStatements("CREATE TABLE copy (joined, token, site)")
            try db.insert(ada, into: "copy")
            try check(db.int("SELECT count(*) FROM copy JOIN users USING (token, site)"), equals: 1)
            try check(db.string(forQuery: "SELECT typeof(joined) FROM copy"), equals: "real")
        }
    }

    @Test func `rows 29 and 30: the file is migrated from its user version, dates in JSON as well`()
        throws
    {
        let queue = try imported()
        try check(queue.read { db in try db.userVersion }, equals: 2)
        try check(
            queue.migrate(usersMigrations()),
            equals: [
                "users", "index of joined", "dates as numbers",
            ])
        let users = try queue.read { db in
            try db.fetchAll(StoredUser.self, "SELECT * FROM users ORDER BY id")
        }
        check(users.map(\.email), equals: ["ada@example.com", "bob@example.com"])
        check(users.map(\.joined.timeIntervalSince1970), equals: [1_700_000_000.123, -1])
        check(users.map(\.isAdmin), equals: [true, false])
        check(users[0].photo, equals: Data([0xFF, 0xD8, 0x00, 0x01]))
        check(users[1].settings?.theme, equals: "dark")
        check(users[1].settings?.since.timeIntervalSinceReferenceDate, equals: 621_692_800.5)
        // Written and read again, it is the same.
        try queue.write { db throws in
            try check(db.update(users[1], in: "users", key: "id"), equals: 1)
            try check(
                db.fetchOne(StoredUser.self, "SELECT * FROM users WHERE id = 2"), equals: users[1])
        }
        let report = try queue.verifyIntegrity()
        check(report.isSound, "\(report)")

        let new = try TemporaryDatabase().openQueue()
        try new.migrate(usersMigrations())
        try check(new.read { db in try db.userVersion }, equals: 2)
        try check(
            new.read { db in
                try db.string(forQuery: "SELECT sql FROM sqlite_schema WHERE name = 'users'")
            },
            equals: queue.read { db in
                try db.string(forQuery: "SELECT sql FROM sqlite_schema WHERE name = 'users'")
            })
    }

    @Test(.enabled(if: hasFTS5))
    func `row 42: its full-text table is searched and written`() throws {
        let queue = try imported()
        let sql: SQL = "SELECT subject FROM emails WHERE emails MATCH ?"
        try check(queue.fetchAll(sql, "wonder*") { (s: String) in s }, equals: ["Just Checking In"])
        try queue.write { db in
            try db.executeUpdate("INSERT INTO emails VALUES ('Again', 'I wonder')")
        }
        try check(queue.fetchAll(sql, "wonder*") { (s: String) in s }.count, equals: 2)
    }

    // MARK: - Keys: files of the sqlcipher shell, whose passphrase has the same bytes

    private func shellFile(_ pragmas: String = "") throws -> TemporaryDatabase {
        let file = try TemporaryDatabase()
        _ = try ChildProcess(
            "sqlcipher", ["-batch", "-bail", file.path],
            input: Data(
                """
                PRAGMA key = 'correct horse battery staple'; \(pragmas)
                CREATE TABLE users (email); INSERT INTO users VALUES ('ada');
                """.utf8))
        return file
    }

    @Test(.enabled(if: ChildProcess.find("sqlcipher") != nil))
    func `rows 4 and 5: a passphrase opens the file, as text and as bytes`() throws {
        let file = try shellFile()
        for key in [
            DatabaseKey.passphrase(ForeignFile.passphrase),
            .passphrase(SecretBytes(copying: Data(ForeignFile.passphrase.utf8))),
        ] {
            let queue = SecureDatabaseQueue(url: file.url)
            try queue.open(with: key)
            try check(
                queue.read { db in try db.strings("SELECT email FROM users") }, equals: ["ada"])
            queue.close()
            check(
                storageError { try queue.open(with: .passphrase("wrong")) }?.caseName,
                equals: "authenticationFailed")
        }
    }

    @Test(.enabled(if: ChildProcess.find("sqlcipher") != nil))
    func `row 6: a file of SQLCipher 3 is converted, and the old one kept`() throws {
        let file = try shellFile("PRAGMA cipher_compatibility = 3;")
        let old = try SecureDatabaseStore.migrate(
            at: file.url, key: .passphrase(ForeignFile.passphrase))
        try check(file.fileNames(), equals: ["test.db", "test.db.old"])
        check(old?.lastPathComponent, equals: "test.db.old")
        let queue = SecureDatabaseQueue(url: file.url)
        try queue.open(with: .passphrase(ForeignFile.passphrase))
        try check(queue.read { db in try db.strings("SELECT email FROM users") }, equals: ["ada"])
    }

    @Test func `row 7: after a change of the key only the new one opens the file`() throws {
        try queue.changeEncryptionKey(with: .passphrase("new"))
        queue.close()
        check(
            storageError { try queue.open(with: .raw(TemporaryDatabase.key)) }?.caseName,
            equals: "authenticationFailed")
        try queue.open(with: .passphrase("new"))
        try check(emails().count, equals: 2)
    }

    @Test func `row 8: a plain file is imported, and an open store exported`() throws {
        let plain = database.directory.appendingPathComponent("plain.db")
        let again = database.directory.appendingPathComponent("again.db")
        let key = DatabaseKey.passphrase("x")
        try queue.inDatabase { db in
            try db.exportPlaintext(to: plain)
            try db.export(to: again, key: key)
        }
        try check(
            SecureDatabaseStore.importPlaintext(
                from: plain, to: again, key: key, replacing: true), equals: ["users": 2])
    }

    @Test func `the guide's first lines do what they say`() throws {
        queue.close()
        try SecureDatabaseStore.remove(at: database.url)
        let db = SecureDatabaseStore(url: database.url)
        try db.open(with: ForeignFile.passphrase)
        try db.executeUpdate("CREATE TABLE users (id INTEGER PRIMARY KEY, email TEXT)")
        db.close()
        try check(sqliteSwiftFirstLines(path: database.path), equals: ["1 ada@example.com"])
    }
}
