import Foundation
import SecureStorage
import Testing
import TestSupport

@Suite struct FMDBResultSetTests {
    let database: TemporaryDatabase
    let db: SecureDatabaseStore

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore()
    }

    private func row(_ columns: String) throws -> SecureDatabaseResultSet {
        let rs = try db.executeQuery("SELECT \(columns)")
        #expect(try rs.next())
        return rs
    }

    @Test func `FMDB columnCount, columnNameForIndex, columnIndexForName before the first next`()
        throws
    {
        let rs = try db.executeQuery("SELECT 1 AS One, 2 AS two, 3 AS one WHERE 0")
        #expect(rs.columnCount == 3)
        #expect(rs.columnName(forIndex: 0) == "One")
        #expect(rs.columnName(forIndex: 3) == nil)
        #expect(rs.columnName(forIndex: -1) == nil)
        #expect(rs.columnIndex(forName: "TWO") == 1)
        #expect(rs.columnIndex(forName: "one") == 2)
        #expect(rs.columnIndex(forName: "three") == nil)
        #expect(rs.columnNameToIndexMap == ["one": 0, "two": 1])
        #expect(try !rs.next())
        #expect(rs.columnCount == 0)
        #expect(rs.columnIndex(forName: "two") == nil)
    }

    @Test func `FMDB columnCount follows a schema that changes before the first next`() throws {
        try db.executeUpdate("CREATE TABLE t (a)")
        try db.executeUpdate("INSERT INTO t VALUES (1)")
        let rs = try db.executeQuery("SELECT * FROM t")
        #expect(rs.columnCount == 1)
        try db.executeUpdate("ALTER TABLE t ADD COLUMN b DEFAULT 2")
        #expect(try rs.next())
        #expect(rs.columnCount == 2)
        #expect(rs.resultDictionary == ["a": .integer(1), "b": .integer(2)])
    }

    @Test func `FMDB hasAnotherRow: is true while a row is current`() throws {
        let rs = try db.executeQuery("SELECT 1")
        #expect(!rs.hasAnotherRow)
        #expect(try rs.next())
        #expect(rs.hasAnotherRow)
        #expect(try !rs.next())
        #expect(!rs.hasAnotherRow)
    }

    @Test func `FMDB resultDictionary and subscripts: stored values, the first of a name`() throws {
        let rs = try row(
            "1 AS a, 'x' AS b, NULL AS c, x'00' AS d, 0.5 AS e, 2 AS a, cast(x'ff' AS TEXT) AS f")
        #expect(
            rs.resultDictionary == [
                "a": .integer(1), "b": .text("x"), "c": .null, "d": .blob(Data([0])),
                "e": .real(0.5), "f": .blob(Data([0xff])),
            ])
        #expect(rs["B"] == .text("x"))
        #expect(rs["c"] == .null)
        #expect(rs["nobody"] == nil)
        #expect(rs[5] == .integer(2))
        #expect(rs[7] == nil)
        rs.close()
        #expect(rs.resultDictionary == nil)
        #expect(rs[0] == nil)
    }

    @Test func `FMDB columnIsNull, typeForColumn: a missing column is an error`() throws {
        let rs = try row("NULL AS n, 1 AS i, 0.5 AS r, '' AS t, x'' AS b")
        #expect(try rs.isNull(forColumnName: "N"))
        #expect(try rs.isNull(forColumnIndex: 0))
        #expect(try !rs.isNull(forColumnName: "t"))
        #expect(
            try (0..<5).map { try rs.type(forColumnIndex: $0) } == [
                .null, .integer, .real, .text, .blob,
            ])
        #expect(try rs.type(forColumnName: "b") == .blob)
        let error = storageError { _ = try rs.isNull(forColumnName: "nobody") }
        #expect(error?.code == 25)
        #expect(error?.description.contains("\"nobody\"; its columns are: n, i, r, t, b") == true)
        #expect(storageError { _ = try rs.type(forColumnIndex: 5) }?.code == 25)
    }

    @Test func `FMDB int, longLongInt, bool, double, string, date, data: and narrower widths`()
        throws
    {
        let rs = try row(
            "127 AS a, 128 AS b, 40000 AS c, 3000000000 AS d, 0.5 AS e, 1e300 AS f, NULL AS g")
        #expect(rs.int8(forColumnName: "a") == 127)
        #expect(rs.int8(forColumnIndex: 1) == nil)
        #expect(rs.int16(forColumnName: "b") == 128)
        #expect(rs.int16(forColumnIndex: 2) == nil)
        #expect(rs.int32(forColumnName: "c") == 40000)
        #expect(rs.int32(forColumnIndex: 3) == nil)
        #expect(rs.float(forColumnName: "e") == 0.5)
        #expect(rs.float(forColumnIndex: 5) == nil)
        #expect(rs.int8(forColumnName: "g") == nil)
        #expect(rs.int8(forColumnName: "nobody") == nil)
    }

    @Test func `a strict getter distinguishes NULL, a missing column, an overflow and no row`()
        throws
    {
        let rs = try db.executeQuery("SELECT NULL AS n, 300 AS big, 7 AS fits")
        #expect(storageError { _ = try rs.value(forColumnName: "n", as: Int.self) }?.code == 21)
        #expect(try rs.next())
        #expect(try rs.value(forColumnName: "n", as: Int.self) == nil)
        #expect(try rs.value(forColumnName: "fits", as: UInt8.self) == 7)
        #expect(try rs.value(forColumnIndex: 2, as: String.self) == "7")
        #expect(
            storageError { _ = try rs.value(forColumnName: "big", as: UInt8.self) }
                == .typeConversionFailed)
        #expect(storageError { _ = try rs.value(forColumnName: "x", as: Int.self) }?.code == 25)
        #expect(storageError { _ = try rs.value(forColumnIndex: -1, as: Int.self) }?.code == 25)
        #expect(try !rs.next())
        #expect(storageError { _ = try rs.value(forColumnIndex: 0, as: Int.self) }?.code == 21)
        let closed = try row("1")
        closed.close()
        #expect(storageError { _ = try closed.value(forColumnIndex: 0, as: Int.self) } == .closed)
    }
}
