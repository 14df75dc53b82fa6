import Foundation
import SecureStorage
import TestSupport
import Testing

/// The rows of Docs/FromGRDB.md.
struct FromGRDBTests {
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
        check(!other.isOpen())
        check(storageError { _ = try other.read { _ in 1 } }, equals: .closed)
        queue.close()
        check(
            storageError { try other.open(with: .passphrase("no")) }?.caseName,
            equals: "authenticationFailed")
        try other.open(with: .raw(TemporaryDatabase.key))
        try check(other.read { db in try db.int("SELECT count(*) FROM note") }, equals: 2)
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
        check(seen, equals: 2)
        try check(pool.read { db in try db.int("SELECT count(*) FROM note") }, equals: 0)
    }

    @Test func `row 3: code for a reader or a writer takes a queue and a pool`() throws {
        func count(in reader: any SecureDatabaseReader) throws -> Int? {
            try reader.read { db in try db.int("SELECT count(*) FROM note") }
        }
        func clear(_ writer: any SecureDatabaseWriter) throws {
            try writer.write { db in try db.executeUpdate("DELETE FROM note") }
        }
        try check(count(in: queue), equals: 2)
        try clear(queue)
        queue.close()
        let pool = try database.openPool()
        try check(count(in: pool), equals: 0)
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
        let raw = try require(shortest(.raw(TemporaryDatabase.key)))
        let derived = try require(shortest(.passphrase(ForeignFile.passphrase)))
        check(raw < derived)
    }

    @Test func `row 5: settings are checked when the file is opened`() throws {
        queue.close()
        check(SecureDatabaseConfiguration().foreignKeysEnabled)
        check(SecureDatabaseConfiguration().maximumReaderCount, equals: 5)
        let reader = try database.openQueue { $0.isReadOnly = true }
        check(
            storageError {
                try reader.write { db in try db.executeUpdate("DELETE FROM note") }
            }?.isReadOnly, equals: true)
        reader.close()
        let error = storageError { _ = try database.openPool { $0.maximumReaderCount = 0 } }
        check(error?.caseName, equals: "openFailed")
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
        try check(pool.read { db in try db.string(forQuery: sql) }, equals: "READ")
        try check(pool.write { db in try db.string(forQuery: sql) }, equals: "READ")
    }

    // MARK: - Writing

    @Test func `row 9: one statement takes values and named values`() throws {
        try queue.write { db in
            try db.executeUpdate("UPDATE note SET text = ? WHERE id = ?", values: ["a", 1])
            try db.executeUpdate(
                "UPDATE note SET text = :text WHERE id = :id",
                parameterDictionary: ["text": "b", "id": 2])
        }
        try check(texts(), equals: ["a", "b"])
        check(
            storageError {
                try queue.write { db in try db.executeUpdate("DELETE FROM note; SELECT 1") }
            } != nil)
        try check(texts(), equals: ["a", "b"])
    }

    @Test func `row 10: several statements run in a batch without placeholders`() throws {
        try queue.write { db in
            try db.executeStatements("DELETE FROM note; INSERT INTO note VALUES (5, 'x', NULL)")
        }
        try check(texts(), equals: ["x"])
        check(
            storageError { try queue.write { db in try db.executeStatements("SELECT ?") } }?
                .resultCode, equals: .range)
    }

    @Test func `row 11: insert returns the row id, upsert and update go by a key`() throws {
        try queue.write { db in
            let id = try db.insert(Note(id: nil, text: "new"), into: "note")
            check(id, equals: 3)
            try db.upsert(Note(id: 3, text: "newer"), into: "note", key: "id")
            try check(db.update(Note(id: 2, text: "write"), in: "note", key: "id"), equals: 1)
            try check(db.update(Note(id: 9, text: "none"), in: "note", key: "id"), equals: 0)
        }
        try check(texts(), equals: ["buy milk", "write", "newer"])
    }

    @Test func `row 12: named columns of the rows with a key are updated`() throws {
        try queue.write { db throws in
            try check(db.update(["text": "call"], in: "note", key: ["id": 2]), equals: 1)
        }
        try check(texts(), equals: ["buy milk", "call"])
        try check(
            queue.read { db in try db.int("SELECT at FROM note WHERE id = 1") },
            equals: 1_700_000_000
        )
    }

    @Test func `row 13: a deletion counts its rows`() throws {
        try queue.write { db throws in
            try check(db.delete(from: "note", key: ["id": 1]), equals: 1)
            try check(db.delete(Note(id: 2, text: "read"), from: "note", key: "id"), equals: 1)
        }
        try check(queue.count(in: "note"), equals: 0)
    }

    // MARK: - Reading

    @Test func `row 14: rows become values of a type that is only Decodable`() throws {
        struct Text: Decodable, Equatable, Sendable { var text: String }
        let all = try queue.read { db in try db.fetchAll(Text.self, "SELECT * FROM note") }
        check(all, equals: [Text(text: "buy milk"), Text(text: "read")])
        let none = try queue.read { db in
            try db.fetchOne(Text.self, "SELECT * FROM note WHERE id = ?", values: [9])
        }
        check(none == nil)
    }

    @Test func `row 15: a column that does not fit its type throws, and is named`() throws {
        let pairs = try queue.fetchAll("SELECT id, text FROM note") { (id: Int64, text: String) in
            "\(id) \(text)"
        }
        check(pairs, equals: ["1 buy milk", "2 read"])
        let error = storageError {
            _ = try queue.fetchAll("SELECT text AS number FROM note") { (number: Int) in number }
        }
        check(error?.description.contains("number"), equals: true, "\(error as Any)")
    }

    @Test func `row 16: rows come one by one, in a block and in a task`() async throws {
        try await queue.read { db in
            let rs = try db.executeQuery("SELECT text FROM note ORDER BY id")
            try check(rs.next())
            check(rs.string(forColumnName: "text"), equals: "buy milk")
        }
        var texts: [String] = []
        for try await note in queue.rows(
            as: Note.self, { db in try db.executeQuery("SELECT * FROM note ORDER BY id") })
        {
            texts.append(note.text)
        }
        check(texts, equals: ["buy milk", "read"])
    }

    @Test func `row 17: a single value is nil for NULL and no row`() throws {
        try queue.read { db throws in
            try check(db.int(forQuery: "SELECT count(*) FROM note"), equals: 2)
            try check(db.string(forQuery: "SELECT text FROM note WHERE id = ?", 2), equals: "read")
            try check(db.date(forQuery: "SELECT at FROM note WHERE id = 2") == nil)
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
                WHERE text LIKE \("%milk%") ORDER BY name
                """
            ) { (text: String, name: String) in "\(text): \(name)" }
        }
        check(found, equals: ["buy milk: food", "buy milk: shop"])
    }

    @Test func `row 19: a list of any length is a list of values`() throws {
        for (ids, expected) in [([1, 2], ["buy milk", "read"]), ([2, 7], ["read"]), ([], [])] {
            let found = try queue.read { db in
                try db.fetchAll("SELECT text FROM note WHERE id IN \(ids) ORDER BY id") {
                    (text: String) in text
                }
            }
            check(found, equals: expected)
        }
    }

    @Test func `row 20: a value never becomes SQL`() throws {
        let hostile = "'); DELETE FROM note; --"
        try queue.write { db in
            try db.execute("INSERT INTO note (text) VALUES (\(hostile))")
        }
        try check(texts(), equals: ["buy milk", "read", hostile])
    }

    @Test func `row 21: dates as text are read, and written as numbers`() throws {
        try queue.write { db in
            try db.executeUpdate("UPDATE note SET at = '2023-11-14 22:13:20.123' WHERE id = 2")
            let read = try db.fetchOne(
                Note.self, "SELECT * FROM note WHERE id = 2", dates: .text)
            check(abs((read?.at?.timeIntervalSince1970 ?? 0) - 1_700_000_000.123) < 1e-6)
            try db.update(["at": read?.at], in: "note", key: ["id": 2])
            try check(
                db.string(forQuery: "SELECT quote(at) FROM note WHERE id = 2"),
                equals: "1700000000.123")
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
            try check(db.string(forQuery: "SELECT typeof(address) FROM person"), equals: "text")
            try check(
                db.double(forQuery: "SELECT json_extract(address, '$.since') FROM person"),
                equals: 1.5)
            try check(db.fetchOne(Person.self, "SELECT * FROM person"), equals: person)
        }
    }
}
