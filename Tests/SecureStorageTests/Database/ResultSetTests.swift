import Foundation
import SecureStorage
import Testing
import TestSupport

struct ResultSetTests {
    let database: TemporaryDatabase
    let db: SecureDatabaseStore

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore()
    }

    // MARK: - Rows

    @Test func `getters are nil before the first row, after the last and when closed`() throws {
        let rs = try db.executeQuery("SELECT 1 AS a")
        check(rs.query, equals: "SELECT 1 AS a")
        check(rs.int(forColumnName: "a") == nil)
        try check(rs.next())
        check(rs.int(forColumnName: "a"), equals: 1)
        try check(!rs.next())
        check(rs.int(forColumnIndex: 0) == nil)
        try check(!rs.next(), "the query must not start again")
        let other = try db.executeQuery("SELECT 1 AS a")
        try check(other.next())
        other.close()
        other.close()
        check(other.int(forColumnName: "a") == nil)
        try check(other.object(forColumnIndex: 0), equals: Int?.none)
        check(storageError { _ = try other.next() }, equals: .closed)
    }

    @Test func `an error among the rows is thrown, not treated as the end`() throws {
        try db.executeStatements(
            "CREATE TABLE t (a); INSERT INTO t VALUES ('1'), ('2'), ('not JSON')")
        let rs = try db.executeQuery("SELECT json(a) FROM t")
        try check(rs.next())
        try check(rs.next())
        guard case .backingStoreError(let code, let message) = storageError({ _ = try rs.next() })
        else {
            Issue.record("no error")
            return
        }
        check(code, equals: 1)
        check(message.contains("malformed JSON"))
        check(!db.hasOpenResultSets)
        check(storageError { _ = try rs.next() }, equals: .closed)
    }

    @Test func `closing the store closes its result sets`() throws {
        let rs = try db.executeQuery("SELECT 1 UNION SELECT 2")
        try check(rs.next())
        check(db.hasOpenResultSets)
        db.close()
        check(!db.hasOpenResultSets)
        check(rs.int(forColumnIndex: 0) == nil)
        check(storageError { _ = try rs.next() }, equals: .closed)
        rs.close()
    }

    @Test func `open result sets are counted and closed together`() throws {
        let sql = "SELECT 1 UNION SELECT 2"
        let first = try db.executeQuery(sql)
        let second = try db.executeQuery(sql)
        try check(first.next() && second.next())
        first.close()
        check(db.hasOpenResultSets)
        db.closeOpenResultSets()
        check(!db.hasOpenResultSets)
        check(second.int(forColumnIndex: 0) == nil)
    }

    @Test func `a released result set closes itself`() throws {
        do {
            let rs = try db.executeQuery("SELECT 1 UNION SELECT 2")
            try check(rs.next())
        }
        check(!db.hasOpenResultSets)
        // No open statement is left that would prevent a `VACUUM`.
        try db.executeUpdate("VACUUM")
    }

    @Test func `a result set outlives the last reference to its store`() throws {
        let other = try TemporaryDatabase()
        var store: SecureDatabaseStore? = try other.openStore()
        let rs = try require(store?.executeQuery("SELECT 1 UNION SELECT 2"))
        store = nil
        try check(rs.next())
        try check(rs.next())
        check(rs.int(forColumnIndex: 0), equals: 2)
    }

    @Test func `two result sets of one query are independent`() throws {
        let sql = "SELECT 1 UNION SELECT 2 UNION SELECT 3"
        let outer = try db.executeQuery(sql)
        var pairs: [Int] = []
        while try outer.next() {
            let inner = try db.executeQuery(sql)
            while try inner.next() {
                pairs.append(
                    (outer.int(forColumnIndex: 0) ?? 0) * 10 + (inner.int(forColumnIndex: 0) ?? 0))
            }
        }
        check(pairs, equals: [11, 12, 13, 21, 22, 23, 31, 32, 33])
    }

    // MARK: - Columns

    @Test func `names match in any case, and the first column of a name is used`() throws {
        let rs = try db.executeQuery("SELECT 1 AS Name, 2 AS name, 3 AS other, 4 AS Straße")
        try check(rs.next())
        check(rs.int(forColumnName: "NAME"), equals: 1)
        check(rs.int(forColumnName: "Name"), equals: 1)
        check(rs.int(forColumnName: "name"), equals: 2, "an exact match takes precedence")
        check(rs.int(forColumnName: "OTHER"), equals: 3)
        check(rs.int(forColumnName: "Straße"), equals: 4)
    }

    @Test func `a missing column is nil`() throws {
        let rs = try db.executeQuery("SELECT 1 AS a")
        try check(rs.next())
        check(rs.int(forColumnName: "b") == nil)
        check(rs.string(forColumnName: "") == nil)
        for index in [-1, 1, Int.max, Int.min] { check(rs.int(forColumnIndex: index) == nil) }
        try check(rs.object(forColumnName: "b"), equals: String?.none)
    }

    @Test func `a cached SELECT * sees added and renamed columns`() throws {
        try db.executeStatements("CREATE TABLE t (a); INSERT INTO t VALUES (1)")
        let sql = "SELECT * FROM t"
        let before = try db.executeQuery(sql)
        try check(before.next())
        check(before.int(forColumnName: "b") == nil)
        before.close()
        try db.executeUpdate("ALTER TABLE t ADD COLUMN b DEFAULT 7")
        let after = try db.executeQuery(sql)
        try check(after.next())
        check(after.int(forColumnName: "b"), equals: 7)
        check(after.int(forColumnIndex: 1), equals: 7)
        after.close()
        try db.executeUpdate("ALTER TABLE t RENAME COLUMN b TO c")
        let renamed = try db.executeQuery(sql)
        try check(renamed.next())
        check(renamed.int(forColumnName: "b") == nil)
        check(renamed.int(forColumnName: "c"), equals: 7)
    }

    // MARK: - Conversions

    @Test func `NULL is nil for every getter`() throws {
        let rs = try db.executeQuery("SELECT NULL")
        try check(rs.next())
        check(rs.int(forColumnIndex: 0) == nil)
        check(rs.int64(forColumnIndex: 0) == nil)
        check(rs.uint64(forColumnIndex: 0) == nil)
        check(rs.bool(forColumnIndex: 0) == nil)
        check(rs.double(forColumnIndex: 0) == nil)
        check(rs.string(forColumnIndex: 0) == nil)
        check(rs.date(forColumnIndex: 0) == nil)
        check(rs.data(forColumnIndex: 0) == nil)
        try check(rs.object(forColumnIndex: 0), equals: Int8?.none)
    }

    @Test func `a value that does not fit is nil, never wrapped or rounded`() throws {
        let rs = try db.executeQuery(
            """
            SELECT -1 AS negative, 3.5 AS fraction, 4.0 AS whole, 1e300 AS huge, 'abc' AS word,
                '42' AS digits, '2.5' AS decimal, x'ff' AS bytes
            """)
        try check(rs.next())
        check(rs.uint64(forColumnName: "negative") == nil)
        check(rs.int(forColumnName: "fraction") == nil)
        check(rs.int(forColumnName: "whole"), equals: 4)
        check(rs.int64(forColumnName: "huge") == nil)
        check(rs.int(forColumnName: "word") == nil)
        check(rs.double(forColumnName: "word") == nil)
        check(rs.bool(forColumnName: "word") == nil)
        check(rs.int(forColumnName: "digits"), equals: 42)
        check(rs.double(forColumnName: "decimal"), equals: 2.5)
        check(rs.string(forColumnName: "bytes") == nil, "not UTF-8")
        check(rs.int(forColumnName: "bytes") == nil)
        check(rs.data(forColumnName: "whole") == nil)
        check(rs.date(forColumnName: "word") == nil)
    }

    @Test func `an INTEGER that a floating-point type cannot hold exactly is nil`() throws {
        let rs = try db.executeQuery(
            "SELECT 9007199254740992 AS fits, 9007199254740993 AS lost, 16777217 AS wide")
        try check(rs.next())
        check(rs.double(forColumnName: "fits"), equals: 9_007_199_254_740_992)
        check(rs.date(forColumnName: "fits") != nil)
        check(rs.double(forColumnName: "lost") == nil)
        check(rs.date(forColumnName: "lost") == nil)
        check(rs.bool(forColumnName: "lost"), equals: true)
        check(rs.double(forColumnName: "wide"), equals: 16_777_217)
        check(storageError { let _: Float? = try rs.object(forColumnName: "wide") } != nil)
    }

    @Test func `two Unicode spellings of a column's name are two columns`() throws {
        let rs = try db.executeQuery("SELECT 1 AS \"\u{e9}\", 2 AS \"e\u{301}\"")
        try check(rs.next())
        check(rs.int(forColumnName: "\u{e9}"), equals: 1)
        check(rs.int(forColumnName: "e\u{301}"), equals: 2)
    }

    @Test func `numbers read as text, text as bytes, UTF-8 bytes as text`() throws {
        let rs = try db.executeQuery("SELECT 42 AS i, 2.5 AS r, 'é' AS t, x'c3a9' AS b")
        try check(rs.next())
        check(rs.string(forColumnName: "i"), equals: "42")
        check(rs.string(forColumnName: "r"), equals: "2.5")
        check(rs.data(forColumnName: "t"), equals: Data([0xc3, 0xa9]))
        check(rs.string(forColumnName: "b"), equals: "é")
    }

    @Test func `text that is not UTF-8 is nil as text and complete as data`() throws {
        let rs = try db.executeQuery("SELECT CAST(x'41ff42' AS TEXT), CAST(x'f09080' AS TEXT)")
        try check(rs.next())
        check(rs.string(forColumnIndex: 0) == nil)
        check(rs.data(forColumnIndex: 0), equals: Data([0x41, 0xff, 0x42]))
        check(rs.string(forColumnIndex: 1) == nil)
    }

    @Test func `object throws if the type cannot hold the value`() throws {
        let rs = try db.executeQuery("SELECT 300 AS n, 'x' AS t")
        try check(rs.next())
        try check(rs.object(forColumnName: "n"), equals: Int16(300))
        check(
            storageError { _ = try rs.object(forColumnName: "n") as Int8? },
            equals: .typeConversionFailed
        )
        check(
            storageError { _ = try rs.object(forColumnName: "t") as Int? },
            equals: .typeConversionFailed)
        try check(rs.object(forColumnName: "t"), equals: "x")
    }

    @Test func `bytes are borrowed without a copy`() throws {
        let db = try TemporaryDatabase().openStore()
        let rs = try db.executeQuery(
            "SELECT x'0001ff' AS blob, 'é' AS text, x'' AS noBytes, '' AS noText, 1 AS number, NULL AS empty"
        )
        check(rs.withUnsafeBytes(forColumnIndex: 0) { $0.count } == nil)
        try check(rs.next())
        let expected: [(String, [UInt8]?)] = [
            ("blob", [0, 1, 255]), ("text", [0xc3, 0xa9]), ("noBytes", []), ("noText", []),
            ("number", nil), ("empty", nil),
        ]
        for (index, (name, bytes)) in expected.enumerated() {
            check(rs.withUnsafeBytes(forColumnName: name) { Array($0) }, equals: bytes)
            check(rs.withUnsafeBytes(forColumnIndex: index) { Array($0) }, equals: bytes)
        }
        check(rs.withUnsafeBytes(forColumnName: "missing") { $0.count } == nil)
        check(rs.withUnsafeBytes(forColumnIndex: 6) { $0.count } == nil)
        #expect(throws: CancellationError.self) {
            try rs.withUnsafeBytes(forColumnIndex: 0) { _ in throw CancellationError() }
        }
    }

    @Test func `columns are found by any string with their name, however many there are`() throws {
        let db = try TemporaryDatabase().openStore()
        let names = (0..<100).map { "column number \($0)" }
        let rs = try db.executeQuery(
            "SELECT " + names.enumerated().map { "\($0) AS \"\($1)\"" }.joined(separator: ", "))
        try check(rs.next())
        for _ in 0..<3 {
            for (index, name) in names.enumerated().shuffled() {
                // A newly made string, which may be at the address of an earlier one.
                check(rs.int(forColumnName: String(name.reversed().reversed())), equals: index)
                check(rs.int(forColumnName: name.uppercased()), equals: index)
                check(rs.int(forColumnName: name + "!") == nil)
            }
        }
    }
}
