import Foundation
import SecureStorage
import TestSupport
import Testing

/// The rows of Docs/FromSQLiteSwift.md.
struct FromSQLiteSwiftTests {
    let database: TemporaryDatabase
    let queue: SecureDatabaseQueue

    struct User: Codable, Equatable, Sendable {
        var id: Int64?
        var email: String
        var age: Int?
    }

    struct Failed: Error {}

    init() throws {
        database = try TemporaryDatabase()
        queue = try database.openQueue(
            """
            CREATE TABLE users (id INTEGER PRIMARY KEY, email TEXT NOT NULL UNIQUE, age INTEGER);
            INSERT INTO users VALUES (1, 'ada@example.com', 36), (2, 'bob@example.com', NULL);
            """)
    }

    func emails() throws -> [String?] {
        try queue.read { db in try db.strings("SELECT email FROM users ORDER BY id") }
    }

    // MARK: - Opening

    @Test func `row 1: queue, pool and store open one file`() throws {
        queue.close()
        let key = DatabaseKey.raw(TemporaryDatabase.key)
        let count = "SELECT count(*) FROM users"
        let other = SecureDatabaseQueue(fullDatabasePath: database.path)
        try other.open(with: key)
        try check(other.read { db in try db.int(count) }, equals: 2)
        other.close()
        let pool = SecureDatabasePool(fullDatabasePath: database.path)
        try pool.open(with: key)
        try check(pool.read { db in try db.int(count) }, equals: 2)
        pool.close()
        let store = SecureDatabaseStore(fullDatabasePath: database.path)
        try store.open(with: key)
        try check(store.int(count), equals: 2)
    }

    @Test func `row 2: a temporary file with a raw key takes the place of one in memory`() throws {
        let temporary = try TemporaryDatabase().openStore()
        try temporary.executeStatements("CREATE TABLE t (a); INSERT INTO t VALUES (1)")
        try check(temporary.int("SELECT a FROM t"), equals: 1)
    }

    @Test func `row 3: a read-only queue refuses a statement that writes`() throws {
        queue.close()
        let reader = try database.openQueue { $0.isReadOnly = true }
        check(
            storageError {
                try reader.inDatabase { db in try db.executeUpdate("DELETE FROM users") }
            }?
            .isReadOnly, equals: true)
    }

    // MARK: - Writing

    @Test func `row 9: a statement takes values by position and by name`() throws {
        try queue.write { db in
            try db.executeUpdate("UPDATE users SET age = ? WHERE id = ?", values: [40, 1])
            try db.executeUpdate(
                "UPDATE users SET age = :age WHERE id = :id",
                parameterDictionary: ["age": 41, "id": 2])
        }
        try check(queue.read { db in try db.int("SELECT sum(age) FROM users") }, equals: 81)
    }

    @Test func `row 10: a batch runs several statements`() throws {
        try queue.write { db in
            try db.executeStatements("DELETE FROM users; INSERT INTO users VALUES (7, 'x', 1);")
        }
        try check(emails(), equals: ["x"])
    }

    @Test func `row 11: tables and indexes are made by a step, once`() throws {
        var migrations = SchemaMigrations()
        migrations.add(
            "posts",
            sql: """
                CREATE TABLE post (id INTEGER PRIMARY KEY, author INTEGER REFERENCES users (id));
                CREATE INDEX post_author ON post (author);
                """)
        try check(queue.migrate(migrations), equals: ["posts"])
        try check(queue.migrate(migrations), equals: [])
        try check(queue.read { db in try db.tableExists("post") })
    }

    @Test func `row 12: named values are inserted, and the row id is returned`() throws {
        let id = try queue.write { db in
            try db.insert(["email": "eve@example.com", "age": nil], into: "users")
        }
        check(id, equals: 3)
        try check(emails().last, equals: "eve@example.com")
    }

    @Test func `row 13: named values are updated, and whether a row has the key is returned`()
        throws
    {
        try queue.write { db in
            try check(db.update(["email": "new"], in: "users", key: ["id": 1]), equals: 1)
            try check(db.update(["email": "none"], in: "users", key: ["id": 9]), equals: 0)
            try db.executeUpdate("DELETE FROM users WHERE id = ?", 2)
        }
        try check(emails(), equals: ["new"])
    }

    @Test func `row 14: values of a type are inserted, all or none`() throws {
        try queue.write { db in
            try check(db.insert(User(email: "c"), into: "users"), equals: 3)
            try db.insert(contentsOf: [User(email: "d"), User(email: "e")], into: "users")
        }
        check(
            storageError {
                try queue.writeWithoutTransaction { db in
                    try db.insert(contentsOf: [User(email: "f"), User(email: "c")], into: "users")
                }
            }?.isConstraintViolation, equals: true)
        try check(emails().suffix(3), equals: ["c", "d", "e"])
    }

    @Test func `row 15: an upsert goes by a unique column`() throws {
        try queue.write { db in
            try db.upsert(
                User(id: 1, email: "ada@example.com", age: 37), into: "users", key: "email")
            try db.upsert(User(id: 5, email: "new@example.com"), into: "users", key: "email")
        }
        try check(queue.read { db in try db.int("SELECT age FROM users WHERE id = 1") }, equals: 37)
        try check(emails().count, equals: 3)
    }

