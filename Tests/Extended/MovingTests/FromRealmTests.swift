import Foundation
import SecureStorage
import TestSupport
import Testing

/// The rows of Docs/FromRealm.md.
struct FromRealmTests {
    let database: TemporaryDatabase
    let kennel: SecureDatabaseQueue

    struct Dog: Codable, Equatable, Sendable {
        var id: String
        var name: String
        var born: Date?
        var owner: Int64?
    }

    struct Failed: Error {}

    static let schema = """
        CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
        CREATE TABLE dog (
            id TEXT PRIMARY KEY, name TEXT NOT NULL, born INTEGER,
            owner INTEGER REFERENCES person (id) ON DELETE SET NULL);
        """

    init() throws {
        database = try TemporaryDatabase()
        kennel = try database.openQueue(
            Self.schema + """
                INSERT INTO person VALUES (1, 'Ada'), (2, 'Bob');
                INSERT INTO dog VALUES ('a', 'Rex', 1600000000, 1), ('b', 'Bello', -1, 1);
                """)
    }

    func names() throws -> [String?] {
        try kennel.read { db in try db.strings("SELECT name FROM dog ORDER BY id") }
    }

    @Test func `row 1: one queue serves all threads`() throws {
        let kennel = kennel
        let counts = try (0..<4).map { _ in
            try onOtherThread { try kennel.read { db in try db.int("SELECT count(*) FROM dog") } }
        }
        check(counts, equals: [2, 2, 2, 2])
    }

