import Foundation
import SecureStorage
import TestSupport
import Testing

/// Files that GRDB 7.10.0 wrote; see Fixtures/README.md.
extension FromGRDBTests {
    struct Player: Codable, Equatable {
        struct Address: Codable, Equatable {
            var city: String
            var since: Date
        }
        var id: UUID
        var name: String
        var score: Int
        var isCaptain: Bool
        var joined: Date
        var photo: Data?
        var address: Address?
    }

    static let ada = UUID(uuidString: "0F8FAD5B-D9CB-469F-A165-70867728950E")

    /// Returns an encrypted copy of the plain file, migrated as the guide does it.
    private func converted() throws -> SecureDatabaseQueue {
        let plain = try ForeignFile.copy("grdb.sqlite", beside: database)
        let encrypted = database.directory.appendingPathComponent("app.db")
        let key = DatabaseKey.raw(TemporaryDatabase.key)
        try encryptGRDBFile(from: plain, to: encrypted, key: key)
        // A second start finds the file.
        try encryptGRDBFile(from: plain, to: encrypted, key: key)
        let queue = SecureDatabaseQueue(url: encrypted)
        try queue.open(with: key)
        try queue.migrate(grdbMigrations())
        return queue
    }

    @Test func `row 7: a passphrase opens GRDB's encrypted file in place, and as bytes`() throws {
        let file = try ForeignFile.copy("grdb-sqlcipher.sqlite", beside: database)
        for key in [
            DatabaseKey.passphrase(ForeignFile.passphrase),
            .passphrase(SecretBytes(copying: Data(ForeignFile.passphrase.utf8))),
        ] {
            let queue = SecureDatabaseQueue(url: file)
            try queue.open(with: key)
            let names = try queue.read { db in
                try db.strings("SELECT name FROM player ORDER BY name")
            }
            check(names, equals: ["Ada", "Bob"])
            try queue.write { db in try db.executeUpdate("UPDATE player SET score = score + 1") }
            queue.close()
        }
        let raw = SecureDatabaseQueue(url: file)
        check(
            storageError { try raw.open(with: .raw(TemporaryDatabase.key)) }?.caseName,
            equals: "authenticationFailed")
    }

    @Test func `row 8: the key of GRDB's encrypted file is changed`() throws {
        let file = try ForeignFile.copy("grdb-sqlcipher.sqlite", beside: database)
        let pool = SecureDatabasePool(url: file)
        try pool.open(with: .passphrase(ForeignFile.passphrase))
        try pool.changeEncryptionKey(with: .raw(TemporaryDatabase.key))
        pool.close()
        try pool.open(with: .raw(TemporaryDatabase.key))
        try check(pool.read { db in try db.int("SELECT count(*) FROM note") }, equals: 3)
    }

    @Test func `a plain file of GRDB becomes an encrypted one, with dates, UUIDs and JSON`() throws
    {
        let queue = try converted()
        let players = try queue.read { db in
            try db.fetchAll(Player.self, "SELECT * FROM player ORDER BY joined DESC")
        }
        check(players.count, equals: 2)
        let ada = try require(players.first)
        check(ada.id, equals: Self.ada)
        check(ada.name == "Ada" && ada.score == 1815 && ada.isCaptain)
        check(ada.joined.timeIntervalSince1970, equals: 1_700_000_000.123)
        check(ada.photo, equals: Data([0xFF, 0xD8, 0x00, 0x01]))
        check(ada.address?.city, equals: "London")
        check(ada.address?.since.timeIntervalSince1970, equals: 1_600_000_000.5)
        check(players.last?.joined.timeIntervalSince1970, equals: -1)
        check(players.last?.address == nil)

        // A row that this library writes compares and sorts with GRDB's.
        try queue.write { db in
            _ = try db.insert(
                Player(
                    id: UUID(), name: "Eve", score: 0, isCaptain: false,
                    joined: Date(timeIntervalSince1970: 1_699_999_999), photo: nil,
                    address: .init(city: "Paris", since: Date(timeIntervalSince1970: 2))),
                into: "player")
        }
        let order = try queue.read { db in
            try db.strings("SELECT name FROM player ORDER BY joined")
        }
        check(order, equals: ["Bob", "Eve", "Ada"])
        try check(
            queue.read { db in
                try db.strings(
                    "SELECT text FROM note WHERE playerID = '\(Self.ada!.uuidString)' ORDER BY id")
            }, equals: ["buy milk", "buying bread"])
        let report = try queue.verifyIntegrity()
        check(report.isSound, "\(report)")
    }