    // MARK: - Reading

    @Test func `row 16: rows are decoded as a type`() throws {
        let users = try queue.read { db in
            try db.fetchAll(User.self, "SELECT * FROM users ORDER BY id")
        }
        check(users.map(\.age), equals: [36, nil])
        let first = try queue.read { db -> User in
            let rs = try db.executeQuery("SELECT * FROM users")
            _ = try rs.next()
            return try rs.decode(User.self)
        }
        check(first, equals: users[0])
    }

    @Test func `row 17: columns have the types of a closure, and one that does not fit is named`()
        throws
    {
        let lines = try queue.fetchAll("SELECT id, email FROM users") {
            (id: Int64, email: String) in "\(id) \(email)"
        }
        check(lines, equals: ["1 ada@example.com", "2 bob@example.com"])
        let error = storageError {
            _ = try queue.fetchAll("SELECT age FROM users") { (age: Int) in age }
        }
        check(error?.description.contains("age"), equals: true, "\(error as Any)")
    }

    @Test func `row 18: the first row, or nil`() throws {
        let sql: SQL = "SELECT email FROM users WHERE id = ?"
        try check(queue.fetchOne(sql, 2) { (email: String) in email }, equals: "bob@example.com")
        try check(queue.fetchOne(sql, 9) { (email: String) in email } == nil)
    }

    @Test func `row 19: the value of a query is nil for NULL and for no row`() throws {
        try queue.read { db throws in
            try check(db.int(forQuery: "SELECT count(*) FROM users"), equals: 2)
            try check(db.string(forQuery: "SELECT email FROM users WHERE id = ?", 1) != nil)
            try check(db.int(forQuery: "SELECT age FROM users WHERE id = 2") == nil)
            try check(db.int(forQuery: "SELECT age FROM users WHERE id = 9") == nil)
        }
    }

    @Test func `row 20: a step that fails throws`() throws {
        try queue.read { db in
            let rs = try db.executeQuery(
                "SELECT CASE id WHEN 1 THEN 1 ELSE abs(-9223372036854775807 - 1) END FROM users")
            try check(rs.next())
            #expect(throws: SecureStorageError.self) { try rs.next() }
        }
    }

    @Test func `row 21: a list is one value`() throws {
        let found = try queue.fetchAll(
            "SELECT email FROM users WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id",
            JSONArray([2, 3, 1])
        ) { (email: String) in email }
        check(found, equals: ["ada@example.com", "bob@example.com"])
    }

    // MARK: - Transactions

    @Test func `row 22: an error rolls a write back`() throws {
        #expect(throws: Failed.self) {
            try queue.write { db in
                try db.executeUpdate("DELETE FROM users")
                throw Failed()
            }
        }
        try check(emails().count, equals: 2)
    }

    @Test func `row 23: a savepoint is rolled back with true, and by an error`() throws {
        try queue.write { db in
            try db.inSavePoint { db in
                try db.executeUpdate("DELETE FROM users")
                return true
            }
            #expect(throws: Failed.self) {
                try db.inSavePoint { db in
                    try db.executeUpdate("DELETE FROM users")
                    throw Failed()
                }
            }
            try db.inSavePoint { db in
                try db.executeUpdate("DELETE FROM users WHERE id = 1")
                return false
            }
        }
        try check(emails(), equals: ["bob@example.com"])
    }

    @Test func `row 24: the number of changes and the last row id`() throws {
        try queue.write { db in
            try db.executeUpdate("UPDATE users SET age = 1")
            try check(db.changedRowCount(), equals: 2)
            try db.executeUpdate("INSERT INTO users (email) VALUES ('c')")
            try check(db.lastInsertRowId(), equals: 3)
        }
    }

    // MARK: - Values

    @Test func `row 27: numbers are checked, and bytes are data or an array`() throws {
        let rs = try queue.databaseStore.executeQuery("SELECT 300 AS n, x'0102' AS b, 1 AS t")
        try check(rs.next())
        check(rs.int64(forColumnName: "n"), equals: 300)
        #expect(throws: SecureStorageError.typeConversionFailed) {
            try rs.value(forColumnName: "n", as: UInt8.self)
        }
        check(rs.data(forColumnName: "b"), equals: Data([1, 2]))
        check(rs.bytes(forColumnName: "b"), equals: [1, 2])
        check(rs.bool(forColumnName: "t"), equals: true)
        rs.close()
    }

    @Test func `row 28: a type of the app refuses a value without ending the program`() throws {
        enum Color: String, SQLiteDatatypeBridgeable { case red, green }
        try queue.write { db in
            try db.executeUpdate("UPDATE users SET email = ? WHERE id = 1", Color.green)
        }
        let sql: SQL = "SELECT email FROM users WHERE id = ?"
        try check(queue.fetchOne(sql, 1) { (color: Color) in color }, equals: .green)
        #expect(throws: SecureStorageError.self) {
            try queue.fetchOne(sql, 2) { (color: Color) in color }
        }
    }
}
