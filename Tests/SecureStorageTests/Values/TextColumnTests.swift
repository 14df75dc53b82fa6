import Foundation
import SecureStorage
import Testing
import TestSupport

/// Numbers in columns of type TEXT, where SQLite stores their text.
struct TextColumnTests {
    private let database: TemporaryDatabase
    private let db: SecureDatabaseStore

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore()
    }

    private func row(_ sql: String, _ values: (any SQLiteDatatypeBridgeable)?...) throws
        -> SecureDatabaseResultSet
    {
        let rs = try db.executeQuery(sql, values: values)
        try check(rs.next())
        return rs
    }

    @Test(arguments: [
        "TEXT", "VARCHAR(20)", "CHARACTER(20)", "CLOB", "", "INTEGER", "REAL", "NUMERIC",
    ])
    func `a date reads back from a column of any type`(_ type: String) throws {
        let date = Date(timeIntervalSince1970: 1_700_000_000)
        try db.executeUpdate("CREATE TABLE t (at \(type))")
        try db.executeUpdate("INSERT INTO t VALUES (?)", values: [date])
        let rs = try row("SELECT at FROM t")
        check(rs.date(forColumnName: "at"), equals: date)
        let object: Date? = try rs.object(forColumnName: "at")
        check(object, equals: date)
    }

    @Test func `numbers read back from a TEXT column`() throws {
        try db.executeUpdate("CREATE TABLE t (i TEXT, r TEXT, big TEXT, whole TEXT, most TEXT)")
        try db.executeUpdate(
            "INSERT INTO t VALUES (?, ?, ?, ?, ?)", values: [-7, 1.5, 1e300, 5.0, Double.infinity])
        let rs = try row("SELECT * FROM t")
        check(rs.int(forColumnName: "i"), equals: -7)
        check(rs.double(forColumnName: "r"), equals: 1.5)
        check(rs.double(forColumnName: "big"), equals: 1e300)
        check(rs.int(forColumnName: "whole"), equals: 5)
        check(rs.double(forColumnName: "most"), equals: .infinity)
        check(rs.date(forColumnName: "most") == nil)
    }

    @Test(arguments: ["0x10", "nan", "NaN", "infinity", "1p3", "", " 1", "1e", "--1", "1,5"])
    func `text that is not a number for SQLite is not one here`(_ text: String) throws {
        let rs = try row("SELECT ?", text)
        check(rs.double(forColumnIndex: 0) == nil)
        check(rs.int(forColumnIndex: 0) == nil)
        check(rs.bool(forColumnIndex: 0) == nil)
        check(rs.date(forColumnIndex: 0) == nil)
    }

    @Test(arguments: [
        0.0, -0.0, 1.0, -1.5, 1e14, 1e15, 123_456_789_012_345_680, 1e-4, 1e-5, 0.1, 1.0 / 3, 1e300,
        -1e-300, .infinity, -.infinity, .greatestFiniteMagnitude, .leastNonzeroMagnitude,
    ])
    func `a REAL reads as the text that SQLite makes of it`(_ number: Double) throws {
        let rs = try row("SELECT ?1 AS number, CAST(?1 AS TEXT) AS text", number)
        let text = rs.string(forColumnName: "text")
        check(rs.string(forColumnName: "number"), equals: text)
        let object: String? = try rs.object(forColumnName: "number")
        check(object, equals: text)
    }
}
