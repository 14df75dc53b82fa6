import Foundation
import SecureStorage
import Testing
import TestSupport

struct FMDBResultSetTests {
    let database: TemporaryDatabase
    let db: SecureDatabaseStore

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore()
    }

    private func row(_ columns: String) throws -> SecureDatabaseResultSet {
        let rs = try db.executeQuery("SELECT \(columns)")
        try check(rs.next())
        return rs
    }

    @Test func `FMDB columnCount, columnNameForIndex, columnIndexForName before the first next`()
        throws
    {
        let rs = try db.executeQuery("SELECT 1 AS One, 2 AS two, 3 AS one WHERE 0")
        check(rs.columnCount, equals: 3)
        check(rs.columnName(forIndex: 0), equals: "One")
        check(rs.columnName(forIndex: 3) == nil)
        check(rs.columnName(forIndex: -1) == nil)
        check(rs.columnIndex(forName: "TWO"), equals: 1)
        check(rs.columnIndex(forName: "one"), equals: 2)
        check(rs.columnIndex(forName: "three") == nil)
        check(rs.columnNameToIndexMap, equals: ["one": 0, "two": 1])
        try check(!rs.next())
        check(rs.columnCount, equals: 0)
        check(rs.columnIndex(forName: "two") == nil)
    }

    @Test func `FMDB columnCount follows a schema that changes before the first next`() throws {
        try db.executeUpdate("CREATE TABLE t (a)")
        try db.executeUpdate("INSERT INTO t VALUES (1)")
        let rs = try db.executeQuery("SELECT * FROM t")
        check(rs.columnCount, equals: 1)
        try db.executeUpdate("ALTER TABLE t ADD COLUMN b DEFAULT 2")
        try check(rs.next())
        check(rs.columnCount, equals: 2)
        check(rs.resultDictionary, equals: ["a": .integer(1), "b": .integer(2)])
    }

    @Test func `FMDB hasAnotherRow: is true while a row is current`() throws {
        let rs = try db.executeQuery("SELECT 1")
        check(!rs.hasAnotherRow)
        try check(rs.next())
        check(rs.hasAnotherRow)
        try check(!rs.next())
        check(!rs.hasAnotherRow)
    }

    @Test func `FMDB resultDictionary and subscripts: stored values, the first of a name`() throws {
        let rs = try row(
            "1 AS a, 'x' AS b, NULL AS c, x'00' AS d, 0.5 AS e, 2 AS a, cast(x'ff' AS TEXT) AS f")
        check(
            rs.resultDictionary,
            equals: [
                "a": .integer(1), "b": .text("x"), "c": .null, "d": .blob(Data([0])),
                "e": .real(0.5), "f": .blob(Data([0xff])),
            ])
        check(rs["B"], equals: .text("x"))
        check(rs["c"], equals: .null)
        check(rs["nobody"] == nil)
        check(rs[5], equals: .integer(2))
        check(rs[7] == nil)
        rs.close()
        check(rs.resultDictionary == nil)
        check(rs[0] == nil)
    }

    @Test func `FMDB columnIsNull, typeForColumn: a missing column is an error`() throws {
        let rs = try row("NULL AS n, 1 AS i, 0.5 AS r, '' AS t, x'' AS b")
        try check(rs.isNull(forColumnName: "N"))
        try check(rs.isNull(forColumnIndex: 0))
        try check(!rs.isNull(forColumnName: "t"))
        try check(
            (0..<5).map { try rs.type(forColumnIndex: $0) },
            equals: [
                .null, .integer, .real, .text, .blob,
            ])
        try check(rs.type(forColumnName: "b"), equals: .blob)
        let error = storageError { _ = try rs.isNull(forColumnName: "nobody") }
        check(error?.code, equals: 25)
        check(
            error?.description.contains("\"nobody\"; its columns are: n, i, r, t, b"), equals: true)
        check(storageError { _ = try rs.type(forColumnIndex: 5) }?.code, equals: 25)
    }

    @Test func `FMDB int, longLongInt, bool, double, string, date, data: and narrower widths`()
        throws
    {
        let rs = try row(
            "127 AS a, 128 AS b, 40000 AS c, 3000000000 AS d, 0.5 AS e, 1e300 AS f, NULL AS g")
        check(rs.int8(forColumnName: "a"), equals: 127)
        check(rs.int8(forColumnIndex: 1) == nil)
        check(rs.int16(forColumnName: "b"), equals: 128)
        check(rs.int16(forColumnIndex: 2) == nil)
        check(rs.int32(forColumnName: "c"), equals: 40000)
        check(rs.int32(forColumnIndex: 3) == nil)
        check(rs.float(forColumnName: "e"), equals: 0.5)
        check(rs.float(forColumnIndex: 5) == nil)
        check(rs.int8(forColumnName: "g") == nil)
        check(rs.int8(forColumnName: "nobody") == nil)
    }

    @Test func `a strict getter distinguishes NULL, a missing column, an overflow and no row`()
        throws
    {
        let rs = try db.executeQuery("SELECT NULL AS n, 300 AS big, 7 AS fits")
        check(storageError { _ = try rs.value(forColumnName: "n", as: Int.self) }?.code, equals: 21)
        try check(rs.next())
        try check(rs.value(forColumnName: "n", as: Int.self) == nil)
        try check(rs.value(forColumnName: "fits", as: UInt8.self), equals: 7)
        try check(rs.value(forColumnIndex: 2, as: String.self), equals: "7")
        check(
            storageError { _ = try rs.value(forColumnName: "big", as: UInt8.self) },
            equals: .typeConversionFailed)
        check(storageError { _ = try rs.value(forColumnName: "x", as: Int.self) }?.code, equals: 25)
        check(storageError { _ = try rs.value(forColumnIndex: -1, as: Int.self) }?.code, equals: 25)
        try check(!rs.next())
        check(storageError { _ = try rs.value(forColumnIndex: 0, as: Int.self) }?.code, equals: 21)
        let closed = try row("1")
        closed.close()
        check(
            storageError { _ = try closed.value(forColumnIndex: 0, as: Int.self) }, equals: .closed)
    }
}
