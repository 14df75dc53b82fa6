import Foundation
import SecureStorage
import Testing
import TestSupport

/// Which steps run, on which files, and what is refused.
struct SchemaMigrationTests {
    private let database: TemporaryDatabase

    init() throws { database = try TemporaryDatabase() }

    /// Returns `count` steps, each of which creates one table.
    static func tables(_ count: Int) -> SchemaMigrations {
        var migrations = SchemaMigrations()
        for number in 1...count {
            migrations.add("table \(number)", sql: "CREATE TABLE t\(number) (x)")
        }
        return migrations
    }

    private func tableNames(_ db: SecureDatabaseStore) throws -> [String?] {
        try db.strings("SELECT name FROM sqlite_schema WHERE name LIKE 't%' ORDER BY name")
    }

    // MARK: - Applying steps

    @Test func `steps run in order, and once`() throws {
        let db = try database.openStore()
        try check(Self.tables(2).pending(in: db), equals: ["table 1", "table 2"])
        try check(Self.tables(2).apply(to: db), equals: ["table 1", "table 2"])
        try check(Self.tables(2).pending(in: db), equals: [])
        try check(Self.tables(2).apply(to: db), equals: [])
        db.close()
        try db.open(with: TemporaryDatabase.key)
        try check(Self.tables(4).pending(in: db), equals: ["table 3", "table 4"])
        try check(Self.tables(4).apply(to: db), equals: ["table 3", "table 4"])
        try check(tableNames(db), equals: ["t1", "t2", "t3", "t4"])
    }

    @Test func `the file records position, name, checksum and time`() throws {
        let db = try database.openStore()
        var migrations = SchemaMigrations()
        migrations.add("sql", sql: "CREATE TABLE t (x)")
        migrations.add("code", revision: 3) { try $0.executeUpdate("INSERT INTO t VALUES (1)") }
        let before = Date().timeIntervalSince1970
        try migrations.apply(to: db)
        let row = "SELECT position || ',' || name || ',' || checksum FROM securestorage_migration"
        // The output of `printf 'CREATE TABLE t (x)' | sha256sum`.
        try check(
            db.strings(row),
            equals: [
                "1,sql,\(Self.sha256OfCreateTable)", "2,code,revision 3",
            ])
        let times = try db.strings("SELECT applied FROM securestorage_migration")
        for time in times.compactMap({ $0.flatMap(Double.init) }) {
            check((before...Date().timeIntervalSince1970).contains(time))
        }
        check(times.count, equals: 2)
    }

    private static let sha256OfCreateTable =
        "d263c68bf708398a6ae4d07115896c53f775aed0cfd5cb9d76d3f02baf5213f5"

    @Test func `an empty list does nothing and leaves the file unchanged`() throws {
        let db = try database.openStore()
        try check(SchemaMigrations().apply(to: db), equals: [])
        try check(SchemaMigrations().rehearse(on: db), equals: [])
        try check(db.int("SELECT count(*) FROM sqlite_schema"), equals: 0)
    }

    @Test func `the initialization handler of a new file may apply migrations`() throws {
        let db = database.store()
        try db.open(with: TemporaryDatabase.key) { db in
            storageError { try Self.tables(2).apply(to: db) }
        }
        try check(Self.tables(2).pending(in: db), equals: [])
        try check(tableNames(db), equals: ["t1", "t2"])
    }

    @Test func `a queue and a pool migrate, from synchronous and asynchronous code`() async throws {
        let queue = SecureDatabaseQueue(databaseStore: try database.openStore())
        func migrateHere() throws -> [String] { try queue.migrate(Self.tables(1)) }
        try check(migrateHere(), equals: ["table 1"])
        try await check(queue.migrate(Self.tables(2)), equals: ["table 2"])
        queue.databaseStore.close()
        let pool = try database.openPool()
        func migrateThere() throws -> [String] { try pool.migrate(Self.tables(3)) }
        try check(migrateThere(), equals: ["table 3"])
        try await check(pool.migrate(Self.tables(4)), equals: ["table 4"])
        try await check(pool.read { try Self.tables(5).pending(in: $0) }, equals: ["table 5"])
    }

    @Test func `a temporary table of the same name is not mistaken for the history`() throws {
        let db = try database.openStore()
        try db.executeUpdate("CREATE TEMP TABLE securestorage_migration (x)")
        try check(Self.tables(1).apply(to: db), equals: ["table 1"])
        try check(Self.tables(1).pending(in: db), equals: [])
    }

    // MARK: - Refusals

    /// Checks that all three calls refuse the file and leave it unchanged.
    private func expectRefusal(
        _ migrations: SchemaMigrations, _ db: SecureDatabaseStore, code: Int,
        mentioning words: String..., sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let before = try db.strings("SELECT sql FROM sqlite_schema")
        for error in [
            storageError { try migrations.apply(to: db) },
            storageError { _ = try migrations.pending(in: db) },
            storageError { _ = try migrations.rehearse(on: db) },
        ] {
            check(error?.kind, equals: .backingStoreError, sourceLocation: sourceLocation)
            check(error?.code, equals: code, sourceLocation: sourceLocation)
            for word in words {
                check(
                    error?.description.contains(word), equals: true, "\(error as Any)",
                    sourceLocation: sourceLocation)
            }
        }
        try check(
            db.strings("SELECT sql FROM sqlite_schema"), equals: before,
            sourceLocation: sourceLocation)
    }

