import Foundation
import SecureStorage
import TestSupport
import Testing

/// The rows of Docs/FromCoreData.md.
struct FromCoreDataTests {
    let database: TemporaryDatabase
    let queue: SecureDatabaseQueue

    struct Book: Codable, Equatable, Sendable {
        var id: Int64?
        var title: String
        var author: Int64?
    }

    struct Failed: Error {}

    init() throws {
        database = try TemporaryDatabase()
        queue = try database.openQueue(
            """
            CREATE TABLE author (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
            CREATE TABLE book (
                id INTEGER PRIMARY KEY, title TEXT NOT NULL UNIQUE CHECK (length(title) > 0),
                author INTEGER REFERENCES author (id) ON DELETE SET NULL);
            INSERT INTO author VALUES (1, 'Ada'), (2, 'Grace');
            INSERT INTO book VALUES (1, 'Notes', 1), (2, 'Compilers', 2), (3, 'Engine', 1);
            """)
    }

    func titles() throws -> [String?] {
        try queue.read { db in try db.strings("SELECT title FROM book ORDER BY id") }
    }

    @Test func `row 1: a queue or a pool opens the file`() throws {
        queue.close()
        #expect(throws: SecureStorageError.closed) { try queue.read { _ in } }
        let pool = try database.openPool()
        try check(pool.read { db in try db.int("SELECT count(*) FROM book") }, equals: 3)
    }

    @Test func `row 2: a temporary file serves tests`() throws {
        let temporary = try TemporaryDatabase().openQueue("CREATE TABLE t (a)")
        try check(temporary.read { db in try db.tableExists("t") })
    }

    @Test func `row 3: the file is encrypted while it is open and when it is closed`() throws {
        func holdsPlainText() throws -> Bool {
            try database.fileNames().contains { name in
                let bytes = try Data(contentsOf: database.directory.appendingPathComponent(name))
                return bytes.range(of: Data("Compilers".utf8)) != nil
                    || bytes.range(of: Data("SQLite format 3".utf8)) != nil
            }
        }
        try check(!holdsPlainText())
        queue.close()
        try check(!holdsPlainText())
    }

    @Test func `row 4: a struct has the columns that a screen needs`() throws {
        struct Title: Codable, Equatable, Sendable { var title: String }
        let titles = try queue.read { db in try db.fetchAll(Title.self, "SELECT * FROM book") }
        check(titles.count, equals: 3)
    }

    @Test func `row 5: a value is inserted, and is in the file when the write returns`() throws {
        let id = try queue.write { db in try db.insert(Book(title: "New"), into: "book") }
        let other = try database.openStore()
        try check(other.string(forQuery: "SELECT title FROM book WHERE id = ?", id), equals: "New")
    }

    @Test func `row 6: a changed value, or named columns, are written by a key`() throws {
        try queue.write { db throws in
            try check(
                db.update(Book(id: 1, title: "Letters", author: 1), in: "book", key: "id"),
                equals: 1)
            try check(db.update(["title": "Linkers"], in: "book", key: ["id": 2]), equals: 1)
        }
        try check(titles(), equals: ["Letters", "Linkers", "Engine"])
    }

    @Test func `row 7: a row is deleted by a statement`() throws {
        try queue.write { db in try db.executeUpdate("DELETE FROM book WHERE id = ?", 2) }
        try check(titles(), equals: ["Notes", "Engine"])
    }

    @Test func `row 8: a predicate is a condition with placeholders`() throws {
        let books = try queue.read { db in
            try db.fetchAll(
                Book.self, "SELECT * FROM book WHERE title LIKE ? ORDER BY title", values: ["%n%"])
        }
        check(books.map(\.title), equals: ["Engine", "Notes"])
    }

    @Test func `row 9: a limit, and rows one by one`() async throws {
        let first = try await queue.fetchAll("SELECT title FROM book ORDER BY id LIMIT ?", 2) {
            (title: String) in title
        }
        check(first, equals: ["Notes", "Compilers"])
        var titles: [String] = []
        let books = queue.rows(as: Book.self) { db in
            try db.executeQuery("SELECT * FROM book ORDER BY id")
        }
        for try await book in books { titles.append(book.title) }
        check(titles, equals: ["Notes", "Compilers", "Engine"])
    }

