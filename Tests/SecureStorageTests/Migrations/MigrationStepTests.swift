import Foundation
import SecureStorage
import Testing
import TestSupport

/// One step: applied completely or not at all, and what it may do.
struct MigrationStepTests {
    private let database: TemporaryDatabase

    init() throws { database = try TemporaryDatabase() }

    private struct OwnError: Error {}

    private static let first = "CREATE TABLE t (x UNIQUE); INSERT INTO t VALUES (1)"

    /// Applies a failing step between two that work; afterwards only the first is applied.
    private func expectFailure(
        code: Int?, mentioning words: String..., sourceLocation: SourceLocation = #_sourceLocation,
        _ body: @escaping @Sendable (SecureDatabaseStore) throws -> Void
    ) throws {
        let database = try TemporaryDatabase()
        let db = try database.openStore()
        var migrations = SchemaMigrations()
        migrations.add("first", sql: Self.first)
        migrations.add("broken") { db in
            try db.executeUpdate("CREATE TABLE half (x)")
            try body(db)
        }
        migrations.add("last", sql: "CREATE TABLE last (x)")

        var error: (any Error)?
        do { try migrations.apply(to: db) } catch let thrown { error = thrown }

        if let code {
            let error = try require(error as? SecureStorageError, sourceLocation: sourceLocation)
            check(error.code, equals: code, "\(error)", sourceLocation: sourceLocation)
            for word in ["\"broken\""] + words {
                check(
                    error.description.contains(word), "\(error)", sourceLocation: sourceLocation)
            }
        } else {
            check(error is OwnError, sourceLocation: sourceLocation)
        }
        if !db.isOpen() { try db.open(with: TemporaryDatabase.key) }
        try check(!db.isInTransaction(), sourceLocation: sourceLocation)
        try check(db.int("PRAGMA foreign_keys"), equals: 1, sourceLocation: sourceLocation)
        check(!db.hasOpenResultSets, sourceLocation: sourceLocation)
        try check(
            db.strings("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"),
            equals: ["securestorage_migration", "t"], sourceLocation: sourceLocation)
        try check(
            migrations.pending(in: db), equals: ["broken", "last"], sourceLocation: sourceLocation)
        // The store still works: its own transactions succeed.
        try db.beginExclusiveTransaction()
        try db.startSavePoint("own")
        try db.releaseSavePoint("own")
        try db.commit()
    }

    // MARK: - Failures

    @Test func `a failed step is rolled back, with SQLite's code and the step's name`() throws {
        try expectFailure(code: 19, mentioning: "UNIQUE", "rolled back") {
            try $0.executeUpdate("INSERT INTO t VALUES (1)")
        }
        try expectFailure(code: 1, mentioning: "syntax error") {
            try $0.executeStatements("CREATE TABLE more (x); CREATE TABEL more")
        }
        try expectFailure(code: 1, mentioning: "VACUUM") { try $0.executeUpdate("VACUUM") }
    }

    @Test func `an error of the app is rethrown unchanged`() throws {
        try expectFailure(code: nil) { _ in throw OwnError() }
    }

    @Test func `a step cannot end its transaction or begin one`() throws {
        for sql in [
            "COMMIT", "END", "ROLLBACK", "BEGIN", "commit; CREATE TABLE more (x); BEGIN",
            "SAVEPOINT s", "SAVEPOINT s; RELEASE s", "ROLLBACK TO s", "RELEASE s",
        ] {
            try expectFailure(code: 21, mentioning: "inSavePoint") {
                try $0.executeStatements(sql)
            }
        }
        for body: @Sendable (SecureDatabaseStore) throws -> Void in [
            { try $0.commit() }, { try $0.rollback() }, { try $0.beginDeferredTransaction() },
            { try $0.startSavePoint("s") },
        ] {
            try expectFailure(code: 21, mentioning: "inSavePoint") { try body($0) }
        }
    }

    /// Turning enforcement off makes SQLite prepare every statement again; otherwise the library
    /// has to request that.
    @Test(arguments: [false, true])
    func `a commit that was prepared before the migration is refused as well`(_ enforcesKeys: Bool)
        throws
    {
        let db = try database.openStore { $0.foreignKeysEnabled = enforcesKeys }
        try db.beginExclusiveTransaction()
        try db.commit()  // in the cache now
        let kept = try db.prepare("COMMIT")
        for number in 0...1 {
            var migrations = SchemaMigrations()
            nonisolated(unsafe) let statement = kept
            migrations.add("broken") { db in
                try db.executeUpdate("CREATE TABLE half (x)")
                if number == 0 { try db.commit() } else { try statement.executeUpdate() }
            }
            check(storageError { try migrations.apply(to: db) }?.code, equals: 21)
            try check(db.int("SELECT count(*) FROM sqlite_schema"), equals: 0)
        }
        try db.beginExclusiveTransaction()
        try kept.executeUpdate()
        try check(!db.isInTransaction())
    }

