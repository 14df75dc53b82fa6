import Foundation
import SecureStorage
import TestSupport
import Testing

extension FromFMDBTests {
    private func row(_ columns: String) throws -> SecureDatabaseResultSet {
        let rs = try db.executeQuery("SELECT \(columns)")
        try check(rs.next())
        return rs
    }

    @Test func `row 22: next throws an error that FMDB takes for the end`() throws {
        let rs = try db.executeQuery("SELECT a FROM t")
        check(!rs.hasAnotherRow)
        try check(rs.next() && rs.hasAnotherRow)
        try check(!rs.next() && !rs.hasAnotherRow)
        let failing = try db.executeQuery("SELECT abs(-9223372036854775807 - 1)")
        #expect(throws: SecureStorageError.self) { try failing.next() }
    }

    @Test func `row 23: columns have names and indexes before the first next`() throws {
        let rs = try db.executeQuery("SELECT a, b FROM t")
        check(rs.columnCount, equals: 2)
        check(rs.columnIndex(forName: "B"), equals: 1)
        check(rs.columnIndex(forName: "c") == nil)
        check(rs.columnName(forIndex: 0), equals: "a")
        check(rs.columnNameToIndexMap, equals: ["a": 0, "b": 1])
    }

    @Test func `row 24: getters by name and index, other widths, bytes without a copy`() throws {
        let rs = try row("7 AS i, 1.5 AS d, 'x' AS s, x'01ff' AS b, 200 AS u")
        check(rs.int(forColumnName: "i"), equals: 7)
        check(rs.double(forColumnIndex: 1), equals: 1.5)
        check(rs.string(forColumnName: "s"), equals: "x")
        check(rs.data(forColumnIndex: 3), equals: Data([1, 255]))
        try check(rs.value(forColumnName: "u", as: UInt8.self), equals: 200)
        try check(rs.type(forColumnName: "d"), equals: .real)
        let count = rs.withUnsafeBytes(forColumnName: "b") { $0.count }
        check(count, equals: 2)
    }

    @Test func `row 25: subscripts, resultDictionary and decode give typed values`() throws {
        struct Row: Codable, Equatable {
            var a: Int
            var b: String?
        }
        let rs = try row("1 AS a, 'x' AS b")
        try check(!rs.isNull(forColumnName: "a"))
        check(rs["a"], equals: .integer(1))
        check(rs[1], equals: .text("x"))
        check(rs.resultDictionary, equals: ["a": .integer(1), "b": .text("x")])
        try check(rs.decode(Row.self), equals: Row(a: 1, b: "x"))
    }

    @Test func `row 26: the value of a query is nil for NULL and no row`() throws {
        try check(db.int(forQuery: "SELECT count(*) FROM t WHERE a = ?", 1), equals: 1)
        try check(db.string(forQuery: "SELECT b FROM t WHERE a = ?", values: [1]), equals: "one")
        try check(db.int(forQuery: "SELECT NULL") == nil)
        try check(db.int(forQuery: "SELECT a FROM t WHERE a = 9") == nil)
        check(storageError { _ = try db.int(forQuery: "SELECT x FROM t") } != nil)
    }

    @Test func `row 27: the schema, and SQL that is checked and not run`() throws {
        try check(db.tableExists("T"))
        try check(db.columnExists("B", inTable: "t"))
        let schema = try db.schema()
        try check(schema.next() && schema.string(forColumnName: "name") == "t")
        schema.close()
        let columns = try db.tableSchema("t")
        try check(columns.next() && columns.string(forColumnName: "name") == "a")
        columns.close()
        try db.validateSQL("DELETE FROM t")
        try check(db.int("SELECT count(*) FROM t"), equals: 1)
        check(storageError { try db.validateSQL("DELETE FROM nowhere") } != nil)
        check(storageError { try db.validateSQL("PRAGMA user_version = 3") } != nil)
    }

    @Test func `row 28: user version, which has a sign, and application id`() throws {
        try db.setUserVersion(-3)
        try check(db.userVersion, equals: -3)
        try db.setApplicationIDString("moto")
        try check(db.applicationIDString, equals: "moto")
        try check(db.applicationID, equals: 0x6d6f_746f)
    }

