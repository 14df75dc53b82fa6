import Foundation
import SecureStorage
import TestSupport
import Testing

/// The rows of Docs/FromFMDB.md, "Method by method".
struct FromFMDBTests {
    let database: TemporaryDatabase
    let db: SecureDatabaseStore

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore()
        try db.executeStatements("CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 'one')")
    }

    @Test func `row 1: a store has a path, a URL or a file's name`() {
        check(
            SecureDatabaseStore(fullDatabasePath: database.path).databaseURL, equals: database.url)
        check(SecureDatabaseStore(url: database.url).databaseURL, equals: database.url)
        let named = SecureDatabaseStore(databaseFileName: "moving.db")
        check(named.databaseURL.lastPathComponent, equals: "moving.db")
    }

    @Test func `row 2: open makes a missing file, and a read-only store does not write`() throws {
        let reader = database.store { $0.isReadOnly = true }
        try reader.open(with: TemporaryDatabase.key)
        check(storageError { try reader.executeUpdate("DELETE FROM t") }?.isReadOnly, equals: true)
        let other = try TemporaryDatabase()
        try other.openStore().close()
        check(SecureDatabaseStore.exists(at: other.url))
    }

    @Test func `row 3: close ends a result set, and twice is harmless`() throws {
        let rs = try db.executeQuery("SELECT a FROM t")
        db.close()
        db.close()
        check(storageError { _ = try rs.next() }, equals: .closed)
    }

    @Test func `row 4: isOpen and isUsable`() {
        check(db.isOpen() && db.isUsable())
        db.close()
        check(!db.isOpen() && !db.isUsable())
    }

    @Test func `row 5: an update takes values, an array of any type and a dictionary`() throws {
        try db.executeUpdate("INSERT INTO t VALUES (?, ?)", 2, "two")
        let values: [Any?] = [3, nil]
        try db.executeUpdate("INSERT INTO t VALUES (?, ?)", values: values)
        try db.executeUpdate(
            "INSERT INTO t VALUES (:a, :b)", parameterDictionary: ["a": 4, "b": "four"])
        try check(db.strings("SELECT b FROM t ORDER BY a"), equals: ["one", "two", nil, "four"])
    }

    @Test func `row 6: a query takes them, too`() throws {
        for rs in [
            try db.executeQuery("SELECT b FROM t"),
            try db.executeQuery("SELECT b FROM t WHERE a = ?", 1),
            try db.executeQuery("SELECT b FROM t WHERE a = ?", values: [1]),
            try db.executeQuery("SELECT b FROM t WHERE a = :a", parameterDictionary: ["a": 1]),
        ] {
            try check(rs.next())
            check(rs.string(forColumnIndex: 0), equals: "one")
            rs.close()
        }
    }

    @Test func `row 7: a batch's block continues with true and stops with false`() throws {
        var rows = 0
        try db.executeStatements("SELECT 1; SELECT 2; DELETE FROM t") { _ in
            rows += 1
            return rows < 2
        }
        check(rows, equals: 2)
        try check(db.int("SELECT count(*) FROM t"), equals: 1)
        check(storageError { try db.executeStatements("SELECT ?") }?.resultCode, equals: .range)
    }

    @Test func `row 8: a prepared statement runs again with other values, for updates as well`()
        throws
    {
        let insert = try db.prepare("INSERT INTO t VALUES (?, ?)")
        for number in 2...4 { try insert.executeUpdate(values: [number, nil]) }
        try check(db.int("SELECT count(*) FROM t"), equals: 4)
    }

    @Test func `row 9: the last row id and the number of changes throw on a closed store`() throws {
        try db.executeUpdate("INSERT INTO t VALUES (2, 'two')")
        try check(db.lastInsertRowId(), equals: 2)
        try db.executeUpdate("UPDATE t SET b = 'x'")
        try check(db.changedRowCount(), equals: 2)
        db.close()
        check(storageError { _ = try db.lastInsertRowId() }, equals: .closed)
        check(storageError { _ = try db.changedRowCount() }, equals: .closed)
    }

    @Test func `row 10: beginTransaction is exclusive, rollback undoes, commit keeps`() throws {
        try db.beginTransaction()
        let other = try database.openStore { $0.busyTimeout = .zero }
        check(storageError { try other.beginImmediateTransaction() }?.isBusy, equals: true)
        try db.executeUpdate("DELETE FROM t")
        try check(db.isInTransaction())
        try db.rollback()
        for begin in [
            db.beginDeferredTransaction, db.beginImmediateTransaction, db.beginExclusiveTransaction,
        ] {
            try begin()
            try db.executeUpdate("INSERT INTO t VALUES (2, 'two')")
            try db.commit()
        }
        try check(db.int("SELECT count(*) FROM t"), equals: 4)
    }

    @Test func `row 11: any text names a savepoint, and inSavePoint rolls back with true`() throws {
        try db.beginTransaction()
        try db.startSavePoint("it's \"one\"")
        try db.executeUpdate("DELETE FROM t")
        try db.rollbackToSavePoint("it's \"one\"")
        try db.releaseSavePoint("it's \"one\"")
        try db.inSavePoint { db in
            try db.executeUpdate("DELETE FROM t")
            return true
        }
        try db.commit()
        try check(db.int("SELECT count(*) FROM t"), equals: 1)
    }

    @Test func `row 12: statements are cached by default`() {
        check(db.shouldCacheStatements)
        db.clearCachedStatements()
        db.shouldCacheStatements = false
        check(!db.shouldCacheStatements)
    }

    @Test func `row 13: a queue's block closes the result sets that it leaves open`() throws {
        check(!db.hasOpenResultSets)
        let rs = try db.executeQuery("SELECT a FROM t")
        try check(rs.next() && db.hasOpenResultSets)
        db.closeOpenResultSets()
        check(!db.hasOpenResultSets)
        let queue = SecureDatabaseQueue(databaseStore: db)
        try queue.inDatabase { db in
            let rs = try db.executeQuery("SELECT a FROM t")
            try check(rs.next())
        }
        check(!db.hasOpenResultSets)
    }

    @Test func `row 14: interrupt ends a statement, and the error says who ended it`() throws {
        try db.makeFunction(named: "stop", argumentCount: 0) { [unowned db] _ in
            db.interrupt()
            return nil
        }
        let error = storageError {
            try db.executeStatements(
                """
                WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE stop() IS NULL)
                SELECT max(x) FROM c
                """)
        }
        check(error?.isInterrupted, equals: true)
        check(error?.interruption, equals: .request)
    }

    @Test func `row 15: a locked file is waited for, 5 seconds by default`() throws {
        check(SecureDatabaseConfiguration().busyTimeout, equals: .seconds(5))
        try db.beginExclusiveTransaction()
        let other = try database.openStore { $0.busyTimeout = .milliseconds(50) }
        let start = ContinuousClock.now
        check(storageError { try other.beginImmediateTransaction() }?.isBusy, equals: true)
        check(ContinuousClock.now - start >= .milliseconds(50))
    }

    @Test func `row 16: the error that is thrown has the code and the message`() {
        let error = storageError { try db.executeUpdate("INSERT INTO nowhere VALUES (1)") }
        check(error?.resultCode, equals: .error)
        check(error?.description.contains("no such table: nowhere"), equals: true)
    }

    @Test func `row 17: a checkpoint counts the frames of the log`() throws {
        let result = try db.checkpoint(.truncate)
        check(result.checkpointedFrames, equals: result.logFrames)
        let queue = SecureDatabaseQueue(databaseStore: db)
        try queue.inDatabase { db in try db.executeUpdate("DELETE FROM t") }
        _ = try queue.checkpoint(.passive)
    }

    @Test func `row 18: a limit has a name, and survives a close`() throws {
        _ = try db.setLimit(.parameterNumber, to: 10)
        try check(db.limit(.parameterNumber), equals: 10)
        db.close()
        try db.open(with: TemporaryDatabase.key)
        try check(db.limit(.parameterNumber), equals: 10)
    }

    @Test func `row 19: the versions of SQLite and SQLCipher`() throws {
        try check(SecureDatabaseStore.sqliteVersion.hasPrefix("3."))
        check(SecureDatabaseStore.isThreadSafe)
        try check(
            SecureDatabaseStore.engine.cipherVersion, equals: SecureDatabaseStore.cipherVersion)
    }

    @Test func `row 20: a function receives values, and throws an error with a code`() throws {
        try db.makeFunction(named: "twice", argumentCount: 1) { arguments in
            guard case .integer(let number) = arguments[0] else {
                throw SecureDatabaseFunctionError("not a number", code: .mismatch)
            }
            return number * 2
        }
        try check(db.int("SELECT twice(21)"), equals: 42)
        let error = storageError { try db.executeStatements("SELECT twice('x')") }
        check(error?.resultCode, equals: .mismatch)
        check(error?.description.contains("not a number"), equals: true)
        try db.executeUpdate("CREATE VIEW v AS SELECT twice(a) FROM t")
        check(storageError { try db.executeStatements("SELECT * FROM v") } != nil)
    }

    @Test func `row 21: a type of the app reads and writes dates as text`() throws {
        let launch = ISODate(Date(timeIntervalSince1970: 1_700_000_000))
        try db.executeUpdate("INSERT INTO t VALUES (?, 'launch')", launch)
        try check(
            db.string(forQuery: "SELECT a FROM t WHERE b = 'launch'"),
            equals: "2023-11-14T22:13:20Z")
        let read: ISODate? = try db.object(
            forQuery: "SELECT a FROM t WHERE b = ?", values: ["launch"])
        check(read, equals: launch)
    }

    private struct ISODate: SQLiteDatatypeBridgeable, Equatable {
        var date: Date
        init(_ date: Date) { self.date = date }
        init?(sqliteValue: SQLiteValue) {
            guard case .text(let text) = sqliteValue, let date = try? Date(text, strategy: .iso8601)
            else { return nil }
            self.date = date
        }
        var sqliteValue: SQLiteValue { .text(date.formatted(.iso8601)) }
    }
}
