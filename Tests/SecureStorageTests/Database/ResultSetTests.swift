import Foundation
import SecureStorage
import Testing
import TestSupport

@Suite struct ResultSetTests {
    let database: TemporaryDatabase
    let db: SecureDatabaseStore

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore()
    }

    // MARK: - Rows

    @Test func `getters are nil before the first row, after the last and when closed`() throws {
        let rs = try db.executeQuery("SELECT 1 AS a")
        #expect(rs.query == "SELECT 1 AS a")
        #expect(rs.int(forColumnName: "a") == nil)
        #expect(try rs.next())
        #expect(rs.int(forColumnName: "a") == 1)
        #expect(try !rs.next())
        #expect(rs.int(forColumnIndex: 0) == nil)
        #expect(try !rs.next(), "the query must not start again")
        let other = try db.executeQuery("SELECT 1 AS a")
        #expect(try other.next())
        other.close()
        other.close()
        #expect(other.int(forColumnName: "a") == nil)
        #expect(try other.object(forColumnIndex: 0) == Int?.none)
        #expect(storageError { _ = try other.next() } == .closed)
    }

    @Test func `an error among the rows is thrown, not treated as the end`() throws {
        try db.executeStatements(
            "CREATE TABLE t (a); INSERT INTO t VALUES ('1'), ('2'), ('not JSON')")
        let rs = try db.executeQuery("SELECT json(a) FROM t")
        #expect(try rs.next())
        #expect(try rs.next())
        guard case .backingStoreError(let code, let message) = storageError({ _ = try rs.next() })
        else {
            Issue.record("no error")
            return
        }
        #expect(code == 1)
        #expect(message.contains("malformed JSON"))
        #expect(!db.hasOpenResultSets)
        #expect(storageError { _ = try rs.next() } == .closed)
    }

    @Test func `closing the store closes its result sets`() throws {
        let rs = try db.executeQuery("SELECT 1 UNION SELECT 2")
        #expect(try rs.next())
        #expect(db.hasOpenResultSets)
        db.close()
        #expect(!db.hasOpenResultSets)
        #expect(rs.int(forColumnIndex: 0) == nil)
        #expect(storageError { _ = try rs.next() } == .closed)
        rs.close()
    }

    @Test func `open result sets are counted and closed together`() throws {
        let sql = "SELECT 1 UNION SELECT 2"
        let first = try db.executeQuery(sql)
        let second = try db.executeQuery(sql)
        #expect(try first.next() && second.next())
        first.close()
        #expect(db.hasOpenResultSets)
        db.closeOpenResultSets()
        #expect(!db.hasOpenResultSets)
        #expect(second.int(forColumnIndex: 0) == nil)
    }

    @Test func `a released result set closes itself`() throws {
        do {
            let rs = try db.executeQuery("SELECT 1 UNION SELECT 2")
            #expect(try rs.next())
        }
        #expect(!db.hasOpenResultSets)
        // No open statement is left that would prevent a `VACUUM`.
        try db.executeUpdate("VACUUM")
    }

    @Test func `a result set outlives the last reference to its store`() throws {
        let other = try TemporaryDatabase()
        var store: SecureDatabaseStore? = try other.openStore()
        let rs = try #require(try store?.executeQuery("SELECT 1 UNION SELECT 2"))
        store = nil
        #expect(try rs.next())
        #expect(try rs.next())
        #expect(rs.int(forColumnIndex: 0) == 2)
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
        #expect(pairs == [11, 12, 13, 21, 22, 23, 31, 32, 33])
    }

    // MARK: - Columns

    @Test func `names match in any case, and the first column of a name is used`() throws {
        let rs = try db.executeQuery("SELECT 1 AS Name, 2 AS name, 3 AS other, 4 AS Straße")
        #expect(try rs.next())
        #expect(rs.int(forColumnName: "NAME") == 1)
        #expect(rs.int(forColumnName: "Name") == 1)
        #expect(rs.int(forColumnName: "name") == 2, "an exact match takes precedence")
        #expect(rs.int(forColumnName: "OTHER") == 3)
        #expect(rs.int(forColumnName: "Straße") == 4)
    }

    @Test func `a missing column is nil`() throws {
        let rs = try db.executeQuery("SELECT 1 AS a")
        #expect(try rs.next())
        #expect(rs.int(forColumnName: "b") == nil)
        #expect(rs.string(forColumnName: "") == nil)
        for index in [-1, 1, Int.max, Int.min] { #expect(rs.int(forColumnIndex: index) == nil) }
        #expect(try rs.object(forColumnName: "b") == String?.none)
    }

    @Test func `a cached SELECT * sees added and renamed columns`() throws {
        try db.executeStatements("CREATE TABLE t (a); INSERT INTO t VALUES (1)")
        let sql = "SELECT * FROM t"
        let before = try db.executeQuery(sql)
        #expect(try before.next())
        #expect(before.int(forColumnName: "b") == nil)
        before.close()
        try db.executeUpdate("ALTER TABLE t ADD COLUMN b DEFAULT 7")
        let after = try db.executeQuery(sql)
        #expect(try after.next())
        #expect(after.int(forColumnName: "b") == 7)
        #expect(after.int(forColumnIndex: 1) == 7)
        after.close()
        try db.executeUpdate("ALTER TABLE t RENAME COLUMN b TO c")
        let renamed = try db.executeQuery(sql)
        #expect(try renamed.next())
        #expect(renamed.int(forColumnName: "b") == nil)
        #expect(renamed.int(forColumnName: "c") == 7)
    }

    // MARK: - Conversions

    @Test func `NULL is nil for every getter`() throws {
        let rs = try db.executeQuery("SELECT NULL")
        #expect(try rs.next())
        #expect(rs.int(forColumnIndex: 0) == nil)
        #expect(rs.int64(forColumnIndex: 0) == nil)
        #expect(rs.uint64(forColumnIndex: 0) == nil)
        #expect(rs.bool(forColumnIndex: 0) == nil)
        #expect(rs.double(forColumnIndex: 0) == nil)
        #expect(rs.string(forColumnIndex: 0) == nil)
        #expect(rs.date(forColumnIndex: 0) == nil)
        #expect(rs.data(forColumnIndex: 0) == nil)
        #expect(try rs.object(forColumnIndex: 0) == Int8?.none)
    }

    @Test func `a value that does not fit is nil, never wrapped or rounded`() throws {
        let rs = try db.executeQuery(
            """
            SELECT -1 AS negative, 3.5 AS fraction, 4.0 AS whole, 1e300 AS huge, 'abc' AS word,
                '42' AS digits, '2.5' AS decimal, x'ff' AS bytes
            """)
        #expect(try rs.next())
        #expect(rs.uint64(forColumnName: "negative") == nil)
        #expect(rs.int(forColumnName: "fraction") == nil)
        #expect(rs.int(forColumnName: "whole") == 4)
        #expect(rs.int64(forColumnName: "huge") == nil)
        #expect(rs.int(forColumnName: "word") == nil)
        #expect(rs.double(forColumnName: "word") == nil)
        #expect(rs.bool(forColumnName: "word") == nil)
        #expect(rs.int(forColumnName: "digits") == 42)
        #expect(rs.double(forColumnName: "decimal") == 2.5)
        #expect(rs.string(forColumnName: "bytes") == nil, "not UTF-8")
        #expect(rs.int(forColumnName: "bytes") == nil)
        #expect(rs.data(forColumnName: "whole") == nil)
        #expect(rs.date(forColumnName: "word") == nil)
    }

    @Test func `an INTEGER that a floating-point type cannot hold exactly is nil`() throws {
        let rs = try db.executeQuery(
            "SELECT 9007199254740992 AS fits, 9007199254740993 AS lost, 16777217 AS wide")
        #expect(try rs.next())
        #expect(rs.double(forColumnName: "fits") == 9_007_199_254_740_992)
        #expect(rs.date(forColumnName: "fits") != nil)
        #expect(rs.double(forColumnName: "lost") == nil)
        #expect(rs.date(forColumnName: "lost") == nil)
        #expect(rs.bool(forColumnName: "lost") == true)
        #expect(rs.double(forColumnName: "wide") == 16_777_217)
        #expect(storageError { let _: Float? = try rs.object(forColumnName: "wide") } != nil)
    }

    @Test func `two Unicode spellings of a column's name are two columns`() throws {
        let rs = try db.executeQuery("SELECT 1 AS \"\u{e9}\", 2 AS \"e\u{301}\"")
        #expect(try rs.next())
        #expect(rs.int(forColumnName: "\u{e9}") == 1)
        #expect(rs.int(forColumnName: "e\u{301}") == 2)
    }

    @Test func `numbers read as text, text as bytes, UTF-8 bytes as text`() throws {
        let rs = try db.executeQuery("SELECT 42 AS i, 2.5 AS r, 'é' AS t, x'c3a9' AS b")
        #expect(try rs.next())
        #expect(rs.string(forColumnName: "i") == "42")
        #expect(rs.string(forColumnName: "r") == "2.5")
        #expect(rs.data(forColumnName: "t") == Data([0xc3, 0xa9]))
        #expect(rs.string(forColumnName: "b") == "é")
    }

    @Test func `text that is not UTF-8 is nil as text and complete as data`() throws {
        let rs = try db.executeQuery("SELECT CAST(x'41ff42' AS TEXT), CAST(x'f09080' AS TEXT)")
        #expect(try rs.next())
        #expect(rs.string(forColumnIndex: 0) == nil)
        #expect(rs.data(forColumnIndex: 0) == Data([0x41, 0xff, 0x42]))
        #expect(rs.string(forColumnIndex: 1) == nil)
    }

    @Test func `object throws if the type cannot hold the value`() throws {
        let rs = try db.executeQuery("SELECT 300 AS n, 'x' AS t")
        #expect(try rs.next())
        #expect(try rs.object(forColumnName: "n") == Int16(300))
        #expect(
            storageError { _ = try rs.object(forColumnName: "n") as Int8? } == .typeConversionFailed
        )
        #expect(
            storageError { _ = try rs.object(forColumnName: "t") as Int? } == .typeConversionFailed)
        #expect(try rs.object(forColumnName: "t") == "x")
    }

    @Test func `bytes are borrowed without a copy`() throws {
        let db = try TemporaryDatabase().openStore()
        let rs = try db.executeQuery(
            "SELECT x'0001ff' AS blob, 'é' AS text, x'' AS noBytes, '' AS noText, 1 AS number, NULL AS empty"
        )
        #expect(rs.withUnsafeBytes(forColumnIndex: 0) { $0.count } == nil)
        #expect(try rs.next())
        let expected: [(String, [UInt8]?)] = [
            ("blob", [0, 1, 255]), ("text", [0xc3, 0xa9]), ("noBytes", []), ("noText", []),
            ("number", nil), ("empty", nil),
        ]
        for (index, (name, bytes)) in expected.enumerated() {
            #expect(rs.withUnsafeBytes(forColumnName: name) { Array($0) } == bytes)
            #expect(rs.withUnsafeBytes(forColumnIndex: index) { Array($0) } == bytes)
        }
        #expect(rs.withUnsafeBytes(forColumnName: "missing") { $0.count } == nil)
        #expect(rs.withUnsafeBytes(forColumnIndex: 6) { $0.count } == nil)
        #expect(throws: CancellationError.self) {
            try rs.withUnsafeBytes(forColumnIndex: 0) { _ in throw CancellationError() }
        }
    }

    @Test func `columns are found by any string with their name, however many there are`() throws {
        let db = try TemporaryDatabase().openStore()
        let names = (0..<100).map { "column number \($0)" }
        let rs = try db.executeQuery(
            "SELECT " + names.enumerated().map { "\($0) AS \"\($1)\"" }.joined(separator: ", "))
        #expect(try rs.next())
        for _ in 0..<3 {
            for (index, name) in names.enumerated().shuffled() {
                // A newly made string, which may be at the address of an earlier one.
                #expect(rs.int(forColumnName: String(name.reversed().reversed())) == index)
                #expect(rs.int(forColumnName: name.uppercased()) == index)
                #expect(rs.int(forColumnName: name + "!") == nil)
            }
        }
    }
}