    @Test func `row 29: a queue opens and closes itself, and a nested call runs in its block`()
        throws
    {
        let queue = SecureDatabaseQueue(databaseStore: db)
        try queue.inTransaction { db in
            try db.executeUpdate("INSERT INTO t VALUES (2, 'two')")
            try queue.inSavePoint { db in
                try db.executeUpdate("DELETE FROM t")
                return true
            }
            return try queue.inDatabase { db in try db.int("SELECT count(*) FROM t") } != 2
        }
        for transaction in [
            queue.inDeferredTransaction, queue.inExclusiveTransaction, queue.inImmediateTransaction,
        ] as [((SecureDatabaseStore) throws -> Bool) throws -> Void] {
            try transaction { _ in false }
        }
        queue.close()
        check(!queue.isOpen())
        try queue.open(with: .raw(TemporaryDatabase.key))
        try check(queue.inDatabase { db in try db.int("SELECT count(*) FROM t") }, equals: 2)
    }

    @Test func `row 30: a pool reads while it writes, and configures its connections`() throws {
        let pool = SecureDatabasePool(
            url: database.url,
            configuration: database.store { $0.maximumReaderCount = 2 }.configuration,
            configure: { db in try db.makeFunction(named: "seven") { _ in 7 } })
        try pool.open(with: .raw(TemporaryDatabase.key))
        try pool.write { db in
            try db.executeUpdate("INSERT INTO t VALUES (2, 'two')")
        }
        try check(pool.read { db in try db.int("SELECT count(*) + seven() FROM t") }, equals: 9)
        pool.releaseMemory()
        struct Failed: Error {}
        #expect(throws: Failed.self) {
            try pool.write { db in
                try db.executeUpdate("DELETE FROM t")
                throw Failed()
            }
        }
        try check(pool.read { db in try db.int("SELECT count(*) FROM t") }, equals: 2)
    }

    @Test func `row 31: a passphrase opens the file, and the key is changed`() throws {
        let other = try TemporaryDatabase()
        let store = other.store()
        try store.open(with: "the old one")
        try store.changeEncryptionKey(with: "the new one")
        store.close()
        check(
            storageError { try store.open(with: "the old one") }?.caseName,
            equals: "authenticationFailed")
        try store.open(with: "the new one")
        try check(store.cipherProviderVersion() != nil)
        try check(store.cipherFIPSStatus() != nil)
        try check(!SecureDatabaseStore.cipherProvider.isEmpty)
    }

    @Test(.enabled(if: hasFTS5))
    func `row 32: full-text search is FTS5 through SQL`() throws {
        try db.executeStatements(
            """
            CREATE VIRTUAL TABLE note USING fts5 (text);
            INSERT INTO note VALUES ('buy milk today'), ('read');
            """)
        let marked = try db.string(
            forQuery: "SELECT highlight(note, 0, '[', ']') FROM note WHERE note MATCH ?", "milk")
        check(marked, equals: "buy [milk] today")
    }

    @Test func `row 33: a file that is in use is copied in three ways`() throws {
        func copy(_ name: String) -> URL { database.directory.appendingPathComponent(name) }
        let key = DatabaseKey.raw(TemporaryDatabase.key)
        try db.backup(to: copy("1"), key: key)
        try db.vacuum(into: copy("2"))
        try db.export(to: copy("3"), key: key)
        for name in ["1", "2", "3"] {
            let store = SecureDatabaseStore(url: copy(name))
            try store.open(with: key)
            try check(store.strings("SELECT b FROM t"), equals: ["one"])
            store.close()
        }
    }

    @Test func `row 34: values of any number are checked by the compiler`() throws {
        try db.executeUpdate("INSERT INTO t VALUES (?, ?)", Int8(2), nil as String?)
        try check(
            db.int(forQuery: "SELECT count(*) FROM t WHERE b IS ?", nil as String?), equals: 1)
    }
}