    @Test func `a refusal that the step catches does no harm`() throws {
        let db = try database.openStore()
        var migrations = SchemaMigrations()
        migrations.add("stubborn") { db in
            _ = storageError { try db.commit() }
            try db.executeUpdate("CREATE TABLE t (x)")
        }
        try check(migrations.apply(to: db), equals: ["stubborn"])
        try check(db.int("SELECT count(*) FROM t"), equals: 0)
    }

    @Test func `a step may roll back a part of its work`() throws {
        let db = try database.openStore()
        var migrations = SchemaMigrations()
        migrations.add("in parts") { db in
            try db.executeUpdate("CREATE TABLE t (x)")
            for number in 1...4 {
                try db.inSavePoint { db in
                    try db.executeUpdate("INSERT INTO t VALUES (?)", number)
                    return number % 2 == 0
                }
            }
        }
        try migrations.apply(to: db)
        try check(db.strings("SELECT x FROM t"), equals: ["1", "3"])
    }

    @Test func `a transaction that SQLite rolled back is detected`() throws {
        try expectFailure(code: 1, mentioning: "SQLite rolled back") { db in
            _ = storageError { try db.executeUpdate("INSERT OR ROLLBACK INTO t VALUES (1)") }
        }
    }

    @Test func `a step that closes the store fails`() throws {
        try expectFailure(code: 21, mentioning: "closed the store") { $0.close() }
        try expectFailure(code: 21, mentioning: "closed the store") {
            $0.close()
            try $0.open(with: TemporaryDatabase.key)
        }
    }

    @Test func `result sets that a step leaves open are closed`() throws {
        let db = try database.openStore()
        var migrations = SchemaMigrations()
        migrations.add("reads") { db in
            _ = try db.executeQuery("VALUES (1), (2)").next()
        }
        try migrations.apply(to: db)
        check(!db.hasOpenResultSets)
    }

    @Test func `migrations inside a step are refused`() throws {
        try expectFailure(code: 21, mentioning: "in a transaction") {
            var inner = SchemaMigrations()
            inner.add("first", sql: Self.first)
            inner.add("inner", sql: "CREATE TABLE inner (x)")
            try inner.apply(to: $0)
        }
    }

    @Test func `a deadline ends a step, which is rolled back`() throws {
        let db = try database.openStore()
        var migrations = SchemaMigrationTests.tables(1)
        migrations.add(
            "endless",
            sql: """
                CREATE TABLE numbers AS WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)
                SELECT x FROM n WHERE x < 0
                """)
        let error = storageError {
            try db.withDeadline(.milliseconds(200)) { _ = try migrations.apply(to: db) }
        }
        check(error?.code, equals: 9)
        check(error?.description.contains("\"endless\""), equals: true)
        try check(migrations.pending(in: db), equals: ["endless"])
        try check(db.int("PRAGMA foreign_keys"), equals: 1)
    }

    @Test func `a cancelled task ends a step, which is rolled back`() async throws {
        let queue = SecureDatabaseQueue(databaseStore: try database.openStore())
        let (begun, announce) = AsyncStream<Void>.makeStream()
        var migrations = SchemaMigrations()
        migrations.add("endless") { db in
            try db.executeUpdate("CREATE TABLE t (x)")
            announce.finish()
            _ = try db.int(
                """
                WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)
                SELECT x FROM n WHERE x < 0
                """)
        }
        let task = Task { [migrations] in try await queue.migrate(migrations) }
        for await _ in begun {}
        task.cancel()
        await #expect(throws: CancellationError.self) { _ = try await task.value }
        try await check(
            queue.inDatabase { try $0.int("SELECT count(*) FROM sqlite_schema") }, equals: 0)
        try await check(queue.inDatabase { try $0.int("PRAGMA foreign_keys") }, equals: 1)
    }

    // MARK: - Rehearsals

    @Test func `a rehearsal runs all pending steps and leaves nothing behind`() throws {
        let db = try database.openStore()
        try SchemaMigrationTests.tables(1).apply(to: db)
        let before = try db.strings("SELECT sql FROM sqlite_schema")
        var migrations = SchemaMigrationTests.tables(2)
        migrations.add("uses the one before") { try $0.executeUpdate("INSERT INTO t2 VALUES (1)") }
        try check(migrations.rehearse(on: db), equals: ["table 2", "uses the one before"])
        try check(db.strings("SELECT sql FROM sqlite_schema"), equals: before)
        try check(migrations.pending(in: db), equals: ["table 2", "uses the one before"])
        try check(!db.isInTransaction())
        try check(db.int("PRAGMA foreign_keys"), equals: 1)
        try check(migrations.apply(to: db), equals: ["table 2", "uses the one before"])
        try check(migrations.rehearse(on: db), equals: [])
    }

    @Test func `a rehearsal finds the step that will fail`() throws {
        let db = try database.openStore()
        var migrations = SchemaMigrationTests.tables(2)
        migrations.add("broken", sql: "CREATE TABLE t1 (x)")
        let error = storageError { _ = try migrations.rehearse(on: db) }
        check(error?.code, equals: 1)
        check(error?.description.contains("\"broken\""), equals: true)
        try check(db.int("SELECT count(*) FROM sqlite_schema"), equals: 0)
    }
}
