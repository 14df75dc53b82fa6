import Foundation
import SecureStorage
import Testing
import TestSupport

@Suite struct SecureDatabaseStatementTests {
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
        #expect(insert.sql == "INSERT INTO t VALUES (:a, :b)")
        #expect(
            try db.strings("SELECT x || coalesce(y, '') FROM t")
                == ["1one", "1one", "2", "3three", "4four"])
    }

    @Test func `a query can run again with other values`() throws {
        try db.executeUpdate("INSERT INTO t VALUES (1, 'one'), (2, 'two')")
        let query = try db.prepare("SELECT y FROM t WHERE x = ?")
        try query.bind([1])
        func first(_ rows: SecureDatabaseResultSet) throws -> String? {
            defer { rows.close() }
            return try rows.next() ? rows.string(forColumnIndex: 0) : nil
        }
        #expect(try first(query.executeQuery(values: [2])) == "two")
        #expect(try first(query.executeQuery()) == "one")
        #expect(try first(query.executeQuery(values: [3])) == nil)
    }

    @Test func `a statement cannot be used while its result set is open`() throws {
        try db.executeUpdate("INSERT INTO t VALUES (1, 1), (2, 2)")
        let query = try db.prepare("SELECT x FROM t")
        let rows = try query.executeQuery()
        #expect(try rows.next())
        #expect(storageError { _ = try query.executeQuery() }?.code == 21)
        #expect(storageError { try query.executeUpdate() }?.code == 21)
        #expect(storageError { try query.bind([]) }?.code == 21)
        #expect(try rows.next())
        #expect(rows.int(forColumnIndex: 0) == 2)
        rows.close()
        #expect(try query.executeQuery().next())
    }

    @Test func `a statement is closed with its store and stays closed`() throws {
        let query = try db.prepare("SELECT 1")
        let rows = try query.executeQuery()
        db.close()
        #expect(storageError { _ = try rows.next() } == .closed)
        #expect(storageError { _ = try query.executeQuery() } == .closed)
        #expect(storageError { try query.executeUpdate() } == .closed)
        #expect(storageError { _ = try db.prepare("SELECT 1") } == .closed)
        // The statement does not keep the file open: the log is gone.
        #expect(try database.fileNames() == ["test.db"])
        try db.open(with: TemporaryDatabase.key)
        #expect(storageError { try query.bind([]) } == .closed)
        query.close()
    }

    @Test func `a closed statement is an error, but its result set continues`() throws {
        try db.executeUpdate("INSERT INTO t VALUES (1, 1), (2, 2)")
        var query: SecureDatabaseStatement? = try db.prepare("SELECT x FROM t")
        let rows = try #require(try query?.executeQuery())
        #expect(try rows.next())
        query?.close()
        #expect(storageError { _ = try query?.executeQuery() } == .closed)
        query = nil
        #expect(try rows.next())
        #expect(try !rows.next())
    }

    @Test func `a statement survives schema changes`() throws {
        try db.executeUpdate("INSERT INTO t VALUES (1, 1)")
        let query = try db.prepare("SELECT * FROM t")
        #expect(try query.executeQuery().next())
        try db.executeUpdate("ALTER TABLE t ADD COLUMN z DEFAULT 9")
        let rows = try query.executeQuery()
        #expect(try rows.next())
        #expect(rows.int(forColumnName: "z") == 9)
        rows.close()
        try db.executeUpdate("DROP TABLE t")
        #expect(storageError { _ = try query.executeQuery().next() }?.code == 1)
        try db.executeUpdate("CREATE TABLE t (x)")
        #expect(try !query.executeQuery().next())
    }

    @Test func `wrong SQL and wrong values are errors immediately`() throws {
        for sql in ["", "SELEC 1", "SELECT 1; SELECT 2", "SELECT \0"] {
            #expect(storageError { _ = try db.prepare(sql) }?.code == 1)
        }
        let insert = try db.prepare("INSERT INTO t VALUES (?, ?)")
        #expect(storageError { try insert.executeUpdate() }?.code == 25)
        #expect(storageError { try insert.bind([1]) }?.code == 25)
        #expect(storageError { try insert.bind([1, UInt64.max]) } == .typeConversionFailed)
        #expect(storageError { _ = try insert.executeQuery(values: [1, 2]) }?.code == 21)
        try insert.executeUpdate(values: [1, 2])
        #expect(try db.int("SELECT count(*) FROM t") == 1)
    }

    @Test func `values of one run do not carry over to the next`() throws {
        let insert = try db.prepare("INSERT INTO t VALUES (?, ?)")
        try insert.executeUpdate(values: [1, 2])
        #expect(storageError { try insert.executeUpdate() }?.code == 25)
        #expect(try db.int("SELECT count(*) FROM t") == 1)
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
        #expect(storageError { try insert.executeUpdate(values: [Closing(), 2]) } == .closed)
        #expect(storageError { try insert.executeUpdate(values: [1, 2]) } == .closed)
        try db.open(with: TemporaryDatabase.key)
        #expect(try db.int(forQuery: "SELECT count(*) FROM t") == 0)
    }
}
