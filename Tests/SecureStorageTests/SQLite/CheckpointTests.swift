import Foundation
import SecureStorage
import Testing
import TestSupport

struct CheckpointTests {
    let database: TemporaryDatabase
    let db: SecureDatabaseStore

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore()
        try db.executeUpdate("CREATE TABLE t (a)")
    }

    /// More than the thousand pages that trigger a checkpoint.
    private let large = Data(repeating: 1, count: 5_000_000)

    private func size(_ path: String) throws -> Int {
        try Data(contentsOf: URL(fileURLWithPath: path)).count
    }

    @Test func `a long log is checkpointed automatically`() throws {
        try check(size(database.path) < 1_000_000)
        try db.executeUpdate("INSERT INTO t VALUES (?)", values: [large])
        try check(size(database.path) > large.count)
    }

    @Test func `a long log of an attached file is checkpointed automatically`() throws {
        let other = try TemporaryDatabase()
        try other.openStore().executeUpdate("CREATE TABLE u (a)")
        try db.executeUpdate(
            "ATTACH ? AS other KEY ?", values: [other.path, "x'\(TemporaryDatabase.key.hex)'"])
        try db.executeUpdate("INSERT INTO other.u VALUES (?)", values: [large])
        try check(size(other.path) > large.count)
        try check(size(database.path) < 1_000_000)
    }

    @Test func `a checkpoint keeps the app's own busy timeout`() throws {
        try db.executeUpdate("PRAGMA busy_timeout = 1234")
        try db.executeUpdate("INSERT INTO t VALUES (?)", values: [large])
        try check(size(database.path) > large.count)
        try check(db.int("PRAGMA busy_timeout"), equals: 1234)
    }

    @Test func `a query being read continues after the commit of a long log`() throws {
        try db.executeStatements("CREATE TABLE n (a); INSERT INTO n VALUES (1), (2), (3)")
        let rs = try db.executeQuery("SELECT a FROM n")
        try check(rs.next())
        try db.executeUpdate("INSERT INTO t VALUES (?)", values: [large])
        try check(rs.next())
        try check(rs.next())
        check(rs.int(forColumnIndex: 0), equals: 3)
        try check(!rs.next())
    }

    @Test func `a transaction with an outdated snapshot gets an error that says to begin again`()
        throws
    {
        let other = try database.openStore()
        try db.beginDeferredTransaction()
        try check(db.int("SELECT count(*) FROM t"), equals: 0)
        try other.executeUpdate("INSERT INTO t VALUES (1)")
        let error = storageError { try db.executeUpdate("INSERT INTO t VALUES (2)") }
        check(error?.code, equals: 5)
        check(error?.description.contains("begin again"), equals: true)
        try db.rollback()
        try db.executeUpdate("INSERT INTO t VALUES (2)")
    }
}
