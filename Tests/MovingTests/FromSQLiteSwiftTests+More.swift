import Foundation
import SecureStorage
import TestSupport
import Testing

extension FromSQLiteSwiftTests {
    // MARK: - Schema

    @Test func `row 31: a column is added, and a table rebuilt, in a step`() throws {
        var migrations = SchemaMigrations()
        migrations.add("name", sql: "ALTER TABLE users ADD COLUMN name TEXT")
        migrations.add(
            "rebuilt",
            sql: """
                CREATE TABLE new_users (id INTEGER PRIMARY KEY, mail TEXT UNIQUE, age INTEGER);
                INSERT INTO new_users SELECT id, email, age FROM users;
                DROP TABLE users;
                ALTER TABLE new_users RENAME TO users;
                """)
        try queue.migrate(migrations)
        #expect(try queue.read { db in try db.columnExists("mail", inTable: "users") })
        #expect(try queue.read { db in try db.int("SELECT count(*) FROM users") } == 2)
    }

    // MARK: - Functions

    @Test func `row 32: a function of the program, which the schema may not call`() throws {
        try queue.writeWithoutTransaction { db in
            try db.makeFunction(named: "domain", argumentCount: 1) { arguments in
                String(sqliteValue: arguments[0])?.split(separator: "@").last.map(String.init)
            }
            #expect(try db.string(forQuery: "SELECT domain(email) FROM users") == "example.com")
            try db.executeStatements("CREATE VIEW domains AS SELECT domain(email) FROM users")
            #expect(storageError { _ = try db.strings("SELECT * FROM domains") } != nil)
        }
    }

    @Test func `row 33: an aggregate function`() throws {
        try queue.writeWithoutTransaction { db in
            try db.makeAggregate(
                named: "product", argumentCount: 1, initial: 1,
                step: { product, arguments in product *= Int(sqliteValue: arguments[0]) ?? 1 },
                final: { $0 })
            #expect(try db.int("SELECT product(id) FROM users") == 2)
        }
    }