    @Test func `16 bytes of GRDB's are read as a UUID, and found as text once converted`() throws {
        let file = try ForeignFile.copy("grdb-sqlcipher.sqlite", beside: database)
        let queue = SecureDatabaseQueue(url: file)
        try queue.open(with: .passphrase(ForeignFile.passphrase))
        func first() throws -> UUID? {
            try queue.fetchOne(UUID.self, "SELECT id FROM player ORDER BY name")
        }
        try check(first(), equals: Self.ada)
        try check(queue.exists(in: "player", key: ["id": Self.ada]), equals: false)
        // The conversion is the same in an encrypted file, in place.
        try queue.migrate(grdbMigrations())
        try check(first(), equals: Self.ada)
        try check(queue.exists(in: "player", key: ["id": Self.ada]))
    }

    @Test(.enabled(if: ChildProcess.find("sqlite3") != nil))
    func `what is only in the plain file's log is in the copy`() throws {
        let plain = try ForeignFile.copy("grdb.sqlite", beside: database)
        _ = try ChildProcess(
            "sqlite3", [plain.path],
            input: Data(
                """
                .dbconfig no_ckpt_on_close on
                PRAGMA journal_mode = WAL;
                INSERT INTO note (text, playerID) SELECT 'in the log', id FROM player LIMIT 1;
                """.utf8))
        let log = plain.deletingLastPathComponent().appendingPathComponent("grdb.sqlite-wal")
        try check(!Data(contentsOf: log).isEmpty)
        let encrypted = database.directory.appendingPathComponent("app.db")
        let key = DatabaseKey.raw(TemporaryDatabase.key)
        try encryptGRDBFile(from: plain, to: encrypted, key: key)
        let db = SecureDatabaseStore(url: encrypted)
        try db.open(with: key)
        try check(db.strings("SELECT text FROM note ORDER BY id").last, equals: "in the log")
    }

    @Test(.enabled(if: ChildProcess.find("sqlcipher") != nil))
    func `a file with a plaintext header opens with the salt that the app kept`() throws {
        let salt = Data((0..<16).map { UInt8($0) })
        let digits = salt.map { String(format: "%02x", $0) }.joined()
        let file = try TemporaryDatabase()
        // The pragmas of an app in an app group.
        _ = try ChildProcess(
            "sqlcipher", ["-batch", "-bail", file.path],
            input: Data(
                """
                PRAGMA key = 'correct horse battery staple';
                PRAGMA cipher_plaintext_header_size = 32;
                PRAGMA cipher_salt = "x'\(digits)'";
                CREATE TABLE note (text); INSERT INTO note VALUES ('shared');
                """.utf8))
        var configuration = SecureDatabaseConfiguration()
        configuration.cipher.plaintextHeaderSize = 32
        configuration.cipher.salt = salt
        let queue = SecureDatabaseQueue(url: file.url, configuration: configuration)
        try queue.open(with: .passphrase(ForeignFile.passphrase))
        try check(queue.read { db in try db.strings("SELECT text FROM note") }, equals: ["shared"])
    }

    @Test func `steps that GRDB has run are not run again, and a new file runs all`() throws {
        let queue = try converted()
        try check(queue.migrate(grdbMigrations()), equals: [])
        let new = try TemporaryDatabase().openQueue()
        try check(
            new.migrate(grdbMigrations()),
            equals: ["players", "notes", "search", "dates as numbers, UUIDs as text"])
        try check(new.read { db in try !db.tableExists("grdb_migrations") })
        // Both schemas take the same rows.
        for queue in [queue, new] {
            try queue.write { db in
                try db.executeUpdate(
                    "INSERT INTO player VALUES ('x', 'Zoe', 1, 0, 5, NULL, NULL)")
                try db.insert(["text": "walking", "playerID": "x"], into: "note")
                try check(
                    db.strings(
                        "SELECT note.text FROM noteSearch JOIN note ON note.id = noteSearch.rowid WHERE noteSearch MATCH 'walk'"
                    ), equals: ["walking"])
            }
        }
    }

