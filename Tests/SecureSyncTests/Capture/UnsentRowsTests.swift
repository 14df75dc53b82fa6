import Foundation
import SecureStorage
import SecureSync
import TestSupport
import Testing

/// Rows that cannot travel: they are listed, and all else continues.
struct UnsentRowsTests {
    private let file: CapturedFile

    init() throws {
        file = try CapturedFile(
            "CREATE TABLE note (id TEXT PRIMARY KEY NOT NULL, a, b, c);", tables: "note")
        try file.run("INSERT INTO note (id, a) VALUES ('x', 1), ('y', 1)")
        _ = try file.timestamped()
    }

    private func expect(_ reason: UnsentRow.Reason?) throws {
        let rows = try file.capture.unsentRows(in: file.db)
        check(rows.map(\.key), equals: reason == nil ? [] : [[.text("x")]])
        check(rows.first?.reason, equals: reason)
        try check(file.capture.waitingMarks(in: file.db) == nil)
    }

    private static let broken = "CAST(x'61ff' AS TEXT)"

    @Test func `a row with a text that is none is left out until it is written again`() throws {
        try file.run("UPDATE note SET a = \(Self.broken) WHERE id = 'x'; UPDATE note SET b = 2")
        try check(file.captured(), equals: ["~ note[y] b=2"])
        try expect(.notText)
        try check(file.captured(), equals: [])
        try file.run("UPDATE note SET c = 3 WHERE id = 'x'")
        try check(file.captured(), equals: [])
        try expect(.notText)
        try file.run("UPDATE note SET a = CAST(a AS BLOB) WHERE id = 'x'")
        try check(file.captured(), equals: ["~ note[x] a=61ff b=2 c=3"])
        try expect(nil)
    }

    /// Applies another member's change of the row x, whose insertion it knows.
    private func apply(_ columnGroups: [(String, SQLiteValue)], isAlive: Bool) throws {
        let incarnation = try require(file.clock(of: .text("x"))).incarnation
        let timestamp = Timestamp(time: incarnation.time + 1_000_000_000, member: .numbered(9))
        let change = RowChange(
            table: "note", key: [.text("x")],
            incarnation: .init(
                timestamp: isAlive ? incarnation : timestamp, isAlive: isAlive, known: incarnation),
            columnGroups: columnGroups.map {
                .init(columns: [$0.0], values: [$0.1], timestamp: timestamp, known: incarnation)
            })
        _ = try file.write { try file.capture.apply([change], in: file.db) }
    }

    @Test func `a row that another member has deleted is no longer listed`() throws {
        try file.run("UPDATE note SET a = \(Self.broken), b = 2 WHERE id = 'x'")
        try check(file.captured(), equals: [])
        try apply([], isAlive: false)
        try check(file.captured(), equals: [])
        try expect(nil)
    }

    @Test func `a text that another member has overwritten leaves the other columns to be sent`()
        throws
    {
        try file.run("UPDATE note SET a = \(Self.broken), b = 2 WHERE id = 'x'")
        try check(file.captured(), equals: [])
        try apply([("a", .integer(7))], isAlive: true)
        try check(file.captured(), equals: ["~ note[x] a=7 b=2"])
        try expect(nil)
    }

    @Test func `an insertion that was left out is one when it can travel, and a deletion ends it`()
        throws
    {
        try file.run("DELETE FROM note")
        _ = try file.timestamped()
        let insertion = "INSERT INTO note VALUES ('x', \(Self.broken), 1, 1)"
        try file.run(insertion)
        try check(file.captured(), equals: [])
        try expect(.notText)
        try file.run("UPDATE note SET a = 2")
        try check(file.captured(), equals: ["+ note[x] a=2 b=1 c=1"])
        try file.run("DELETE FROM note; \(insertion)")
        try check(file.captured(), equals: [])
        try file.run("DELETE FROM note")
        try check(file.captured(), equals: ["- note[x]"])
        try expect(nil)
    }

    /// A program in another language can write one: SQLite checks no text.
    @Test func `a row whose key is not text is listed by its bytes, and all else continues`() throws
    {
        let both = "INSERT INTO note (id, a) VALUES (\(Self.broken), 1), ('z', 1)"
        try file.run(both)
        try check(file.captured(), equals: ["+ note[z] a=1 b=null c=null"])
        let expected = [[SQLiteValue.blob(Data([0x61, 0xff]))]]
        try check(file.capture.unsentRows(in: file.db).map(\.key), equals: expected)
        try file.run("UPDATE note SET a = 2 WHERE id IN (\(Self.broken), 'z')")
        try check(file.captured(), equals: ["~ note[z] a=2"])
        try check(file.capture.unsentRows(in: file.db).map(\.key), equals: expected)
        try file.run("UPDATE note SET id = 'w' WHERE id = \(Self.broken)")
        try check(file.captured(), equals: ["+ note[w] a=2 b=null c=null"])
        try check(file.capture.unsentRows(in: file.db), equals: [])
        try file.run("INSERT INTO note (id) VALUES (\(Self.broken)); DELETE FROM note")
        check(
            Set(try file.captured()), equals: ["- note[w]", "- note[x]", "- note[y]", "- note[z]"])
        try check(file.capture.unsentRows(in: file.db), equals: [])
    }

    @Test func `a child whose key is not text and whose parent is missing stops nothing`() throws {
        let file = try CapturedFile(
            """
            CREATE TABLE parent (id TEXT PRIMARY KEY NOT NULL);
            CREATE TABLE child (id TEXT PRIMARY KEY NOT NULL, parent TEXT REFERENCES parent (id));
            """, tables: "parent", "child")
        try file.db.executeStatements("PRAGMA foreign_keys = OFF")
        try file.run(
            "INSERT INTO child VALUES (\(Self.broken), 'none'); INSERT INTO parent VALUES ('p')")
        try check(file.captured(), equals: ["+ parent[p]"])
        try check(file.capture.unsentRows(in: file.db).map(\.table), equals: ["child"])
    }
}