    @Test func `row 2: a key has 32 bytes, and Realm's 64 are refused`() throws {
        let file = try TemporaryDatabase()
        let queue = SecureDatabaseQueue(url: file.url)
        #expect(throws: SecureStorageError.self) {
            try queue.open(with: .raw(SecretBytes.random(count: 64)))
        }
        try check(file.fileNames(), equals: [])
        try queue.open(with: .raw(SecretBytes.random(count: 32)))
    }

    @Test func `row 3: a temporary file serves tests`() throws {
        let temporary = try TemporaryDatabase().openQueue(Self.schema)
        try check(temporary.read { db in try db.tableExists("dog") })
    }

    @Test func `row 4: a class is a table and a struct`() throws {
        let dogs = try kennel.read { db in
            try db.fetchAll(Dog.self, "SELECT * FROM dog ORDER BY id")
        }
        check(
            dogs.first,
            equals: Dog(
                id: "a", name: "Rex", born: Date(timeIntervalSince1970: 1_600_000_000), owner: 1
            ))
    }

    @Test func `row 5: a second row with a primary key is an error`() {
        let error = storageError {
            try kennel.write { db in _ = try db.insert(Dog(id: "a", name: "x"), into: "dog") }
        }
        check(error?.isConstraintViolation, equals: true)
    }

    @Test func `row 6: a value is added in a write`() throws {
        try kennel.write { db in _ = try db.insert(Dog(id: "c", name: "Fido"), into: "dog") }
        try check(names(), equals: ["Rex", "Bello", "Fido"])
    }

    @Test func `row 7: a value replaces the one with its key, or some of its columns`() throws {
        try kennel.write { db in
            try db.upsert(Dog(id: "a", name: "King", owner: 1), into: "dog", key: "id")
            try db.upsert(Dog(id: "c", name: "Fido"), into: "dog", key: "id")
            try check(db.update(["name": "Bella"], in: "dog", key: ["id": "b"]), equals: 1)
        }
        try check(names(), equals: ["King", "Bella", "Fido"])
        try check(
            kennel.read { db in try db.int("SELECT born FROM dog WHERE id = 'b'") }, equals: -1)
    }

    @Test func `row 8: rows are deleted`() throws {
        try kennel.write { db in try db.executeUpdate("DELETE FROM dog WHERE id = ?", "a") }
        try check(names(), equals: ["Bello"])
        try kennel.write { db in try db.executeUpdate("DELETE FROM dog") }
        try check(names(), equals: [])
    }

    @Test func `row 9: a row is found by its primary key`() throws {
        let found = try ["b", "z"].map { id in
            try kennel.read { db in
                try db.fetchOne(Dog.self, "SELECT * FROM dog WHERE id = ?", values: [id])
            }
        }
        check(found.map { $0?.name }, equals: ["Bello", nil])
    }

    @Test func `row 10: filters and orders are SQL`() throws {
        let dogs = try kennel.read { db in
            try db.fetchAll(
                Dog.self, "SELECT * FROM dog WHERE born < ? ORDER BY name",
                values: [Date(timeIntervalSince1970: 2_000_000_000)])
        }
        check(dogs.map(\.name), equals: ["Bello", "Rex"])
    }

    @Test func `row 11: a limit, and rows one by one`() async throws {
        let first = try await kennel.fetchAll("SELECT name FROM dog ORDER BY id LIMIT 1") {
            (name: String) in name
        }
        check(first, equals: ["Rex"])
        let dogs = kennel.rows(as: Dog.self) { db in
            try db.executeQuery("SELECT * FROM dog ORDER BY id")
        }
        for try await dog in dogs {
            check(dog.name, equals: "Rex")
            break
        }
    }

    @Test func `row 12: counts and sums`() throws {
        try kennel.read { db throws in
            try check(db.int(forQuery: "SELECT count(*) FROM dog"), equals: 2)
            try check(db.int(forQuery: "SELECT sum(born) FROM dog"), equals: 1_599_999_999)
            try check(db.date(forQuery: "SELECT max(born) FROM dog") != nil)
        }
    }

    @Test func `rows 13 and 14: a list is the rows that refer to one, from either side`() throws {
        try kennel.read { db throws in
            try check(
                db.strings("SELECT name FROM dog WHERE owner = 1 ORDER BY id"),
                equals: ["Rex", "Bello"])
            try check(
                db.strings(
                    "SELECT person.name FROM person JOIN dog ON dog.owner = person.id WHERE dog.id = 'b'"
                ), equals: ["Ada"])
        }
    }

    @Test func `row 15: an embedded object is JSON, or goes with its owner`() throws {
        struct Address: Codable, Equatable { var city: String }
        struct Person: Codable, Equatable {
            var id: Int64
            var name: String
            var address: Address?
        }
        try kennel.write { db in
            try db.executeStatements(
                """
                ALTER TABLE person ADD COLUMN address TEXT;
                CREATE TABLE bowl (owner INTEGER REFERENCES person (id) ON DELETE CASCADE);
                INSERT INTO bowl VALUES (1), (2);
                """)
            let ada = Person(id: 1, name: "Ada", address: Address(city: "London"))
            try check(db.update(ada, in: "person", key: "id"), equals: 1)
            try check(db.fetchOne(Person.self, "SELECT * FROM person WHERE id = 1"), equals: ada)
            try check(
                db.string(forQuery: "SELECT address ->> '$.city' FROM person WHERE id = 1"),
                equals: "London")
            try db.executeUpdate("DELETE FROM person WHERE id = 1")
            try check(db.int("SELECT count(*) FROM bowl"), equals: 1)
            // What refers to the person is cleared, as the schema says.
            try check(db.int("SELECT count(*) FROM dog WHERE owner IS NULL"), equals: 2)
        }
    }

    @Test func `row 16: sets and dictionaries are JSON, and a column holds any type`() throws {
        struct Tagged: Codable, Equatable {
            var tags: Set<String>
            var sizes: [String: Int]
        }
        let tagged = Tagged(tags: ["x", "y"], sizes: ["collar": 3])
        try kennel.write { db in
            try db.executeStatements("CREATE TABLE tagged (tags, sizes); CREATE TABLE anything (v)")
            try db.insert(tagged, into: "tagged")
            try check(db.fetchOne(Tagged.self, "SELECT * FROM tagged"), equals: tagged)
            let values: [Any?] = [1, 1.5, "x", Data([1]), nil]
            for value in values {
                try db.executeUpdate("INSERT INTO anything VALUES (?)", values: [value])
            }
            try check(
                db.strings("SELECT typeof(v) FROM anything"),
                equals: ["integer", "real", "text", "blob", "null"])
        }
    }

    @Test func `row 17: an enum is stored by its raw value`() throws {
        enum Size: Int, Codable, SQLiteDatatypeBridgeable { case small = 1, large }
        try kennel.write { db in
            try db.executeUpdate("UPDATE dog SET born = ? WHERE id = 'a'", Size.large)
            try check(db.int("SELECT born FROM dog WHERE id = 'a'"), equals: 2)
            let size: Size? = try db.object(forQuery: "SELECT born FROM dog WHERE id = 'a'")
            check(size, equals: .large)
        }
    }

    @Test func `row 18: dates, data, UUIDs and decimal numbers`() throws {
        struct Values: Codable, Equatable {
            var date: Date
            var data: Data
            var uuid: UUID
            var decimal: Decimal
        }
        let values = Values(
            date: Date(timeIntervalSince1970: 7), data: Data([0, 255]), uuid: UUID(),
            decimal: try require(Decimal(string: "12345678901234567890.123456789")))
        try kennel.write { db in
            try db.executeStatements("CREATE TABLE v (date, data, uuid, decimal)")
            try db.insert(values, into: "v")
            try check(db.fetchOne(Values.self, "SELECT * FROM v"), equals: values)
            try check(
                db.strings(
                    "SELECT typeof(date) || typeof(data) || typeof(uuid) || typeof(decimal) FROM v"),
                equals: ["realblobtexttext"])
        }
    }

    @Test func `row 19: an index is made in SQL, and used`() throws {
        try kennel.write { db in
            try db.executeUpdate("CREATE INDEX dog_name ON dog (name)")
            let rs = try db.executeQuery("EXPLAIN QUERY PLAN SELECT * FROM dog WHERE name = 'Rex'")
            try check(rs.next())
            check(rs.string(forColumnName: "detail")?.contains("dog_name"), equals: true)
        }
    }

    @Test(.enabled(if: hasFTS5))
    func `row 20: full-text search`() throws {
        let found = try kennel.write { db in
            try db.executeStatements(
                """
                CREATE VIRTUAL TABLE search USING fts5 (name, content='dog', content_rowid='rowid');
                INSERT INTO search (search) VALUES ('rebuild');
                """)
            return try db.strings("SELECT name FROM search WHERE search MATCH 'bel*'")
        }
        check(found, equals: ["Bello"])
    }
}