    @Test func `row 34: a collation`() throws {
        try queue.writeWithoutTransaction { db in
            try db.makeCollation(named: "byLength") { a, b in
                (a.count, a) < (b.count, b)
                    ? .orderedAscending : a == b ? .orderedSame : .orderedDescending
            }
            try db.executeUpdate("INSERT INTO users (email) VALUES ('z')")
            #expect(
                try db.string(forQuery: "SELECT email FROM users ORDER BY email COLLATE byLength")
                    == "z")
        }
    }

    @Test func `row 35: a locked file is waited for as long as the configuration says`() throws {
        let other = try database.openStore { $0.busyTimeout = .milliseconds(40) }
        try queue.write { _ in
            let start = ContinuousClock.now
            #expect(storageError { try other.executeUpdate("DELETE FROM users") }?.isBusy == true)
            #expect(ContinuousClock.now - start >= .milliseconds(40))
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func `row 36: commits of this connection and of others are observed`() async throws {
        let queue = queue
        var changes = queue.changes(in: ["users"], rowIDs: true).makeAsyncIterator()
        try await queue.write { db in try db.executeUpdate("DELETE FROM users WHERE id = 2") }
        #expect(await changes.next()?.tables["users"]?.rowIDs == [2])
        let other = try database.openStore()
        try other.executeUpdate("DELETE FROM users")
        var foreign = await changes.next()
        while foreign?.includesForeign == false { foreign = await changes.next() }
        #expect(foreign?.mayAffect("users") == true)
    }

    @Test func `row 37: a failing statement is not logged`() throws {
        let recorder = Recorder()
        let queue = try TemporaryDatabase().openQueue("CREATE TABLE t (a UNIQUE)") {
            $0.logger = recorder.logger
        }
        for _ in 0..<2 {
            try? queue.write { db in try db.executeUpdate("INSERT INTO t VALUES (?)", "a secret") }
        }
        #expect(!recorder.text.contains("secret") && !recorder.text.contains("INSERT"))
    }

    @Test func `row 38: an error has an extended code`() {
        let error = storageError {
            try queue.write { db in
                try db.executeUpdate("INSERT INTO users (email) VALUES (?)", "ada@example.com")
            }
        }
        #expect(error?.resultCode == .constraintUnique)
        #expect(error?.resultCode?.primary == .constraint)
    }

    @Test func `row 39: a deadline ends a statement`() throws {
        let error = storageError {
            _ = try queue.read { db in
                try db.withDeadline(.milliseconds(20)) {
                    try db.int(
                        forQuery: """
                            WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)
                            SELECT max(x) FROM c
                            """)
                }
            }
        }
        #expect(error?.isInterrupted == true)
        #expect(error?.interruption == .deadline)
    }

    @Test func `row 40: a backup has any key`() throws {
        let copy = database.directory.appendingPathComponent("copy.db")
        try queue.backup(to: copy, key: .passphrase("other"))
        let store = SecureDatabaseStore(url: copy)
        try store.open(with: "other")
        #expect(try store.int("SELECT count(*) FROM users") == 2)
    }

    @Test func `row 41: an existing file is attached with its key`() throws {
        let other = try TemporaryDatabase()
        let store = other.store()
        try store.open(with: "pass")
        try store.executeStatements("CREATE TABLE more (email); INSERT INTO more VALUES ('x')")
        store.close()
        try queue.writeWithoutTransaction { db in
            try db.executeUpdate("ATTACH ? AS other KEY ?", other.path, "pass")
            try db.executeUpdate("INSERT INTO users (email) SELECT email FROM other.more")
            try db.executeUpdate("DETACH other")
        }
        #expect(try emails().last == "x")
    }

    @Test func `row 43: durability, journal and foreign keys are the configuration's`() throws {
        try queue.writeWithoutTransaction { db throws in
            #expect(try db.string(forQuery: "PRAGMA journal_mode") == "wal")
            #expect(try db.int("PRAGMA foreign_keys") == 1)
            #expect(try db.int("PRAGMA synchronous") == 2)
            #expect(
                storageError { try db.executeStatements("PRAGMA synchronous = OFF") }?.resultCode
                    == .notAuthorized)
        }
        queue.close()
        let other = try database.openQueue {
            $0.journalMode = .delete
            $0.foreignKeysEnabled = false
        }
        try other.inDatabase { db throws in
            #expect(try db.string(forQuery: "PRAGMA journal_mode") == "delete")
            #expect(try db.int("PRAGMA foreign_keys") == 0)
        }
    }

    @Test func `row 44: vacuum makes the file smaller`() throws {
        try queue.writeWithoutTransaction { db in
            try db.executeStatements(
                """
                CREATE TABLE large (a);
                INSERT INTO large VALUES (zeroblob(1000000));
                DROP TABLE large;
                """)
            let before = try db.int("PRAGMA page_count") ?? 0
            try db.vacuum()
            #expect(try db.int("PRAGMA page_count") ?? 0 < before / 2)
        }
    }

    // MARK: - Files that SQLite.swift 0.16.0 wrote; see Fixtures/README.md

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
        let ada = try #require(
            try queue.read { db in
                try db.fetchOne(User.self, "SELECT * FROM users WHERE id = 1", dates: .text)
            })
        #expect(abs(ada.joined.timeIntervalSince1970 - 1_700_000_000.123) < 1e-6)
        #expect(ada.token == UUID(uuidString: "0F8FAD5B-D9CB-469F-A165-70867728950E"))
        #expect(ada.site?.absoluteString == "https://example.com/a?b=1")
        // The same text is written for a UUID, and a number for a date.
        try queue.write { db in
            try db.executeStatements("CREATE TABLE copy (joined, token, site)")
            try db.insert(ada, into: "copy")
            #expect(try db.int("SELECT count(*) FROM copy JOIN users USING (token, site)") == 1)
            #expect(try db.string(forQuery: "SELECT typeof(joined) FROM copy") == "integer")
        }
    }

    @Test func `rows 29 and 30: the file is migrated from its user version, dates in JSON as well`()
        throws
    {
        let queue = try imported()
        #expect(try queue.read { db in try db.userVersion } == 2)
        #expect(
            try queue.migrate(usersMigrations()) == [
                "users", "index of joined", "dates as numbers",
            ])
        let users = try queue.read { db in
            try db.fetchAll(StoredUser.self, "SELECT * FROM users ORDER BY id")
        }
        #expect(users.map(\.email) == ["ada@example.com", "bob@example.com"])
        #expect(users.map(\.joined.timeIntervalSince1970) == [1_700_000_000.123, -1])
        #expect(users.map(\.isAdmin) == [true, false])
        #expect(users[0].photo == Data([0xFF, 0xD8, 0x00, 0x01]))
        #expect(users[1].settings?.theme == "dark")
        #expect(users[1].settings?.since.timeIntervalSinceReferenceDate == 621_692_800.5)
        // Written and read again, it is the same.
        try queue.write { db throws in
            #expect(try db.update(users[1], in: "users", key: "id"))
            #expect(
                try db.fetchOne(StoredUser.self, "SELECT * FROM users WHERE id = 2") == users[1])
        }
        let report = try queue.verifyIntegrity()
        #expect(report.isSound, "\(report)")

        let new = try TemporaryDatabase().openQueue()
        try new.migrate(usersMigrations())
        #expect(try new.read { db in try db.userVersion } == 2)
        #expect(
            try new.read { db in
                try db.string(forQuery: "SELECT sql FROM sqlite_schema WHERE name = 'users'")
            }
                == queue.read { db in
                    try db.string(forQuery: "SELECT sql FROM sqlite_schema WHERE name = 'users'")
                })
    }

    @Test(.enabled(if: hasFTS5))
    func `row 42: its full-text table is searched and written`() throws {
        let queue = try imported()
        let sql = "SELECT subject FROM emails WHERE emails MATCH ?"
        #expect(try queue.fetchAll(sql, "wonder*") { (s: String) in s } == ["Just Checking In"])
        try queue.write { db in
            try db.executeUpdate("INSERT INTO emails VALUES ('Again', 'I wonder')")
        }
        #expect(try queue.fetchAll(sql, "wonder*") { (s: String) in s }.count == 2)
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
            #expect(try queue.read { db in try db.strings("SELECT email FROM users") } == ["ada"])
            queue.close()
            #expect(
                storageError { try queue.open(with: .passphrase("wrong")) }?.caseName
                    == "authenticationFailed")
        }
    }

    @Test(.enabled(if: ChildProcess.find("sqlcipher") != nil))
    func `row 6: a file of SQLCipher 3 is converted, and the old one kept`() throws {
        let file = try shellFile("PRAGMA cipher_compatibility = 3;")
        let old = try SecureDatabaseStore.migrate(
            at: file.url, key: .passphrase(ForeignFile.passphrase))
        #expect(try file.fileNames() == ["test.db", "test.db.old"])
        #expect(old?.lastPathComponent == "test.db.old")
        let queue = SecureDatabaseQueue(url: file.url)
        try queue.open(with: .passphrase(ForeignFile.passphrase))
        #expect(try queue.read { db in try db.strings("SELECT email FROM users") } == ["ada"])
    }

    @Test func `row 7: after a change of the key only the new one opens the file`() throws {
        try queue.changeEncryptionKey(with: .passphrase("new"))
        queue.close()
        #expect(
            storageError { try queue.open(with: .raw(TemporaryDatabase.key)) }?.caseName
                == "authenticationFailed")
        try queue.open(with: .passphrase("new"))
        #expect(try emails().count == 2)
    }

    @Test func `row 8: a plain file is imported, and an open store exported`() throws {
        let plain = database.directory.appendingPathComponent("plain.db")
        let again = database.directory.appendingPathComponent("again.db")
        let key = DatabaseKey.passphrase("x")
        try queue.inDatabase { db in
            try db.exportPlaintext(to: plain)
            try db.export(to: again, key: key)
        }
        #expect(
            try SecureDatabaseStore.importPlaintext(
                from: plain, to: again, key: key, replacing: true)
                == ["users": 2])
    }

    @Test func `the guide's first lines do what they say`() throws {
        queue.close()
        try SecureDatabaseStore.remove(at: database.url)
        let db = SecureDatabaseStore(url: database.url)
        try db.open(with: ForeignFile.passphrase)
        try db.executeUpdate("CREATE TABLE users (id INTEGER PRIMARY KEY, email TEXT)")
        db.close()
        #expect(try sqliteSwiftFirstLines(path: database.path) == ["1 ada@example.com"])
    }
}
