import Foundation
import SecureStorage
import Testing
import TestSupport

/// Foreign keys: enforcement does not obstruct a step, and no step leaves violations.
struct MigrationForeignKeyTests {
    private let database: TemporaryDatabase

    init() throws { database = try TemporaryDatabase() }

    private static let schema = """
        CREATE TABLE author (id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE book (
            id INTEGER PRIMARY KEY, author INTEGER NOT NULL REFERENCES author (id) ON DELETE CASCADE);
        INSERT INTO author VALUES (1, 'a'), (2, 'b');
        INSERT INTO book (author) VALUES (1), (1), (2);
        """

    private func migrations(_ name: String, _ sql: String) -> SchemaMigrations {
        var migrations = SchemaMigrations()
        migrations.add("schema", sql: Self.schema)
        migrations.add(name, sql: sql)
        return migrations
    }

    @Test func `a table that others reference can be rebuilt`() throws {
        let db = try database.openStore()
        // With enforcement on, the DROP would delete all books.
        try migrations(
            "rebuild",
            """
            CREATE TABLE new_author (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
            INSERT INTO new_author SELECT id, name FROM author;
            DROP TABLE author;
            ALTER TABLE new_author RENAME TO author;
            """
        ).apply(to: db)
        try check(db.int("SELECT count(*) FROM book"), equals: 3)
        check(
            storageError { try db.executeUpdate("INSERT INTO book VALUES (9, 9)") }?.code,
            equals: 19)
        try db.executeUpdate("DELETE FROM author WHERE id = 1")
        try check(db.int("SELECT count(*) FROM book"), equals: 1)
    }

    @Test func `a step that leaves rows without their parent is rolled back`() throws {
        let db = try database.openStore()
        let broken = migrations("broken", "DELETE FROM author WHERE id = 1")
        let error = storageError { try broken.apply(to: db) }
        check(error?.code, equals: 19)
        check(error?.description.contains("\"broken\""), equals: true)
        check(error?.description.contains("2 rows of \"book\""), equals: true)
        check(error?.description.contains("SQLITE_CONSTRAINT_FOREIGNKEY"), equals: true)
        try check(db.int("SELECT count(*) FROM author"), equals: 2)
        try check(broken.pending(in: db), equals: ["broken"])
        check(storageError { _ = try broken.rehearse(on: db) }, equals: error)
        try check(db.int("PRAGMA foreign_keys"), equals: 1)
    }

    @Test func `a step fails for new violations, not for existing ones`() throws {
        let db = try database.openStore { $0.foreignKeysEnabled = false }
        try migrations("harmless", "CREATE TABLE t (x)").apply(to: db)
        try db.executeUpdate("INSERT INTO book VALUES (100, 50)")
        db.close()
        let checking = try database.openStore()
        var later = migrations("harmless", "CREATE TABLE t (x)")
        later.add("beside it", sql: "CREATE TABLE u (x); UPDATE book SET author = 2 WHERE id = 1")
        try check(later.apply(to: checking), equals: ["beside it"])
        // As many violations as before, but another row.
        later.add(
            "another", sql: "DELETE FROM book WHERE id = 100; INSERT INTO book VALUES (101, 50)")
        let error = storageError { try later.apply(to: checking) }
        check(error?.description.contains("1 row of \"book\""), equals: true)
    }

    @Test func `a step may fix a schema whose foreign keys cannot be checked`() throws {
        let db = try database.openStore()
        // The parent key is not unique.
        try db.executeStatements(
            "CREATE TABLE p (x); CREATE TABLE c (x REFERENCES p (x)); INSERT INTO p VALUES (1)")
        var migrations = SchemaMigrations()
        migrations.add("mends", sql: "CREATE UNIQUE INDEX p_x ON p (x); INSERT INTO c VALUES (1)")
        try check(migrations.apply(to: db), equals: ["mends"])
    }

    @Test func `a store that does not enforce foreign keys does not check them`() throws {
        let db = try database.openStore { $0.foreignKeysEnabled = false }
        try migrations("orphans", "DELETE FROM author").apply(to: db)
        try check(db.int("PRAGMA foreign_keys"), equals: 0)
        try check(db.int("SELECT count(*) FROM book"), equals: 3)
    }

    @Test func `enforcement is off during a step and on again afterwards`() throws {
        let db = try database.openStore()
        var migrations = SchemaMigrations()
        let seen = Shared<[Int?]>([])
        for name in ["one", "two"] {
            migrations.add(name) { db in
                let value = try db.int("PRAGMA foreign_keys")
                seen.withLock { $0.append(value) }
            }
        }
        try migrations.apply(to: db)
        check(seen.current, equals: [0, 0])
        try check(db.int("PRAGMA foreign_keys"), equals: 1)
    }
}
