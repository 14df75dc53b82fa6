import Foundation
import SecureStorage
import TestSupport
import Testing

extension FromCoreDataTests {
    // MARK: - Observing and migrating

    @Test
    func `row 19: a screen receives the result of its query again when it differs`() async throws {
        let queue = queue
        let titles = queue.values { db in
            try db.fetchAll(Book.self, "SELECT * FROM book WHERE author = 1 ORDER BY id")
                .map(\.title)
        }
        var iterator = titles.makeAsyncIterator()
        try await check(iterator.next()?.get(), equals: ["Notes", "Engine"])
        try await queue.write { db in
            _ = try db.update(["title": "Letters"], in: "book", key: ["id": 1])
        }
        try await check(iterator.next()?.get(), equals: ["Letters", "Engine"])
    }

    @Test
    func `row 20: a commit reports its tables and rows`() async throws {
        let queue = queue
        var changes = queue.changes(rowIDs: true).makeAsyncIterator()
        try await queue.write { db in
            try db.executeUpdate("UPDATE book SET title = 'x' WHERE id = 2")
        }
        let change = await changes.next()
        check(change?.tables["book"]?.rowIDs, equals: [2])
        check(change?.tables["author"] == nil)
    }

    @Test
    func `row 21: with the change log, commits of another connection name their tables`()
        async throws
    {
        await queue.close()
        let here = try database.openQueue { $0.keepsChangeLog = true }
        let there = try database.openQueue { $0.keepsChangeLog = true }
        var changes = here.changes(in: ["book"]).makeAsyncIterator()
        try await there.write { db in try db.executeUpdate("DELETE FROM author WHERE id = 2") }
        try await there.write { db in try db.executeUpdate("DELETE FROM book WHERE id = 3") }
        var change = await changes.next()
        // The first deletion clears a column of `book`.
        while change?.tables["book"]?.kinds.contains(.delete) == false {
            change = await changes.next()
        }
        check(change?.includesForeign, equals: true)
        check(change?.hasUnknownTables, equals: false)
    }

    @Test func `row 22: a step changes the schema once`() throws {
        var migrations = SchemaMigrations()
        migrations.add("year", sql: "ALTER TABLE book ADD COLUMN year INTEGER")
        try check(queue.migrate(migrations), equals: ["year"])
        try check(queue.migrate(migrations), equals: [])
    }

    // MARK: - Values

    @Test func `row 25: a Codable attribute is JSON, an archive a BLOB`() throws {
        struct Shelf: Codable, Equatable {
            var room: String
            var boards: [Int]
        }
        struct Placed: Codable, Equatable {
            var id: Int64
            var shelf: Shelf
            var archive: Data
        }
        let archive = try NSKeyedArchiver.archivedData(
            withRootObject: NSString("archived"), requiringSecureCoding: true)
        let placed = Placed(id: 1, shelf: Shelf(room: "2b", boards: [1, 3]), archive: archive)
        try queue.write { db in
            try db.executeStatements("CREATE TABLE placed (id INTEGER PRIMARY KEY, shelf, archive)")
            try db.insert(placed, into: "placed")
            try check(
                db.string(forQuery: "SELECT json_extract(shelf, '$.boards[1]') FROM placed"),
                equals: "3")
            let read = try db.fetchOne(Placed.self, "SELECT * FROM placed")
            check(read, equals: placed)
            let object = try NSKeyedUnarchiver.unarchivedObject(
                ofClass: NSString.self, from: read?.archive ?? Data())
            check(object, equals: "archived")
        }
    }

    @Test func `row 26: a large value is read and written in parts`() async throws {
        let queue = queue
        try await queue.write { db in
            try db.executeStatements(
                """
                CREATE TABLE cover (id INTEGER PRIMARY KEY, image BLOB);
                INSERT INTO cover VALUES (1, zeroblob(300000));
                """)
            try db.withBlob(table: "cover", column: "image", rowID: 1, isWritable: true) { blob in
                try blob.write(Data("end".utf8), at: blob.count - 3)
            }
        }
        var count = 0
        var last = Data()
        for try await chunk in queue.chunks(table: "cover", column: "image", rowID: 1) {
            count += chunk.count
            last = chunk
        }
        check(count, equals: 300_000)
        check(last.suffix(3), equals: Data("end".utf8))
    }

    @Test
    func `row 27: many rows change in one statement, and observers receive it`() async throws {
        let queue = queue
        var changes = queue.changes(in: ["book"], rowIDs: true).makeAsyncIterator()
        try await queue.write { db in
            try db.insert(contentsOf: (0..<3).map { Book(title: "\($0)") }, into: "book")
            try db.executeUpdate("UPDATE book SET author = 2")
            try db.executeUpdate("DELETE FROM book WHERE id <= 3")
        }
        let table = await changes.next()?.tables["book"]
        check(table?.kinds, equals: [.insert, .update, .delete])
        check(table?.rowIDs, equals: [1, 2, 3, 4, 5, 6])
    }

    @Test func `row 28: an error has a code and says what failed`() {
        let error = storageError {
            try queue.write { db in _ = try db.insert(Book(title: "x", author: 9), into: "book") }
        }
        check(error?.resultCode, equals: .constraintForeignKey)
        check(error?.description.isEmpty, equals: false)
    }

