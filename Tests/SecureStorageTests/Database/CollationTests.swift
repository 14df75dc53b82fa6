import Foundation
import SecureStorage
import Testing
import TestSupport

struct CollationTests {
    let database: TemporaryDatabase
    let db: SecureDatabaseStore

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore()
        try db.executeStatements("CREATE TABLE t (x TEXT)")
        for text in ["b", "B\0c", "a", "B", "é", "e"] {
            try db.executeUpdate("INSERT INTO t VALUES (?)", values: [text])
        }
    }

    private func makeFolding() throws {
        try db.makeCollation(named: "folding") { left, right in
            let (left, right) = (left.lowercased(), right.lowercased())
            return left == right
                ? .orderedSame : left < right ? .orderedAscending : .orderedDescending
        }
    }

    @Test func `a collation orders and compares texts`() throws {
        try makeFolding()
        try check(
            db.strings("SELECT hex(x) FROM t ORDER BY x COLLATE FOLDING, x"),
            equals: ["61", "42", "62", "420063", "65", "C3A9"])
        try check(db.int("SELECT count(*) FROM t WHERE x = 'b' COLLATE folding"), equals: 2)
    }

    @Test func `an index with a collation survives closing and opening`() throws {
        try makeFolding()
        try db.executeUpdate("CREATE INDEX i ON t (x COLLATE folding)")
        db.close()
        try db.open(with: TemporaryDatabase.key)
        try check(db.int("SELECT count(*) FROM t WHERE x = 'É' COLLATE folding"), equals: 1)
        try check(db.strings("PRAGMA integrity_check"), equals: ["ok"])
    }

    @Test func `text that is not UTF-8 sorts last, by its bytes`() throws {
        try makeFolding()
        try db.executeUpdate("DELETE FROM t")
        try db.executeUpdate(
            "INSERT INTO t VALUES (CAST(x'ff' AS TEXT)), ('z'), (CAST(x'61ff' AS TEXT)), ('a')")
        try check(
            db.strings("SELECT hex(x) FROM t ORDER BY x COLLATE folding"),
            equals: ["61", "7A", "61FF", "FF"])
    }

    @Test(arguments: ["BINARY", "nocase", "RTrim"])
    func `a built-in collation cannot be replaced`(_ name: String) throws {
        check(
            storageError { try db.makeCollation(named: name) { $1.compare($0) } }?.code, equals: 21)
    }

    @Test func `a removed collation is unknown`() throws {
        try makeFolding()
        try db.removeCollation(named: "Folding")
        let sql = "SELECT x FROM t ORDER BY x COLLATE folding"
        check(storageError { _ = try db.strings(sql) }?.code, equals: 1)
    }

    @Test func `a collation cannot be replaced while a statement runs`() throws {
        try makeFolding()
        let rows = try db.executeQuery("SELECT x FROM t")
        try check(rows.next())
        check(storageError { try makeFolding() }?.code, equals: 5)
        check(storageError { try db.removeCollation(named: "folding") }?.code, equals: 5)
        rows.close()
        try makeFolding()
    }

    @Test func `statements inside a collation are errors`() throws {
        let codes = Shared<Set<Int?>>([])
        try db.makeCollation(named: "nosy") { [unowned db] left, right in
            let error = storageError { try db.executeUpdate("DELETE FROM t") }
            codes.withLock { _ = $0.insert(error?.code) }
            return left.compare(right)
        }
        try check(db.strings("SELECT x FROM t ORDER BY x COLLATE nosy").count, equals: 6)
        check(codes.current, equals: [21])
    }

    @Test func `closing the store inside a collation is an error, and the store stays open`() throws
    {
        try db.makeCollation(named: "closing") { [unowned db] left, right in
            db.close()
            return left.compare(right)
        }
        let sql = "SELECT x FROM t ORDER BY x COLLATE closing"
        check(storageError { _ = try db.strings(sql) }?.code, equals: 21)
        try check(db.int("SELECT count(*) FROM t"), equals: 6)
    }
}