    @Test(.enabled(if: hasFTS5))
    func `row 38: GRDB's full-text table and its triggers keep working`() throws {
        let queue = try converted()
        func find(_ word: String) throws -> [String?] {
            try queue.read { db in
                let rs = try db.executeQuery(
                    "SELECT text FROM noteSearch WHERE noteSearch MATCH ? ORDER BY rowid",
                    values: [word])
                var texts: [String?] = []
                while try rs.next() { texts.append(rs.string(forColumnIndex: 0)) }
                return texts
            }
        }
        try check(find("buy"), equals: ["buy milk", "buying bread"])
        try queue.write { db in
            try db.executeUpdate("UPDATE note SET text = 'sell bread' WHERE id = 3")
            try db.executeUpdate("DELETE FROM player WHERE name = 'Bob'")
        }
        try check(find("buy"), equals: ["buy milk"])
        try check(find("sold OR sells"), equals: ["sell bread"])
        try check(find("late"), equals: [])
    }

    @Test(.enabled(if: ChildProcess.find("sqlite3") != nil))
    func `an index with a collation of the app is not imported, and leaves no file`() throws {
        // As GRDB's file looks to a program that has no such collation.
        let plain = try ForeignFile.copy("grdb.sqlite", beside: database)
        _ = try ChildProcess(
            "sqlite3", [plain.path],
            input: Data(
                """
                PRAGMA writable_schema = ON;
                UPDATE sqlite_schema SET sql = replace(sql, '("playerID")', '("playerID" COLLATE mine)')
                    WHERE name = 'note_on_playerID';
                """.utf8))
        let encrypted = database.directory.appendingPathComponent("app.db")
        let error = storageError {
            try encryptGRDBFile(from: plain, to: encrypted, key: .raw(TemporaryDatabase.key))
        }
        check(error?.description.contains("mine"), equals: true, "\(error as Any)")
        check(!SecureDatabaseStore.exists(at: encrypted))
    }

    @Test(.enabled(if: ChildProcess.find("sqlite3") != nil))
    func `row 40: a table with a tokenizer of the app is not imported`() throws {
        // As GRDB's file looks to a program that has no such tokenizer.
        let plain = try ForeignFile.copy("grdb.sqlite", beside: database)
        _ = try ChildProcess(
            "sqlite3", [plain.path],
            input: Data(
                """
                PRAGMA writable_schema = ON;
                UPDATE sqlite_schema SET sql = replace(sql, 'unicode61', 'latinascii')
                    WHERE name = 'noteSearch';
                """.utf8))
        let encrypted = database.directory.appendingPathComponent("app.db")
        let error = storageError {
            try encryptGRDBFile(from: plain, to: encrypted, key: .raw(TemporaryDatabase.key))
        }
        check(error != nil)
        check(!SecureDatabaseStore.exists(at: encrypted))
    }

    @Test func `row 44: a value that a statement failed with is in no log`() throws {
        let recorder = Recorder()
        let file = try TemporaryDatabase()
        let queue = try file.openQueue("CREATE TABLE t (a UNIQUE)") { $0.logger = recorder.logger }
        for _ in 0..<2 {
            try? queue.write { db in try db.executeUpdate("INSERT INTO t VALUES (?)", "a secret") }
        }
        // Opens the file a second time, which is reported.
        let second = SecureDatabaseStore(url: file.url, configuration: recorder.reporting)
        try second.open(with: TemporaryDatabase.key)
        check(!recorder.text.isEmpty)
        check(!recorder.text.contains("secret") && !recorder.text.contains("INSERT"))
    }

    @Test func `the guide's first lines do what they say`() async throws {
        let other = try TemporaryDatabase()
        var migrations = SchemaMigrations()
        migrations.add(
            "notes", sql: "CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT, at INTEGER)")
        let notes = try grdbFirstLines(
            path: other.path, note: Note(id: nil, text: "buy milk"), migrations: migrations)
        check(notes.map(\.text), equals: ["buy milk"])
        let queue = queue
        let shown = AsyncStream<Int>.makeStream()
        let task = Task { try await grdbObservation(of: queue) { shown.continuation.yield($0) } }
        for await count in shown.stream {
            check(count, equals: 2)
            break
        }
        task.cancel()
        _ = try? await task.value
    }
}
