import Foundation
import SecureStorage
import Testing
import TestSupport

struct SecureDatabaseStatementTests {
    let database: TemporaryDatabase
    let db: SecureDatabaseStore

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore()
        try db.executeUpdate("CREATE TABLE t (x, y)")
    }

    @Test func `FMDB prepare: is prepare, with bind and executeUpdate for bind and step`() throws {
        let insert = try db.prepare("INSERT INTO t VALUES (:a, :b)")
        // bindWithArray:
        try insert.bind([1, "one"])
        try insert.executeUpdate()
        try insert.executeUpdate()
        // bindWithDictionary:
        try insert.bind(["a": 2, ":b": nil])
        try insert.executeUpdate()
        try insert.executeUpdate(values: [3, "three"])
        try insert.executeUpdate(parameterDictionary: ["a": 4, "b": "four"])
        check(insert.sql, equals: "INSERT INTO t VALUES (:a, :b)")
        try check(
            db.strings("SELECT x || coalesce(y, '') FROM t"),
            equals: ["1one", "1one", "2", "3three", "4four"])
    }

    @Test func `a query can run again with other values`() throws {
        try db.executeUpdate("INSERT INTO t VALUES (1, 'one'), (2, 'two')")
        let query = try db.prepare("SELECT y FROM t WHERE x = ?")
        try query.bind([1])
        func first(_ rows: SecureDatabaseResultSet) throws -> String? {
            defer { rows.close() }
            return try rows.next() ? rows.string(forColumnIndex: 0) : nil
        }
        try check(first(query.executeQuery(values: [2])), equals: "two")
        try check(first(query.executeQuery()), equals: "one")
        try check(first(query.executeQuery(values: [3])) == nil)
    }

    @Test func `a statement cannot be used while its result set is open`() throws {
        try db.executeUpdate("INSERT INTO t VALUES (1, 1), (2, 2)")
        let query = try db.prepare("SELECT x FROM t")
        let rows = try query.executeQuery()
        try check(rows.next())
        check(storageError { _ = try query.executeQuery() }?.code, equals: 21)
        check(storageError { try query.executeUpdate() }?.code, equals: 21)
        check(storageError { try query.bind([]) }?.code, equals: 21)
        try check(rows.next())
        check(rows.int(forColumnIndex: 0), equals: 2)
        rows.close()
        try check(query.executeQuery().next())
    }

    @Test func `a statement is closed with its store and stays closed`() throws {
        let query = try db.prepare("SELECT 1")
        let rows = try query.executeQuery()
        db.close()
        check(storageError { _ = try rows.next() }, equals: .closed)
        check(storageError { _ = try query.executeQuery() }, equals: .closed)
        check(storageError { try query.executeUpdate() }, equals: .closed)
        check(storageError { _ = try db.prepare("SELECT 1") }, equals: .closed)
        // The statement does not keep the file open: the log is gone.
        try check(database.fileNames(), equals: ["test.db"])
        try db.open(with: TemporaryDatabase.key)
        check(storageError { try query.bind([]) }, equals: .closed)
        query.close()
    }

    @Test func `a closed statement is an error, but its result set continues`() throws {
        try db.executeUpdate("INSERT INTO t VALUES (1, 1), (2, 2)")
        var query: SecureDatabaseStatement? = try db.prepare("SELECT x FROM t")
        let rows = try require(query?.executeQuery())
        try check(rows.next())
        query?.close()
        check(storageError { _ = try query?.executeQuery() }, equals: .closed)
        query = nil
        try check(rows.next())
        try check(!rows.next())
    }

    @Test func `a statement survives schema changes`() throws {
        try db.executeUpdate("INSERT INTO t VALUES (1, 1)")
        let query = try db.prepare("SELECT * FROM t")
        try check(query.executeQuery().next())
        try db.executeUpdate("ALTER TABLE t ADD COLUMN z DEFAULT 9")
        let rows = try query.executeQuery()
        try check(rows.next())
        check(rows.int(forColumnName: "z"), equals: 9)
        rows.close()
        try db.executeUpdate("DROP TABLE t")
        check(storageError { _ = try query.executeQuery().next() }?.code, equals: 1)
        try db.executeUpdate("CREATE TABLE t (x)")
        try check(!query.executeQuery().next())
    }

    @Test func `wrong SQL and wrong values are errors immediately`() throws {
        for sql in ["", "SELEC 1", "SELECT 1; SELECT 2", "SELECT \0"] {
            check(storageError { _ = try db.prepare(sql) }?.code, equals: 1)
        }
        let insert = try db.prepare("INSERT INTO t VALUES (?, ?)")
        check(storageError { try insert.executeUpdate() }?.code, equals: 25)
        check(storageError { try insert.bind([1]) }?.code, equals: 25)
        check(storageError { try insert.bind([1, UInt64.max]) }, equals: .typeConversionFailed)
        check(storageError { _ = try insert.executeQuery(values: [1, 2]) }?.code, equals: 21)
        try insert.executeUpdate(values: [1, 2])
        try check(db.int("SELECT count(*) FROM t"), equals: 1)
    }

    @Test func `values of one run do not carry over to the next`() throws {
        let insert = try db.prepare("INSERT INTO t VALUES (?, ?)")
        try insert.executeUpdate(values: [1, 2])
        check(storageError { try insert.executeUpdate() }?.code, equals: 25)
        try check(db.int("SELECT count(*) FROM t"), equals: 1)
    }

    @Test func `a value that closes the store while being bound ends the call`() throws {
        struct Closing: SQLiteDatatypeBridgeable {
            nonisolated(unsafe) static var store: SecureDatabaseStore?
            init() {}
            init?(sqliteValue: SQLiteValue) { nil }
            var sqliteValue: SQLiteValue {
                Self.store?.close()
                return .integer(1)
            }
        }
        let database = try TemporaryDatabase()
        let db = try database.openStore()
        try db.executeUpdate("CREATE TABLE t (a, b)")
        Closing.store = db
        defer { Closing.store = nil }
        let insert = try db.prepare("INSERT INTO t VALUES (?, ?)")
        check(storageError { try insert.executeUpdate(values: [Closing(), 2]) }, equals: .closed)
        check(storageError { try insert.executeUpdate(values: [1, 2]) }, equals: .closed)
        try db.open(with: TemporaryDatabase.key)
        try check(db.int(forQuery: "SELECT count(*) FROM t"), equals: 0)
    }
}