    @Test func `row 29: a backup is made while the file is in use`() throws {
        let copy = database.directory.appendingPathComponent("copy.db")
        try queue.backup(to: copy, key: .passphrase("other"))
        try queue.write { db in try db.executeUpdate("DELETE FROM book") }
        let store = SecureDatabaseStore(url: copy)
        try store.open(with: "other")
        try check(store.int("SELECT count(*) FROM book"), equals: 3)
    }

    @Test(.enabled(if: hasFTS5))
    func `row 30: full-text search ignores case and accents`() throws {
        let found = try queue.write { db in
            try db.executeStatements(
                """
                CREATE VIRTUAL TABLE search USING fts5 (text);
                INSERT INTO search VALUES ('Une Étude'), ('other');
                """)
            return try db.strings("SELECT text FROM search WHERE search MATCH 'etude'")
        }
        check(found, equals: ["Une Étude"])
    }

    // MARK: - A store; see Fixtures/README.md

    /// Copies the store with its external data, and converts it as the guide does it.
    private func converted() throws -> SecureDatabaseQueue {
        let store = try ForeignFile.copy("Library.sqlite", beside: database)
        _ = try ForeignFile.copy(".Library_SUPPORT", beside: database)
        let encrypted = database.directory.appendingPathComponent("library.db")
        let key = DatabaseKey.raw(TemporaryDatabase.key)
        // A second start finds the file, and its migrations done.
        for _ in 0..<2 { try convertLibrary(at: store, to: encrypted, key: key) }
        let queue = SecureDatabaseQueue(url: encrypted)
        try queue.open(with: key)
        return queue
    }

    @Test func `rows 23 and 24: dates count from 1970, and UUIDs are text`() throws {
        let queue = try converted()
        struct Book: Codable {
            var publishedAt: Date?
            var uniqueID: UUID
        }
        let books = try queue.read { db in
            try db.fetchAll(Book.self, "SELECT * FROM book ORDER BY id")
        }
        check(
            books.map { $0.publishedAt?.timeIntervalSinceReferenceDate.rounded() },
            equals: [721_692_800, 0, nil])
        check(
            books.first?.uniqueID, equals: UUID(uuidString: "173EF017-8551-4A76-AD07-19D8830FDC80"))
    }

    @Test func `rows F1 to F9: entities, relationships and external data become tables`() throws {
        let queue = try converted()
        try queue.read { db in
            try check(
                db.strings("SELECT kind || ' ' || id FROM book ORDER BY id"),
                equals: ["Book 1", "Book 2", "GraphicNovel 3"])
            try check(db.strings("SELECT title FROM book WHERE isRead"), equals: ["Notes"])
            try check(db.double(forQuery: "SELECT price FROM book WHERE id = 1"), equals: 10.11)
            try check(
                db.strings("SELECT title FROM book WHERE author = 1 ORDER BY id"),
                equals: ["Notes", "Engine"])
            try check(
                db.strings(
                    "SELECT name FROM tag JOIN bookTag ON tag.id = tag WHERE book = 1 ORDER BY name"
                ), equals: ["code", "maths"])
            let external = try db.data(forQuery: "SELECT cover FROM book WHERE id = 1")
            check(external, equals: Data(repeating: UInt8(ascii: "A"), count: 150_000))
            let inline = try db.data(forQuery: "SELECT cover FROM book WHERE id = 2")
            check(inline, equals: Data([0xFF, 0xD8, 0x00, 0x01]))
            try check(
                db.strings("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"),
                equals: ["author", "book", "bookTag", "securestorage_migration", "tag"])
            try check(
                db.int("SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'"), equals: 0)
        }
        let report = try queue.verifyIntegrity()
        check(report.isSound, "\(report)")
    }

    @Test func `a conversion whose external data are missing changes nothing`() throws {
        let store = try ForeignFile.copy("Library.sqlite", beside: database)
        let encrypted = database.directory.appendingPathComponent("library.db")
        let key = DatabaseKey.raw(TemporaryDatabase.key)
        #expect(throws: (any Error).self) {
            try convertLibrary(at: store, to: encrypted, key: key)
        }
        // The next start continues.
        _ = try ForeignFile.copy(".Library_SUPPORT", beside: database)
        try convertLibrary(at: store, to: encrypted, key: key)
        let queue = SecureDatabaseQueue(url: encrypted)
        try queue.open(with: key)
        try check(queue.read { db in try db.int("SELECT count(*) FROM book") }, equals: 3)
    }

    @Test func `without a store, the same list makes empty tables`() throws {
        let new = try TemporaryDatabase().openQueue()
        try check(new.migrate(libraryMigrations()), equals: ["library", "rows of Core Data"])
        try check(new.read { db in try db.int("SELECT count(*) FROM book") }, equals: 0)
    }

    @Test func `the guide's first lines do what they say`() throws {
        let other = try TemporaryDatabase()
        var migrations = SchemaMigrations()
        migrations.add("book", sql: "CREATE TABLE book (id INTEGER PRIMARY KEY, title TEXT)")
        try check(coreDataFirstLines(path: other.path, migrations: migrations), equals: ["Notes"])
    }
}
