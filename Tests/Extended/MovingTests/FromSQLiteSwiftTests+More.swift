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
        try check(queue.read { db in try db.columnExists("mail", inTable: "users") })
        try check(queue.read { db in try db.int("SELECT count(*) FROM users") }, equals: 2)
    }

    // MARK: - Functions

    @Test func `row 32: a function of the program, which the schema may not call`() throws {
        try queue.writeWithoutTransaction { db in
            try db.makeFunction(named: "domain", argumentCount: 1) { arguments in
                String(sqliteValue: arguments[0])?.split(separator: "@").last.map(String.init)
            }
            try check(db.string(forQuery: "SELECT domain(email) FROM users"), equals: "example.com")
            try db.executeStatements("CREATE VIEW domains AS SELECT domain(email) FROM users")
            check(storageError { _ = try db.strings("SELECT * FROM domains") } != nil)
        }
    }

    @Test func `row 33: an aggregate function`() throws {
        try queue.writeWithoutTransaction { db in
            try db.makeAggregate(
                named: "product", argumentCount: 1, initial: 1,
                step: { product, arguments in product *= Int(sqliteValue: arguments[0]) ?? 1 },
                final: { $0 })
            try check(db.int("SELECT product(id) FROM users"), equals: 2)
        }
    }

    @Test func `row 34: a collation`() throws {
        try queue.writeWithoutTransaction { db in
            try db.makeCollation(named: "byLength") { a, b in
                (a.count, a) < (b.count, b)
                    ? .orderedAscending : a == b ? .orderedSame : .orderedDescending
            }
            try db.executeUpdate("INSERT INTO users (email) VALUES ('z')")
            try check(
                db.string(forQuery: "SELECT email FROM users ORDER BY email COLLATE byLength"),
                equals: "z")
        }
    }

    @Test func `row 35: a locked file is waited for as long as the configuration says`() throws {
        let other = try database.openStore { $0.busyTimeout = .milliseconds(40) }
        try queue.write { _ in
            let start = ContinuousClock.now
            check(
                storageError { try other.executeUpdate("DELETE FROM users") }?.isBusy, equals: true)
            check(ContinuousClock.now - start >= .milliseconds(40))
        }
    }

    @Test
    func `row 36: commits of this connection and of others are observed`() async throws {
        let queue = queue
        var changes = queue.changes(in: ["users"], rowIDs: true).makeAsyncIterator()
        try await queue.write { db in try db.executeUpdate("DELETE FROM users WHERE id = 2") }
        await check(changes.next()?.tables["users"]?.rowIDs, equals: [2])
        let other = try database.openStore()
        try other.executeUpdate("DELETE FROM users")
        var foreign = await changes.next()
        while foreign?.includesForeign == false { foreign = await changes.next() }
        check(foreign?.mayAffect("users"), equals: true)
    }

    @Test func `row 37: a failing statement is not logged`() throws {
        let recorder = Recorder()
        let queue = try TemporaryDatabase().openQueue("CREATE TABLE t (a UNIQUE)") {
            $0.logger = recorder.logger
        }
        for _ in 0..<2 {
            try? queue.write { db in try db.executeUpdate("INSERT INTO t VALUES (?)", "a secret") }
        }
        check(!recorder.text.contains("secret") && !recorder.text.contains("INSERT"))
    }

    @Test func `row 38: an error has an extended code`() {
        let error = storageError {
            try queue.write { db in
                try db.executeUpdate("INSERT INTO users (email) VALUES (?)", "ada@example.com")
            }
        }
        check(error?.resultCode, equals: .constraintUnique)
        check(error?.resultCode?.primary, equals: .constraint)
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
        check(error?.isInterrupted, equals: true)
        check(error?.interruption, equals: .deadline)
    }

    @Test func `row 40: a backup has any key`() throws {
        let copy = database.directory.appendingPathComponent("copy.db")
        try queue.backup(to: copy, key: .passphrase("other"))
        let store = SecureDatabaseStore(url: copy)
        try store.open(with: "other")
        try check(store.int("SELECT count(*) FROM users"), equals: 2)
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
        try check(emails().last, equals: "x")
    }

    @Test func `row 43: durability, journal and foreign keys are the configuration's`() throws {
        try queue.writeWithoutTransaction { db throws in
            try check(db.string(forQuery: "PRAGMA journal_mode"), equals: "wal")
            try check(db.int("PRAGMA foreign_keys"), equals: 1)
            try check(db.int("PRAGMA synchronous"), equals: 2)
            check(
                storageError { try db.executeStatements("PRAGMA synchronous = OFF") }?.resultCode,
                equals: .notAuthorized)
        }
        queue.close()
        let other = try database.openQueue {
            $0.journalMode = .delete
            $0.foreignKeysEnabled = false
        }
        try other.inDatabase { db throws in
            try check(db.string(forQuery: "PRAGMA journal_mode"), equals: "delete")
            try check(db.int("PRAGMA foreign_keys"), equals: 0)
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
            try check(db.int("PRAGMA page_count") ?? 0 < before / 2)
        }
    }
}
