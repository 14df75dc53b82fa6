import SecureStorage
import SecureSync
import TestSupport
import Testing

/// Rows that cannot travel: they are listed, and all else goes on.
struct UnsentRowsTests {
    private let file: CapturedFile

    init() throws {
        file = try CapturedFile(
            "CREATE TABLE note (id TEXT PRIMARY KEY NOT NULL, a, b, c);", tables: "note")
        try file.run("INSERT INTO note (id, a) VALUES ('x', 1), ('y', 1)")
        _ = try file.stamped()
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

    @Test func `an insertion that was left out is one when it can travel, and a deletion ends it`()
        throws
    {
        try file.run("DELETE FROM note")
        _ = try file.stamped()
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
}
