import Foundation
import SecureStorage
import TestSupport
import Testing

/// The rows of Docs/FromGRDB.md.
@Suite struct FromGRDBTests {
    let database: TemporaryDatabase
    let queue: SecureDatabaseQueue

    struct Note: Codable, Equatable, Sendable {
        var id: Int64?
        var text: String
        var at: Date?
    }

    init() throws {
        database = try TemporaryDatabase()
        queue = try database.openQueue(
            """
            CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE, at);
            INSERT INTO note VALUES (1, 'buy milk', 1700000000), (2, 'read', NULL);
            """)
    }

    func texts() throws -> [String?] {
        try queue.read { db in try db.strings("SELECT text FROM note ORDER BY id") }
    }

    // MARK: - Opening

    @Test func `row 1: a queue opens with a key, which a wrong one does not pass`() throws {
        let other = SecureDatabaseQueue(fullDatabasePath: database.path)
        #expect(!other.isOpen())
        #expect(storageError { _ = try other.read { _ in 1 } } == .closed)
        queue.close()
        #expect(
            storageError { try other.open(with: .passphrase("no")) }?.caseName
                == "authenticationFailed")
        try other.open(with: .raw(TemporaryDatabase.key))
        #expect(try other.read { db in try db.int("SELECT count(*) FROM note") } == 2)
    }

    @Test func `row 2: a pool reads while it writes`() throws {
        queue.close()
        let pool = try database.openPool()
        // Another thread reads in the middle of the write.
        let seen = try pool.write { db in
            try db.executeUpdate("DELETE FROM note")
            return try onOtherThread {
                try pool.read { db in try db.int("SELECT count(*) FROM note") }
            }
        }
        #expect(seen == 2)
        #expect(try pool.read { db in try db.int("SELECT count(*) FROM note") } == 0)
    }

    @Test func `row 3: code for a reader or a writer takes a queue and a pool`() throws {
        func count(in reader: any SecureDatabaseReader) throws -> Int? {
            try reader.read { db in try db.int("SELECT count(*) FROM note") }
        }
        func clear(_ writer: any SecureDatabaseWriter) throws {
            try writer.write { db in try db.executeUpdate("DELETE FROM note") }
        }
        #expect(try count(in: queue) == 2)
        try clear(queue)
        queue.close()
        let pool = try database.openPool()
        #expect(try count(in: pool) == 0)
    }

    @Test func `row 4: a temporary file with a raw key derives no key`() throws {
        // The shortest of several, since other tests share the cores.
        func shortest(_ key: DatabaseKey) throws -> Duration? {
            let file = try TemporaryDatabase()
            return try (0..<5).map { _ in
                let queue = SecureDatabaseQueue(url: file.url)
                let start = ContinuousClock.now
                try queue.open(with: key)
                queue.close()
                return ContinuousClock.now - start
            }.min()
        }
        let raw = try #require(try shortest(.raw(TemporaryDatabase.key)))
        let derived = try #require(try shortest(.passphrase(ForeignFile.passphrase)))
        #expect(raw < derived)
    }

    @Test func `row 5: settings are checked when the file is opened`() throws {
        queue.close()
        #expect(SecureDatabaseConfiguration().foreignKeysEnabled)
        #expect(SecureDatabaseConfiguration().maximumReaderCount == 5)
        let reader = try database.openQueue { $0.isReadOnly = true }
        #expect(
            storageError {
                try reader.write { db in try db.executeUpdate("DELETE FROM note") }
            }?.isReadOnly == true)
        reader.close()
        let error = storageError { _ = try database.openPool { $0.maximumReaderCount = 0 } }
        #expect(error?.caseName == "openFailed")
    }

    @Test func `row 6: a pool configures each connection that it opens`() throws {
        queue.close()
        let pool = SecureDatabasePool(
            url: database.url, configuration: database.store().configuration,
            configure: { db in
                try db.makeFunction(named: "shout", argumentCount: 1) { arguments in
                    String(sqliteValue: arguments[0])?.uppercased()
                }
            })
        try pool.open(with: .raw(TemporaryDatabase.key))
        let sql = "SELECT shout(text) FROM note WHERE id = 2"
        #expect(try pool.read { db in try db.string(forQuery: sql) } == "READ")
        #expect(try pool.write { db in try db.string(forQuery: sql) } == "READ")
    }

    // MARK: - Writing

    @Test func `row 9: one statement takes values and named values`() throws {
        try queue.write { db in
            try db.executeUpdate("UPDATE note SET text = ? WHERE id = ?", values: ["a", 1])
            try db.executeUpdate(
                "UPDATE note SET text = :text WHERE id = :id",
                parameterDictionary: ["text": "b", "id": 2])
        }
        #expect(try texts() == ["a", "b"])
        #expect(
            storageError {
                try queue.write { db in try db.executeUpdate("DELETE FROM note; SELECT 1") }
            } != nil)
        #expect(try texts() == ["a", "b"])
    }

    @Test func `row 10: several statements run in a batch without placeholders`() throws {
        try queue.write { db in
            try db.executeStatements("DELETE FROM note; INSERT INTO note VALUES (5, 'x', NULL)")
        }
        #expect(try texts() == ["x"])
        #expect(
            storageError { try queue.write { db in try db.executeStatements("SELECT ?") } }?
                .resultCode == .range)
    }

    @Test func `row 11: insert returns the row id, upsert and update go by a key`() throws {
        try queue.write { db in
            let id = try db.insert(Note(id: nil, text: "new"), into: "note")
            #expect(id == 3)
            try db.upsert(Note(id: 3, text: "newer"), into: "note", key: "id")
            #expect(try db.update(Note(id: 2, text: "write"), in: "note", key: "id"))
            #expect(try !db.update(Note(id: 9, text: "none"), in: "note", key: "id"))
        }
        #expect(try texts() == ["buy milk", "write", "newer"])
    }

    @Test func `row 12: named columns of the rows with a key are updated`() throws {
        try queue.write { db throws in
            #expect(try db.update("note", ["text": "call"], where: ["id": 2]))
        }
        #expect(try texts() == ["buy milk", "call"])
        #expect(
            try queue.read { db in try db.int("SELECT at FROM note WHERE id = 1") } == 1_700_000_000
        )
    }

    @Test func `row 13: a deletion counts its rows`() throws {
        let count = try queue.write { db in
            try db.executeUpdate("DELETE FROM note WHERE id > ?", 0)
            return try db.changedRowCount()
        }
        #expect(count == 2)
    }

    // MARK: - Reading

    @Test func `row 14: rows become values of a type that is only Decodable`() throws {
        struct Text: Decodable, Equatable, Sendable { var text: String }
        let all = try queue.read { db in try db.fetchAll(Text.self, "SELECT * FROM note") }
        #expect(all == [Text(text: "buy milk"), Text(text: "read")])
        let none = try queue.read { db in
            try db.fetchOne(Text.self, "SELECT * FROM note WHERE id = ?", values: [9])
        }
        #expect(none == nil)
    }

    @Test func `row 15: a column that does not fit its type throws, and is named`() throws {
        let pairs = try queue.fetchAll("SELECT id, text FROM note") { (id: Int64, text: String) in
            "\(id) \(text)"
        }
        #expect(pairs == ["1 buy milk", "2 read"])
        let error = storageError {
            _ = try queue.fetchAll("SELECT text AS number FROM note") { (number: Int) in number }
        }
        #expect(error?.description.contains("number") == true, "\(error as Any)")
    }

    @Test func `row 16: rows come one by one, in a block and in a task`() async throws {
        try await queue.read { db in
            let rs = try db.executeQuery("SELECT text FROM note ORDER BY id")
            #expect(try rs.next())
            #expect(rs.string(forColumnName: "text") == "buy milk")
        }
        var texts: [String] = []
        for try await note in queue.rows(
            as: Note.self, { db in try db.executeQuery("SELECT * FROM note ORDER BY id") })
        {
            texts.append(note.text)
        }
        #expect(texts == ["buy milk", "read"])
    }

    @Test func `row 17: a single value is nil for NULL and no row`() throws {
        try queue.read { db throws in
            #expect(try db.int(forQuery: "SELECT count(*) FROM note") == 2)
            #expect(try db.string(forQuery: "SELECT text FROM note WHERE id = ?", 2) == "read")
            #expect(try db.date(forQuery: "SELECT at FROM note WHERE id = 2") == nil)
        }
    }

    @Test func `row 18: filters, orders and associations are SQL`() throws {
        let found = try queue.write { db in
            try db.executeStatements(
                """
                CREATE TABLE tag (note INTEGER REFERENCES note (id), name TEXT);
                INSERT INTO tag VALUES (1, 'shop'), (2, 'home'), (1, 'food');
                """)
            return try db.fetchAll(
                """
                SELECT text, name FROM note JOIN tag ON tag.note = note.id
                    WHERE text LIKE ? ORDER BY name
                """, "%milk%"
            ) { (text: String, name: String) in "\(text): \(name)" }
        }
        #expect(found == ["buy milk: food", "buy milk: shop"])
    }

    @Test func `row 19: a list of any length is one value`() throws {
        let sql = "SELECT text FROM note WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id"
        for (ids, expected) in [([1, 2], ["buy milk", "read"]), ([2, 7], ["read"]), ([], [])] {
            let found = try queue.read { db in
                try db.fetchAll(sql, JSONArray(ids)) { (text: String) in text }
            }
            #expect(found == expected)
        }
    }

    @Test func `row 20: a value never becomes SQL`() throws {
        let hostile = "'); DELETE FROM note; --"
        try queue.write { db in
            try db.executeUpdate("INSERT INTO note (text) VALUES (?)", hostile)
        }
        #expect(try texts() == ["buy milk", "read", hostile])
    }

    @Test func `row 21: dates as text are read, and written as numbers`() throws {
        try queue.write { db in
            try db.executeUpdate("UPDATE note SET at = '2023-11-14 22:13:20.123' WHERE id = 2")
            let read = try db.fetchOne(
                Note.self, "SELECT * FROM note WHERE id = 2", dates: .text)
            #expect(abs((read?.at?.timeIntervalSince1970 ?? 0) - 1_700_000_000.123) < 1e-6)
            try db.update("note", ["at": read?.at], where: ["id": 2])
            #expect(
                try db.string(forQuery: "SELECT quote(at) FROM note WHERE id = 2") == "1700000000")
        }
    }

    @Test func `row 22: nested values are JSON in text, with dates in seconds since 1970`() throws {
        struct Address: Codable, Equatable {
            var city: String
            var since: Date
        }
        struct Person: Codable, Equatable {
            var id: Int64
            var address: Address
        }
        let person = Person(
            id: 1, address: Address(city: "London", since: Date(timeIntervalSince1970: 1.5)))
        try queue.write { db in
            try db.executeStatements("CREATE TABLE person (id INTEGER PRIMARY KEY, address TEXT)")
            try db.insert(person, into: "person")
            #expect(try db.string(forQuery: "SELECT typeof(address) FROM person") == "text")
            #expect(
                try db.double(forQuery: "SELECT json_extract(address, '$.since') FROM person")
                    == 1.5)
            #expect(try db.fetchOne(Person.self, "SELECT * FROM person") == person)
        }
    }
}
