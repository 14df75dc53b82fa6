import Foundation
import SecureStorage
import TestSupport
import Testing

extension FromGRDBTests {
    struct Failed: Error {}

    // MARK: - Transactions

    @Test func `row 23: an error in a write rolls back and reaches the caller`() throws {
        #expect(throws: Failed.self) {
            try queue.write { db in
                try db.executeUpdate("DELETE FROM note")
                throw Failed()
            }
        }
        try check(texts(), equals: ["buy milk", "read"])
    }

    @Test func `row 24: a read is one snapshot, and writes nothing`() throws {
        queue.close()
        let pool = try database.openPool()
        let counts = try pool.read { db in
            let before = try db.int("SELECT count(*) FROM note")
            try onOtherThread { try pool.write { db in try db.executeUpdate("DELETE FROM note") } }
            check(
                storageError { try db.executeUpdate("INSERT INTO note VALUES (9, 'x', 1)") }?
                    .isReadOnly, equals: true)
            return [before, try db.int("SELECT count(*) FROM note")]
        }
        check(counts, equals: [2, 2])
        check(
            storageError { try pool.read { _ in try pool.write { _ in } } }?.resultCode,
            equals: .misuse)
    }

    @Test func `row 25: a transaction that a block leaves open is rolled back, and an error`()
        throws
    {
        try queue.writeWithoutTransaction { db in
            try db.executeUpdate("VACUUM")
            try db.beginTransaction()
            try db.executeUpdate("DELETE FROM note WHERE id = 1")
            try db.commit()
        }
        let error = storageError {
            try queue.writeWithoutTransaction { db in
                try db.beginTransaction()
                try db.executeUpdate("DELETE FROM note")
            }
        }
        check(error?.resultCode, equals: .misuse)
        try check(texts(), equals: ["read"])
    }

    @Test func `row 26: a savepoint is rolled back with true`() throws {
        try queue.write { db in
            for rollsBack in [true, false] {
                try db.inSavePoint { db in
                    try db.executeUpdate("DELETE FROM note WHERE id = ?", rollsBack ? 1 : 2)
                    return rollsBack
                }
            }
        }
        try check(texts(), equals: ["buy milk"])
    }

    @Test func `row 27: a call inside a block is part of the block's transaction`() throws {
        #expect(throws: Failed.self) {
            try queue.write { _ in
                try queue.write { db in try db.executeUpdate("DELETE FROM note") }
                try check(queue.read { db in try db.int("SELECT count(*) FROM note") }, equals: 0)
                throw Failed()
            }
        }
        try check(texts(), equals: ["buy milk", "read"])
    }

    @Test func `row 28: a cancelled task's statement ends, and its write is rolled back`()
        async throws
    {
        let queue = queue
        let began = AsyncStream<Void>.makeStream()
        let task = Task {
            try await queue.write { db in
                try db.executeUpdate("DELETE FROM note")
                began.continuation.yield()
                try db.executeStatements(
                    """
                    WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)
                    SELECT max(x) FROM c
                    """)
            }
        }
        for await _ in began.stream { break }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        try check(texts(), equals: ["buy milk", "read"])
    }

    @Test func `row 29: a loop over rows sees one snapshot while others write`() async throws {
        await queue.close()
        let pool = try database.openPool()
        var seen: [String] = []
        let notes = pool.rows(as: Note.self) { db in
            try db.executeQuery("SELECT * FROM note ORDER BY id")
        }
        for try await note in notes {
            seen.append(note.text)
            try await pool.write { db in try db.executeUpdate("DELETE FROM note") }
        }
        check(seen, equals: ["buy milk", "read"])
    }

    // MARK: - Observing

    @Test
    func `row 30: values arrive when they differ, and an error does not end them`() async throws {
        let queue = queue
        let counts = queue.values { db in
            try db.int(forQuery: "SELECT count(*) FROM note") ?? 0
        }
        var iterator = counts.makeAsyncIterator()
        try await check(iterator.next()?.get(), equals: 2)
        // The same count is not delivered again.
        try await queue.write { db in try db.executeUpdate("UPDATE note SET text = text || '!'") }
        try await queue.write { db in try db.executeUpdate("DELETE FROM note WHERE id = 1") }
        try await check(iterator.next()?.get(), equals: 1)
        try await queue.write { db in try db.executeUpdate("ALTER TABLE note RENAME TO other") }
        let failure = await iterator.next()
        #expect(throws: SecureStorageError.self) { try failure?.get() }
        try await queue.write { db in try db.executeUpdate("ALTER TABLE other RENAME TO note") }
        try await check(iterator.next()?.get(), equals: 1)
    }

    @Test
    func `row 31: a change arrives after its commit, with its rows`() async throws {
        let queue = queue
        var iterator = queue.changes(in: ["note"], rowIDs: true).makeAsyncIterator()
        try? await queue.write { db in
            try db.executeUpdate("DELETE FROM note")
            throw Failed()
        }
        try await queue.write { db in try db.executeUpdate("DELETE FROM note WHERE id = 2") }
        let change = await iterator.next()
        check(change?.tables["note"]?.rowIDs, equals: [2])
        check(change?.tables["note"]?.kinds, equals: .delete)
    }

    @Test
    func `row 32: commits through another connection arrive as well`() async throws {
        let counts = queue.values { db in
            try db.int(forQuery: "SELECT count(*) FROM note") ?? 0
        }
        var iterator = counts.makeAsyncIterator()
        try await check(iterator.next()?.get(), equals: 2)
        let other = try database.openStore()
        try other.executeUpdate("DELETE FROM note")
        other.close()
        try await check(iterator.next()?.get(), equals: 0)
    }

    // MARK: - Schema and errors

    @Test func `row 33: each step runs once, and a changed one is an error`() throws {
        var migrations = SchemaMigrations()
        migrations.add("tag", sql: "CREATE TABLE tag (name)")
        try check(queue.migrate(migrations), equals: ["tag"])
        try check(queue.migrate(migrations), equals: [])
        migrations.add("fails", sql: "CREATE TABLE more (a); CREATE TABLE note (a)")
        check(storageError { _ = try queue.migrate(migrations) } != nil)
        try check(queue.read { db in try !db.tableExists("more") })
        var changed = SchemaMigrations()
        changed.add("tag", sql: "CREATE TABLE tag (name TEXT)")
        check(storageError { _ = try queue.migrate(changed) }?.resultCode, equals: .misuse)
    }

    @Test func `row 34: a file is removed with its sidecar files`() throws {
        queue.close()
        try check(SecureDatabaseStore.remove(at: database.url))
        try check(database.fileNames(), equals: [])
    }

    @Test func `row 35: an error has SQLite's code and the SQL, and no value`() {
        let error = storageError {
            try queue.write { db in
                try db.executeUpdate("INSERT INTO note (text) VALUES (?)", "buy milk")
            }
        }
        check(error?.resultCode, equals: .constraintUnique)
        check(error?.isConstraintViolation, equals: true)
        check(error?.description.contains("INSERT INTO note (text) VALUES (?)"), equals: true)
        check(error?.description.contains("milk"), equals: false)
    }

    @Test func `rows 36 and 37: copies of a file in use, with any key, and smaller`() throws {
        let copy = database.directory.appendingPathComponent("copy.db")
        var writes = 0
        try queue.backup(to: copy, key: .passphrase("other")) { _ in
            // The queue is free while pages are copied.
            try queue.write { db in try db.executeUpdate("UPDATE note SET at = 5") }
            writes += 1
        }
        check(writes > 0)
        let store = SecureDatabaseStore(url: copy)
        try store.open(with: "other")
        try check(store.strings("SELECT text FROM note ORDER BY id"), equals: ["buy milk", "read"])

        let compact = database.directory.appendingPathComponent("compact.db")
        try queue.writeWithoutTransaction { db in
            try db.vacuum()
            try db.vacuum(into: compact)
            check(storageError { try db.executeUpdate("VACUUM INTO 'x.db'") } != nil)
        }
        check(SecureDatabaseStore.exists(at: compact))
    }

    // MARK: - Search, functions, the rest

    @Test(.enabled(if: hasFTS5))
    func `row 39: what a user types is a full-text query`() throws {
        try queue.write { db in
            try db.executeStatements(
                """
                CREATE VIRTUAL TABLE search USING fts5 (text);
                INSERT INTO search VALUES ('a well-known "quote"'), ('well, well');
                """)
        }
        func find(_ typed: String) throws -> Int? {
            try queue.fetchOne(
                "SELECT count(*) FROM search WHERE search MATCH \(FullTextQuery(typed))"
            ) { (count: Int) in count }
        }
        try check(find("well-known \"quote\""), equals: 1)
        try check(find("well"), equals: 2)
        check(
            storageError {
                _ = try queue.read { db in
                    try db.int(
                        forQuery: "SELECT count(*) FROM search WHERE search MATCH ?", "well-known")
                }
            } != nil)
    }

    @Test func `row 41: a function is the program's, unless it is innocuous`() throws {
        try queue.writeWithoutTransaction { db in
            try db.makeFunction(named: "half", argumentCount: 1) { arguments in
                Double(sqliteValue: arguments[0]).map { $0 / 2 }
            }
            try db.makeFunction(named: "third", argumentCount: 1, isInnocuous: true) { arguments in
                Double(sqliteValue: arguments[0]).map { $0 / 3 }
            }
            try db.makeAggregate(
                named: "joined", argumentCount: 1, initial: [String](),
                step: { words, arguments in words.append(String(sqliteValue: arguments[0]) ?? "") },
                final: { words in words.joined(separator: "+") })
            try check(db.double(forQuery: "SELECT half(3)"), equals: 1.5)
            try check(db.string(forQuery: "SELECT joined(text) FROM note"), equals: "buy milk+read")
            try db.executeStatements(
                "CREATE VIEW a AS SELECT half(3); CREATE VIEW b AS SELECT third(3)")
            check(storageError { _ = try db.int("SELECT * FROM a") } != nil)
            try check(db.int("SELECT * FROM b"), equals: 1)
        }
    }

    @Test func `row 42: a collation of the app orders rows and indexes`() throws {
        try queue.writeWithoutTransaction { db in
            try db.makeCollation(named: "backwards") { a, b in
                a < b ? .orderedDescending : a > b ? .orderedAscending : .orderedSame
            }
            try db.executeUpdate("CREATE INDEX i ON note (text COLLATE backwards)")
            try check(
                db.strings("SELECT text FROM note ORDER BY text COLLATE backwards"),
                equals: ["read", "buy milk"])
        }
    }

    @Test func `row 43: statements are cached, and can be kept`() throws {
        try queue.write { db in
            check(db.shouldCacheStatements)
            let insert = try db.prepare("INSERT INTO note (text) VALUES (?)")
            for text in ["a", "b"] { try insert.executeUpdate(values: [text]) }
        }
        try check(texts().count, equals: 4)
    }

    @Test func `row 45: tables, columns and indexes are listed`() throws {
        try queue.read { db in
            try check(db.tableExists("note") && !db.tableExists("nowhere"))
            let rs = try db.tableSchema("note")
            var names: [String] = []
            while try rs.next() { names.append(rs.string(forColumnName: "name") ?? "") }
            check(names, equals: ["id", "text", "at"])
            try check(db.int("SELECT count(*) FROM pragma_index_list('note')"), equals: 1)
        }
    }

    @Test func `row 46: a suspended queue refuses calls until it resumes`() throws {
        queue.suspend()
        check(storageError { try queue.write { _ in } }, equals: .suspended)
        queue.resume()
        try check(texts(), equals: ["buy milk", "read"])
    }
}