    @Test func `the file of a newer program is refused with a distinct code`() throws {
        let db = try database.openStore()
        try Self.tables(3).apply(to: db)
        try expectRefusal(
            Self.tables(2), db, code: 17, mentioning: "\"table 3\"", "newer version")
        // The program also has a pending step.
        var other = Self.tables(2)
        other.add("another branch", sql: "CREATE TABLE tx (x)")
        try expectRefusal(other, db, code: 17, mentioning: "\"table 3\"")
    }

    @Test func `a changed step is refused`() throws {
        let db = try database.openStore()
        var old = SchemaMigrations()
        old.add("sql", sql: "CREATE TABLE t (x)")
        old.add("code") { _ in }
        try old.apply(to: db)
        var changed = SchemaMigrations()
        changed.add("sql", sql: "CREATE TABLE t (x) ")
        changed.add("code") { _ in }
        try expectRefusal(changed, db, code: 21, mentioning: "\"sql\" has changed")
        changed = SchemaMigrations()
        changed.add("sql", sql: "CREATE TABLE t (x)")
        changed.add("code", revision: 2) { _ in }
        try expectRefusal(changed, db, code: 21, mentioning: "\"code\" has changed")
    }

    @Test func `a different order and an inserted step are refused`() throws {
        let db = try database.openStore()
        var old = SchemaMigrations()
        old.add("a", sql: "CREATE TABLE ta (x)")
        old.add("c", sql: "CREATE TABLE tc (x)")
        try old.apply(to: db)
        var other = SchemaMigrations()
        other.add("c", sql: "CREATE TABLE tc (x)")
        other.add("a", sql: "CREATE TABLE ta (x)")
        try expectRefusal(other, db, code: 21, mentioning: "in their order")
        other = SchemaMigrations()
        for name in ["a", "b", "c"] { other.add(name, sql: "CREATE TABLE t\(name) (x)") }
        try expectRefusal(
            other, db, code: 21, mentioning: "migration 2", "\"c\"", "\"b\"", "at the end")
    }

    @Test func `an empty name and a duplicate name are refused`() throws {
        let db = try database.openStore()
        var migrations = Self.tables(1)
        migrations.add("", sql: "CREATE TABLE t2 (x)")
        try expectRefusal(migrations, db, code: 21, mentioning: "migration 2", "empty name")
        migrations = Self.tables(2)
        migrations.add("table 1") { _ in }
        try expectRefusal(migrations, db, code: 21, mentioning: "two", "\"table 1\"")
        // Names that differ only in case are two names.
        migrations = Self.tables(1)
        migrations.add("Table 1", sql: "CREATE TABLE t2 (x)")
        try check(migrations.apply(to: db).count, equals: 2)
    }

    @Test func `migrating inside a transaction is refused, and the transaction continues`() throws {
        let db = try database.openStore()
        try db.executeUpdate("CREATE TABLE u (x)")
        try db.beginDeferredTransaction()
        try db.executeUpdate("INSERT INTO u VALUES (1)")
        for error in [
            storageError { try Self.tables(1).apply(to: db) },
            storageError { _ = try Self.tables(1).rehearse(on: db) },
        ] {
            check(error?.code, equals: 21)
            check(error?.description.contains("transaction"), equals: true)
        }
        try check(Self.tables(1).pending(in: db), equals: ["table 1"])
        try db.commit()
        try check(db.int("SELECT count(*) FROM u"), equals: 1)
        try check(tableNames(db), equals: [])
        // Also when nothing is pending: the mistake must not stay hidden until the next version.
        try Self.tables(1).apply(to: db)
        try db.beginDeferredTransaction()
        check(storageError { try Self.tables(1).apply(to: db) }?.code, equals: 21)
        try db.rollback()
    }

    @Test func `migrating is refused while a result set is open and inside a batch`() throws {
        let db = try database.openStore()
        let rs = try db.executeQuery("VALUES (1), (2)")
        try check(rs.next())
        let error = storageError { try Self.tables(1).apply(to: db) }
        check(error?.code, equals: 21)
        check(error?.description.contains("result set"), equals: true)
        try check(rs.next())
        rs.close()
        var inner: SecureStorageError?
        try db.executeStatements("VALUES (1)") { _ in
            inner = storageError { try Self.tables(1).apply(to: db) }
            return true
        }
        check(inner?.code, equals: 21)
        try check(tableNames(db), equals: [])
    }

    @Test func `a read-only store reports what is pending but cannot apply it`() throws {
        try Self.tables(1).apply(to: database.openStore())
        let db = try database.openStore { $0.isReadOnly = true }
        try check(Self.tables(2).pending(in: db), equals: ["table 2"])
        try check(Self.tables(1).apply(to: db), equals: [])
        check(storageError { try Self.tables(2).apply(to: db) }?.code, equals: 8)
        check(storageError { _ = try Self.tables(2).rehearse(on: db) }?.code, equals: 8)
    }

    @Test func `a closed store throws closed`() throws {
        let db = database.store()
        check(storageError { try Self.tables(1).apply(to: db) }, equals: .closed)
        check(storageError { _ = try Self.tables(1).pending(in: db) }, equals: .closed)
        check(storageError { _ = try Self.tables(1).rehearse(on: db) }, equals: .closed)
    }
}
