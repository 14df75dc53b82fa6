import Foundation
import SecureStorage
import Testing
import TestSupport

struct TransactionTests {
    let database: TemporaryDatabase
    let db: SecureDatabaseStore

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore()
        try db.executeUpdate("CREATE TABLE t (a)")
    }

    @Test func `a transaction is open between begin and commit or rollback`() throws {
        try check(!db.isInTransaction())
        try db.beginExclusiveTransaction()
        try check(db.isInTransaction())
        try db.executeUpdate("INSERT INTO t VALUES (1)")
        try db.commit()
        try check(!db.isInTransaction())
        try db.beginDeferredTransaction()
        try db.executeUpdate("INSERT INTO t VALUES (2)")
        try db.rollback()
        try check(!db.isInTransaction())
        try check(db.strings("SELECT a FROM t"), equals: ["1"])
    }

    @Test func `begin inside a transaction and commit or rollback outside one are errors`() throws {
        check(storageError { try db.commit() } != nil)
        check(storageError { try db.rollback() } != nil)
        try db.beginDeferredTransaction()
        check(storageError { try db.beginDeferredTransaction() } != nil)
        check(storageError { try db.beginExclusiveTransaction() } != nil)
        try db.rollback()
    }

    @Test func `an exclusive transaction blocks writers, a deferred one does not`() throws {
        let rival = try database.openStore { $0.busyTimeout = .zero }
        try db.beginDeferredTransaction()
        try rival.executeUpdate("INSERT INTO t VALUES (1)")
        try db.commit()
        try db.beginExclusiveTransaction()
        let error = storageError { try rival.executeUpdate("INSERT INTO t VALUES (2)") }
        check(error?.code, equals: 5)
        try check(
            rival.int("SELECT count(*) FROM t"), equals: 1, "in WAL mode a reader is not blocked")
        try db.rollback()
        try rival.executeUpdate("INSERT INTO t VALUES (2)")
    }

    @Test func `closing rolls back an open transaction`() throws {
        try db.beginExclusiveTransaction()
        try db.executeUpdate("INSERT INTO t VALUES (1)")
        db.close()
        try db.open(with: TemporaryDatabase.key)
        try check(db.int("SELECT count(*) FROM t"), equals: 0)
    }

    @Test func `a rollback ends result sets with an error`() throws {
        try db.executeUpdate("INSERT INTO t VALUES (1), (2), (3)")
        try db.beginExclusiveTransaction()
        let rs = try db.executeQuery("SELECT a FROM t")
        try check(rs.next())
        try db.executeUpdate("CREATE TABLE u (a)")
        try db.rollback()
        check(storageError { _ = try rs.next() } != nil)
    }
}
