import Foundation
import SecureStorage
import Testing
import TestSupport

@Suite struct FMDBStatementTests {
    let database: TemporaryDatabase
    let db: SecureDatabaseStore

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore()
        try db.executeUpdate("CREATE TABLE t (a, b)")
    }

    @Test func `FMDB databaseWithPath, open, close, isOpen, goodConnection`() throws {
        let other = SecureDatabaseStore(fullDatabasePath: database.path)
        #expect(!other.isOpen())
        #expect(!other.isUsable())
        try other.open(with: TemporaryDatabase.key)
        #expect(other.isOpen())
        #expect(other.isUsable())
        other.close()
        #expect(!other.isUsable())
    }

    @Test func `FMDB databaseWithURL: accepts only a file's URL`() throws {
        db.close()
        let byURL = SecureDatabaseStore(url: database.url)
        #expect(byURL.databaseURL == database.url)
        try byURL.open(with: TemporaryDatabase.key)
        #expect(try byURL.tableExists("t"))
        let remote = try #require(URL(string: "https://example.org/a.db"))
        #expect(
            storageError {
                try SecureDatabaseStore(url: remote).open(with: TemporaryDatabase.key)
            }?.kind == .openFailed)
    }

    @Test func `FMDB openWithFlags: SQLITE_OPEN_READONLY is configuration.isReadOnly`() throws {
        let reader = database.store { $0.isReadOnly = true }
        try reader.open(with: TemporaryDatabase.key)
        #expect(try reader.tableExists("t"))
        #expect(storageError { try reader.executeUpdate("INSERT INTO t VALUES (1, 2)") }?.code == 8)
        let missing = try TemporaryDatabase().store { $0.isReadOnly = true }
        #expect(storageError { try missing.open(with: TemporaryDatabase.key) }?.kind == .openFailed)
    }

    @Test func `FMDB close ends result sets and statements, and closing twice is harmless`() throws
    {
        let rs = try db.executeQuery("SELECT 1")
        #expect(try rs.next())
        db.close()
        db.close()
        #expect(rs.int(forColumnIndex: 0) == nil)
        #expect(storageError { _ = try rs.next() } == .closed)
    }

    @Test func `FMDB beginTransaction, commit, rollback, isInTransaction`() throws {
        for begin in [
            db.beginTransaction, db.beginDeferredTransaction, db.beginImmediateTransaction,
            db.beginExclusiveTransaction,
        ] {
            try begin()
            #expect(try db.isInTransaction())
            try db.executeUpdate("INSERT INTO t VALUES (1, 2)")
            try db.rollback()
            #expect(try !db.isInTransaction())
            try begin()
            try db.executeUpdate("INSERT INTO t VALUES (3, 4)")
            try db.commit()
        }
        #expect(try db.int(forQuery: "SELECT count(*) FROM t") == 4)
    }

    @Test func `FMDB lastErrorCode, lastErrorMessage, hadError are the thrown error`() {
        let error = storageError { try db.executeUpdate("INSERT INTO t VALUES (1)") }
        #expect(error?.code == 1)
        #expect(error?.localizedDescription.contains("2 columns but 1 values") == true)
    }

    @Test func `FMDB next, nextWithError: true on each row, false at the end, an error thrown`()
        throws
    {
        try db.executeUpdate("INSERT INTO t VALUES (1, 2), (3, 4)")
        let rs = try db.executeQuery("SELECT a FROM t")
        #expect(try [rs.next(), rs.next(), rs.next(), rs.next()] == [true, true, false, false])
        let failing = try db.executeQuery("SELECT abs(-9223372036854775807 - 1)")
        #expect(storageError { _ = try failing.next() }?.code == 1)
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
        #expect(
            try db.strings("SELECT quote(a) || quote(b) FROM t")
                == ["1NULL", "2'two'", "3NULL", "NULLNULL", "4'four'", "5NULL"])
        #expect(storageError { try db.executeUpdate("INSERT INTO t VALUES (?, ?)", 1) }?.code == 25)
        #expect(storageError { try db.executeUpdate("INSERT INTO t VALUES (?, ?)") }?.code == 25)
    }

    @Test func `FMDB executeQuery: accepts variadic values`() throws {
        try db.executeUpdate("INSERT INTO t VALUES (1, 'x'), (2, 'y')")
        for rs in [
            try db.executeQuery("SELECT b FROM t WHERE a = ? AND b <> ?", 2, "x"),
            try db.executeQuery("SELECT b FROM t WHERE a = 2"),
            try db.executeQuery("SELECT b FROM t WHERE a = ?", values: [2]),
            try db.executeQuery("SELECT b FROM t WHERE a = :a", parameterDictionary: ["a": 2]),
        ] {
            #expect(try rs.next())
            #expect(rs.string(forColumnIndex: 0) == "y")
            #expect(try !rs.next())
        }
    }

    @Test func `FMDB executeStatements:withResultBlock: stops when the block says so`() throws {
        var seen: [String?] = []
        try db.executeStatements("INSERT INTO t VALUES (1, 2), (3, NULL); SELECT b FROM t") {
            seen.append($0["b"] ?? nil)
            return seen.count < 2
        }
        #expect(seen == ["2", nil])
    }

    @Test func `FMDB lastInsertRowId, changes`() throws {
        try db.executeUpdate("INSERT INTO t VALUES (?, ?)", 1, 2)
        try db.executeUpdate("INSERT INTO t VALUES (?, ?)", 3, 4)
        #expect(try db.lastInsertRowId() == 2)
        try db.executeUpdate("UPDATE t SET a = 0")
        #expect(try db.changedRowCount() == 2)
    }

    @Test func `FMDB shouldCacheStatements, hasOpenResultSets, closeOpenResultSets`() throws {
        #expect(db.shouldCacheStatements)
        let rs = try db.executeQuery("SELECT 1")
        #expect(db.hasOpenResultSets)
        db.closeOpenResultSets()
        #expect(!db.hasOpenResultSets)
        #expect(storageError { _ = try rs.next() } == .closed)
        db.clearCachedStatements()
        #expect(try db.int(forQuery: "SELECT 1") == 1)
    }

    @Test func `FMDB intForQuery and its siblings: the first value of the first row`() throws {
        let when = Date(timeIntervalSince1970: 1_700_000_000)
        #expect(try db.int(forQuery: "SELECT 7 UNION SELECT 8") == 7)
        #expect(try db.int(forQuery: "SELECT ? + ?", 1, 2) == 3)
        #expect(try db.int(forQuery: "SELECT ? + ?", values: [1, 3]) == 4)
        #expect(try db.int64(forQuery: "SELECT ?", Int64.min) == .min)
        #expect(try db.uint64(forQuery: "SELECT 9") == 9)
        #expect(try db.bool(forQuery: "SELECT 2") == true)
        #expect(try db.double(forQuery: "SELECT 0.5") == 0.5)
        #expect(try db.string(forQuery: "SELECT ?", "a\0b") == "a\0b")
        #expect(try db.data(forQuery: "SELECT x'0001'") == Data([0, 1]))
        #expect(try db.date(forQuery: "SELECT ?", when) == when)
        #expect(!db.hasOpenResultSets)
    }

    @Test func `FMDB intForQuery: no row and NULL are nil, the rest is an error`() throws {
        #expect(try db.int(forQuery: "SELECT 1 WHERE 0") == nil)
        #expect(try db.string(forQuery: "SELECT NULL") == nil)
        #expect(
            storageError { _ = try db.int(forQuery: "SELECT 'abc'") } == .typeConversionFailed)
        #expect(
            storageError { _ = try db.uint64(forQuery: "SELECT -1") } == .typeConversionFailed)
        #expect(storageError { _ = try db.int(forQuery: "DELETE FROM t") }?.code == 21)
        // Evaluating the second row would overflow.
        #expect(
            try db.int(
                forQuery: "SELECT abs(column1) FROM (VALUES (1), (-9223372036854775807 - 1))")
                == 1)
        #expect(!db.hasOpenResultSets)
        db.close()
        #expect(storageError { _ = try db.int(forQuery: "SELECT 1") } == .closed)
    }

    @Test func `FMDB maxBusyRetryTimeInterval is configuration.busyTimeout`() throws {
        let rival = try database.openStore { $0.busyTimeout = .milliseconds(100) }
        try db.beginTransaction()
        let start = ContinuousClock.now
        #expect(storageError { try rival.beginImmediateTransaction() }?.code == 5)
        #expect(ContinuousClock.now - start >= .milliseconds(90))
        try db.rollback()
    }

    @Test func `FMDB sqliteLibVersion, isSQLiteThreadSafe, cipherVersion, cipherProvider`() throws {
        #expect(
            try SecureDatabaseStore.sqliteVersion == db.string(forQuery: "SELECT sqlite_version()"))
        #expect(
            try SecureDatabaseStore.cipherVersion == db.string(forQuery: "PRAGMA cipher_version"))
        #expect(try !SecureDatabaseStore.cipherProvider.isEmpty)
        #expect(SecureDatabaseStore.isThreadSafe)
        #expect(try db.cipherProviderVersion()?.isEmpty == false)
        #expect(
            try db.cipherFIPSStatus() == (db.string(forQuery: "PRAGMA cipher_fips_status") == "1"))
    }

    @Test func `FMDB setKey, rekey: the file gets the new key`() throws {
        try db.changeEncryptionKey(with: "another key")
        db.close()
        try db.open(with: "another key")
        #expect(try db.tableExists("t"))
    }
}
