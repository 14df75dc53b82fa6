import Foundation
import SecureStorage
import Testing
import TestSupport

@Suite struct TransactionTests {
    let database: TemporaryDatabase
    let db: SecureDatabaseStore

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore()
        try db.executeUpdate("CREATE TABLE t (a)")
    }

    @Test func `a transaction is open between begin and commit or rollback`() throws {
        #expect(try !db.isInTransaction())
        try db.beginExclusiveTransaction()
        #expect(try db.isInTransaction())
        try db.executeUpdate("INSERT INTO t VALUES (1)")
        try db.commit()
        #expect(try !db.isInTransaction())
        try db.beginDeferredTransaction()
        try db.executeUpdate("INSERT INTO t VALUES (2)")
        try db.rollback()
        #expect(try !db.isInTransaction())
        #expect(try db.strings("SELECT a FROM t") == ["1"])
    }

    @Test func `begin inside a transaction and commit or rollback outside one are errors`() throws {
        #expect(storageError { try db.commit() } != nil)
        #expect(storageError { try db.rollback() } != nil)
        try db.beginDeferredTransaction()
        #expect(storageError { try db.beginDeferredTransaction() } != nil)
        #expect(storageError { try db.beginExclusiveTransaction() } != nil)
        try db.rollback()
    }

    @Test func `an exclusive transaction blocks writers, a deferred one does not`() throws {
        let rival = try database.openStore { $0.busyTimeout = .zero }
        try db.beginDeferredTransaction()
        try rival.executeUpdate("INSERT INTO t VALUES (1)")
        try db.commit()
        try db.beginExclusiveTransaction()
        let error = storageError { try rival.executeUpdate("INSERT INTO t VALUES (2)") }
        #expect(error?.code == 5)
        #expect(try rival.int("SELECT count(*) FROM t") == 1, "in WAL mode a reader is not blocked")
        try db.rollback()
        try rival.executeUpdate("INSERT INTO t VALUES (2)")
    }

    @Test func `closing rolls back an open transaction`() throws {
        try db.beginExclusiveTransaction()
        try db.executeUpdate("INSERT INTO t VALUES (1)")
        db.close()
        try db.open(with: TemporaryDatabase.key)
        #expect(try db.int("SELECT count(*) FROM t") == 0)
    }

    @Test func `a rollback ends result sets with an error`() throws {
        try db.executeUpdate("INSERT INTO t VALUES (1), (2), (3)")
        try db.beginExclusiveTransaction()
        let rs = try db.executeQuery("SELECT a FROM t")
        #expect(try rs.next())
        try db.executeUpdate("CREATE TABLE u (a)")
        try db.rollback()
        #expect(storageError { _ = try rs.next() } != nil)
    }
}
