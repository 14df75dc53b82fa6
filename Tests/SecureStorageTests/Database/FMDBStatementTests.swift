import Foundation
import SecureStorage
import Testing
import TestSupport

struct FMDBStatementTests {
    let database: TemporaryDatabase
    let db: SecureDatabaseStore

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore()
        try db.executeUpdate("CREATE TABLE t (a, b)")
    }

    @Test func `FMDB databaseWithPath, open, close, isOpen, goodConnection`() throws {
        let other = SecureDatabaseStore(fullDatabasePath: database.path)
        check(!other.isOpen())
        check(!other.isUsable())
        try other.open(with: TemporaryDatabase.key)
        check(other.isOpen())
        check(other.isUsable())
        other.close()
        check(!other.isUsable())
    }

    @Test func `FMDB databaseWithURL: accepts only a file's URL`() throws {
        db.close()
        let byURL = SecureDatabaseStore(url: database.url)
        check(byURL.databaseURL, equals: database.url)
        try byURL.open(with: TemporaryDatabase.key)
        try check(byURL.tableExists("t"))
        let remote = try require(URL(string: "https://example.org/a.db"))
        check(
            storageError {
                try SecureDatabaseStore(url: remote).open(with: TemporaryDatabase.key)
            }?.kind, equals: .openFailed)
    }

    @Test func `FMDB openWithFlags: SQLITE_OPEN_READONLY is configuration.isReadOnly`() throws {
        let reader = database.store { $0.isReadOnly = true }
        try reader.open(with: TemporaryDatabase.key)
        try check(reader.tableExists("t"))
        check(
            storageError { try reader.executeUpdate("INSERT INTO t VALUES (1, 2)") }?.code,
            equals: 8)
        let missing = try TemporaryDatabase().store { $0.isReadOnly = true }
        check(
            storageError { try missing.open(with: TemporaryDatabase.key) }?.kind,
            equals: .openFailed)
    }

    @Test func `FMDB close ends result sets and statements, and closing twice is harmless`() throws
    {
        let rs = try db.executeQuery("SELECT 1")
        try check(rs.next())
        db.close()
        db.close()
        check(rs.int(forColumnIndex: 0) == nil)
        check(storageError { _ = try rs.next() }, equals: .closed)
    }

    @Test func `FMDB beginTransaction, commit, rollback, isInTransaction`() throws {
        for begin in [
            db.beginTransaction, db.beginDeferredTransaction, db.beginImmediateTransaction,
            db.beginExclusiveTransaction,
        ] {
            try begin()
            try check(db.isInTransaction())
            try db.executeUpdate("INSERT INTO t VALUES (1, 2)")
            try db.rollback()
            try check(!db.isInTransaction())
            try begin()
            try db.executeUpdate("INSERT INTO t VALUES (3, 4)")
            try db.commit()
        }
        try check(db.int(forQuery: "SELECT count(*) FROM t"), equals: 4)
    }

    @Test func `FMDB lastErrorCode, lastErrorMessage, hadError are the thrown error`() {
        let error = storageError { try db.executeUpdate("INSERT INTO t VALUES (1)") }
        check(error?.code, equals: 1)
        check(error?.localizedDescription.contains("2 columns but 1 values"), equals: true)
    }

    @Test func `FMDB next, nextWithError: true on each row, false at the end, an error thrown`()
        throws
    {
        try db.executeUpdate("INSERT INTO t VALUES (1, 2), (3, 4)")
        let rs = try db.executeQuery("SELECT a FROM t")
        try check(
            [rs.next(), rs.next(), rs.next(), rs.next()], equals: [true, true, false, false])
        let failing = try db.executeQuery("SELECT abs(-9223372036854775807 - 1)")
        check(storageError { _ = try failing.next() }?.code, equals: 1)
    }

    @Test func `FMDB executeUpdate: accepts variadic values`() throws {
        let nothing: String? = nil
        try db.executeUpdate("INSERT INTO t VALUES (1, NULL)")
        try db.executeUpdate("INSERT INTO t VALUES (?, ?)", 2, "two")
        try db.executeUpdate("INSERT INTO t VALUES (?, ?)", 3, nothing)
        try db.executeUpdate("INSERT INTO t VALUES (?, ?)", nil, nil)
        try db.executeUpdate("INSERT INTO t VALUES (?, ?)", values: [4, "four"])
        try db.executeUpdate(
            "INSERT INTO t VALUES (:a, :b)", parameterDictionary: ["a": 5, "b": nil])
        try check(
            db.strings("SELECT quote(a) || quote(b) FROM t"),
            equals: ["1NULL", "2'two'", "3NULL", "NULLNULL", "4'four'", "5NULL"])
        check(
            storageError { try db.executeUpdate("INSERT INTO t VALUES (?, ?)", 1) }?.code,
            equals: 25)
        check(
            storageError { try db.executeUpdate("INSERT INTO t VALUES (?, ?)") }?.code, equals: 25)
    }

    @Test func `FMDB executeQuery: accepts variadic values`() throws {
        try db.executeUpdate("INSERT INTO t VALUES (1, 'x'), (2, 'y')")
        for rs in [
            try db.executeQuery("SELECT b FROM t WHERE a = ? AND b <> ?", 2, "x"),
            try db.executeQuery("SELECT b FROM t WHERE a = 2"),
            try db.executeQuery("SELECT b FROM t WHERE a = ?", values: [2]),
            try db.executeQuery("SELECT b FROM t WHERE a = :a", parameterDictionary: ["a": 2]),
        ] {
            try check(rs.next())
            check(rs.string(forColumnIndex: 0), equals: "y")
            try check(!rs.next())
        }
    }

    @Test func `FMDB executeStatements:withResultBlock: stops when the block says so`() throws {
        var seen: [String?] = []
        try db.executeStatements("INSERT INTO t VALUES (1, 2), (3, NULL); SELECT b FROM t") {
            seen.append($0["b"] ?? nil)
            return seen.count < 2
        }
        check(seen, equals: ["2", nil])
    }

    @Test func `FMDB lastInsertRowId, changes`() throws {
        try db.executeUpdate("INSERT INTO t VALUES (?, ?)", 1, 2)
        try db.executeUpdate("INSERT INTO t VALUES (?, ?)", 3, 4)
        try check(db.lastInsertRowId(), equals: 2)
        try db.executeUpdate("UPDATE t SET a = 0")
        try check(db.changedRowCount(), equals: 2)
    }

    @Test func `FMDB shouldCacheStatements, hasOpenResultSets, closeOpenResultSets`() throws {
        check(db.shouldCacheStatements)
        let rs = try db.executeQuery("SELECT 1")
        check(db.hasOpenResultSets)
        db.closeOpenResultSets()
        check(!db.hasOpenResultSets)
        check(storageError { _ = try rs.next() }, equals: .closed)
        db.clearCachedStatements()
        try check(db.int(forQuery: "SELECT 1"), equals: 1)
    }

    @Test func `FMDB intForQuery and its siblings: the first value of the first row`() throws {
        let when = Date(timeIntervalSince1970: 1_700_000_000)
        try check(db.int(forQuery: "SELECT 7 UNION SELECT 8"), equals: 7)
        try check(db.int(forQuery: "SELECT ? + ?", 1, 2), equals: 3)
        try check(db.int(forQuery: "SELECT ? + ?", values: [1, 3]), equals: 4)
        try check(db.int64(forQuery: "SELECT ?", Int64.min), equals: .min)
        try check(db.uint64(forQuery: "SELECT 9"), equals: 9)
        try check(db.bool(forQuery: "SELECT 2"), equals: true)
        try check(db.double(forQuery: "SELECT 0.5"), equals: 0.5)
        try check(db.string(forQuery: "SELECT ?", "a\0b"), equals: "a\0b")
        try check(db.data(forQuery: "SELECT x'0001'"), equals: Data([0, 1]))
        try check(db.date(forQuery: "SELECT ?", when), equals: when)
        check(!db.hasOpenResultSets)
    }

    @Test func `FMDB intForQuery: no row and NULL are nil, the rest is an error`() throws {
        try check(db.int(forQuery: "SELECT 1 WHERE 0") == nil)
        try check(db.string(forQuery: "SELECT NULL") == nil)
        check(
            storageError { _ = try db.int(forQuery: "SELECT 'abc'") }, equals: .typeConversionFailed
        )
        check(
            storageError { _ = try db.uint64(forQuery: "SELECT -1") }, equals: .typeConversionFailed
        )
        check(storageError { _ = try db.int(forQuery: "DELETE FROM t") }?.code, equals: 21)
        // Evaluating the second row would overflow.
        try check(
            db.int(
                forQuery: "SELECT abs(column1) FROM (VALUES (1), (-9223372036854775807 - 1))"),
            equals: 1)
        check(!db.hasOpenResultSets)
        db.close()
        check(storageError { _ = try db.int(forQuery: "SELECT 1") }, equals: .closed)
    }

    @Test func `FMDB maxBusyRetryTimeInterval is configuration.busyTimeout`() throws {
        let rival = try database.openStore { $0.busyTimeout = .milliseconds(100) }
        try db.beginTransaction()
        let start = ContinuousClock.now
        check(storageError { try rival.beginImmediateTransaction() }?.code, equals: 5)
        check(ContinuousClock.now - start >= .milliseconds(90))
        try db.rollback()
    }

    @Test func `FMDB sqliteLibVersion, isSQLiteThreadSafe, cipherVersion, cipherProvider`() throws {
        try check(
            SecureDatabaseStore.sqliteVersion,
            equals: db.string(forQuery: "SELECT sqlite_version()"))
        try check(
            SecureDatabaseStore.cipherVersion, equals: db.string(forQuery: "PRAGMA cipher_version"))
        try check(!SecureDatabaseStore.cipherProvider.isEmpty)
        check(SecureDatabaseStore.isThreadSafe)
        try check(db.cipherProviderVersion()?.isEmpty, equals: false)
        try check(
            db.cipherFIPSStatus(), equals: (db.string(forQuery: "PRAGMA cipher_fips_status") == "1")
        )
    }

    @Test func `FMDB setKey, rekey: the file gets the new key`() throws {
        try db.changeEncryptionKey(with: "another key")
        db.close()
        try db.open(with: "another key")
        try check(db.tableExists("t"))
    }
}
