import SecureStorage
import SecureSync
import TestSupport
import Testing

/// Rows that are held back, and what is changed of them in the meantime.
struct HeldBackRowTests {
    private static let ranges = """
        CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, name UNIQUE, low, high, CHECK (low <= high))
        """

    /// A file in which `r` has the name `x`, and `p` waits for it; and the incarnation of `p`.
    private func fileWithHeldBackRow() throws -> (file: CapturedFile, incarnation: Timestamp) {
        let pair = try MergePair(Self.ranges, ["t"])
        try pair.first.run("INSERT INTO t VALUES ('r', 'x', 1, 5)")
        _ = try pair.timestamped(pair.first)
        try pair.second.run("INSERT INTO t VALUES ('p', 'x', 1, 5)")
        let born = try pair.second.timestamped(clockOffset: 60_000)
        try check(apply(born, pair.first), equals: [0, 1, 0])
        try check(standings(pair.first), equals: [.duplicate])
        return (pair.first, born[0].incarnation.timestamp)
    }

    /// Returns how many rows were written, held back and returned.
    private func apply(_ changes: [RowChange], _ file: CapturedFile) throws -> [Int] {
        let report = try file.write { try file.capture.apply(changes, in: file.db) }
        return [report.written, report.heldBack, report.returned]
    }

    private func standings(_ file: CapturedFile) throws -> [Standing] {
        try file.capture.heldBackRows(in: file.db).map(\.standing)
    }

    /// An edit of `p`.
    private func edit(_ column: String, _ value: SQLiteValue, of incarnation: Timestamp)
        -> RowChange
    {
        let timestamp = Timestamp(time: incarnation.time + 1, member: incarnation.member)
        return RowChange(
            table: "t", key: [.text("p")],
            incarnation: .init(timestamp: incarnation, isAlive: true),
            columnGroups: [
                .init(columns: [column], values: [value], timestamp: timestamp, known: incarnation)
            ])
    }

    @Test func `a row that is held back is counted once, and again when it returns`() throws {
        let (file, incarnation) = try fileWithHeldBackRow()
        try check(apply([edit("low", .integer(2), of: incarnation)], file), equals: [0, 0, 0])
        try check(file.capture.heldBackRows(in: file.db)[0].values[1], equals: .integer(2))
        try check(
            apply([edit("name", .text("y"), of: incarnation)], file),
            equals: [1, 0, 1])
        try check(
            file.db.strings("SELECT id || name || low FROM t ORDER BY id"), equals: ["py2", "rx1"])
    }

    @Test func `a row that dies while it is held back has not returned`() throws {
        let (file, incarnation) = try fileWithHeldBackRow()
        let death = Timestamp(time: incarnation.time + 1, member: incarnation.member)
        let deletion = RowChange(
            table: "t", key: [.text("p")],
            incarnation: .init(timestamp: death, isAlive: false, known: incarnation))
        try check(apply([deletion], file), equals: [0, 0, 0])
        try check(standings(file).isEmpty)
        try file.run("DELETE FROM t WHERE id = 'r'")
        _ = try file.write { try file.capture.timestampAndSettle(in: file.db) }
        try check(file.db.strings("SELECT id FROM t"), equals: [])
    }

    @Test func `a row that its table would refuse is refused while it is held back, too`() throws {
        let (file, incarnation) = try fileWithHeldBackRow()
        _ = try apply([edit("low", .integer(6), of: incarnation)], file)
        try check(standings(file), equals: [.refused])
        try file.run("DELETE FROM t WHERE id = 'r'")
        _ = try file.write { try file.capture.timestampAndSettle(in: file.db) }
        try check(file.db.strings("SELECT id FROM t"), equals: [])
        // With the other column, it fits.
        try check(apply([edit("high", .integer(7), of: incarnation)], file), equals: [1, 0, 1])
        try check(file.db.strings("SELECT id || low || high FROM t"), equals: ["p67"])
    }
}