    @Test func `row 10: counts and groups`() throws {
        let counts = try queue.fetchAll(
            "SELECT author, count(*) FROM book GROUP BY author ORDER BY author"
        ) { (author: Int64, count: Int) in [Int(author), count] }
        check(counts, equals: [[1, 2], [2, 1]])
        try check(queue.read { db in try db.int(forQuery: "SELECT count(*) FROM book") }, equals: 3)
    }

    @Test func `row 11: a related row comes with a join`() throws {
        let pairs = try queue.fetchAll(
            "SELECT title, name FROM book JOIN author ON author.id = book.author ORDER BY book.id"
        ) { (title: String, name: String) in "\(title), \(name)" }
        check(pairs, equals: ["Notes, Ada", "Compilers, Grace", "Engine, Ada"])
    }

    @Test func `row 12: to many is the other side's key, or a table of pairs`() throws {
        try queue.write { db in
            try db.executeStatements(
                """
                CREATE TABLE tag (id INTEGER PRIMARY KEY, name TEXT);
                CREATE TABLE bookTag (book INTEGER, tag INTEGER, PRIMARY KEY (book, tag));
                INSERT INTO tag VALUES (1, 'maths'), (2, 'code');
                INSERT INTO bookTag VALUES (1, 1), (1, 2), (2, 2);
                """)
            try check(
                db.strings("SELECT title FROM book WHERE author = 1 ORDER BY id"),
                equals: ["Notes", "Engine"])
            try check(
                db.strings(
                    "SELECT name FROM tag JOIN bookTag ON tag = tag.id WHERE book = 1 ORDER BY name"
                ), equals: ["code", "maths"])
        }
    }

    @Test func `row 13: rows that refer to a deleted one are cleared, deleted, or keep it`() throws
    {
        try queue.write { db in
            try db.executeStatements(
                """
                CREATE TABLE page (book INTEGER REFERENCES book (id) ON DELETE CASCADE);
                CREATE TABLE loan (book INTEGER REFERENCES book (id) ON DELETE RESTRICT);
                INSERT INTO page VALUES (1), (1), (3);
                INSERT INTO loan VALUES (2);
                """)
            try db.executeUpdate("DELETE FROM author WHERE id = 1")
            try check(db.int("SELECT count(*) FROM book WHERE author IS NULL"), equals: 2)
            try db.executeUpdate("DELETE FROM book WHERE id = 1")
            try check(db.int("SELECT count(*) FROM page"), equals: 1)
            check(
                storageError { try db.executeUpdate("DELETE FROM book WHERE id = 2") }?
                    .isConstraintViolation, equals: true)
        }
    }

    @Test func `row 14: a second row with a unique value is an error, or an upsert`() throws {
        check(
            storageError {
                try queue.write { db in _ = try db.insert(Book(title: "Notes"), into: "book") }
            }?
            .isConstraintViolation, equals: true)
        try queue.write { db in
            try db.upsert(Book(id: 1, title: "Notes", author: 2), into: "book", key: "title")
        }
        try check(
            queue.read { db in try db.int("SELECT author FROM book WHERE id = 1") }, equals: 2)
        try check(titles().count, equals: 3)
    }

    @Test func `row 15: what the schema does not allow is an error`() throws {
        for title in [nil, ""] as [String?] {
            let error = storageError {
                try queue.write { db in _ = try db.insert(["title": title], into: "book") }
            }
            check(error?.isConstraintViolation, equals: true)
        }
    }

    @Test func `row 16: an error or true undoes a block`() throws {
        #expect(throws: Failed.self) {
            try queue.write { db in
                try db.executeUpdate("DELETE FROM book")
                throw Failed()
            }
        }
        try queue.inTransaction { db in
            try db.executeUpdate("DELETE FROM book")
            return true
        }
        try check(titles().count, equals: 3)
    }

    @Test func `row 17: any task writes, in its turn`() async throws {
        let queue = queue
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<20 {
                group.addTask {
                    try await queue.write { db in
                        let count = try db.int(forQuery: "SELECT count(*) FROM book") ?? 0
                        try db.insert(["title": "\(number) after \(count)"], into: "book")
                    }
                }
            }
            try await group.waitForAll()
        }
        try check(titles().count, equals: 23)
    }

    @Test func `row 18: a row id finds the row`() throws {
        let id: Int64 = try queue.write { db in try db.insert(Book(title: "New"), into: "book") }
        let book = try queue.read { db in
            try db.fetchOne(Book.self, "SELECT * FROM book WHERE id = ?", values: [id])
        }
        check(book, equals: Book(id: id, title: "New"))
    }
}
