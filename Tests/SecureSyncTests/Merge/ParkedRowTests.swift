import SecureStorage
import SecureSync
import TestSupport
import Testing

/// Rows that are held back, and what is changed of them in the meantime.
struct ParkedRowTests {
    private static let ranges = """
        CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, name UNIQUE, low, high, CHECK (low <= high))
        """

    /// A file in which `r` has the name `x`, and `p` waits for it; and the birth of `p`.
    private func fileWithParkedRow() throws -> (file: CapturedFile, life: Timestamp) {
        let pair = try MergePair(Self.ranges, ["t"])
        try pair.first.run("INSERT INTO t VALUES ('r', 'x', 1, 5)")
        _ = try pair.timestamped(pair.first)
        try pair.second.run("INSERT INTO t VALUES ('p', 'x', 1, 5)")
        let born = try pair.second.timestamped(clockOffset: 60_000)
        try check(apply(born, pair.first), equals: [0, 1, 0])
        try check(standings(pair.first), equals: [.duplicate])
        return (pair.first, born[0].life.timestamp)
    }

    /// Returns how many rows were written, held back and returned.
    private func apply(_ changes: [RowChange], _ file: CapturedFile) throws -> [Int] {
        let report = try file.write { try file.capture.apply(changes, in: file.db) }
        return [report.written, report.parked, report.returned]
    }

    private func standings(_ file: CapturedFile) throws -> [Standing] {
        try file.capture.parkedRows(in: file.db).map(\.standing)
    }

    /// An edit of `p`.
    private func edit(_ column: String, _ value: SQLiteValue, of life: Timestamp)
        -> RowChange
    {
        let timestamp = Timestamp(time: life.time + 1, member: life.member)
        return RowChange(
            table: "t", key: [.text("p")], life: .init(timestamp: life, isAlive: true),
            registers: [
                .init(columns: [column], values: [value], timestamp: timestamp, known: life)
            ])
    }

    @Test func `a row that is held back is counted once, and again when it returns`() throws {
        let (file, life) = try fileWithParkedRow()
        try check(apply([edit("low", .integer(2), of: life)], file), equals: [0, 0, 0])
        try check(file.capture.parkedRows(in: file.db)[0].values[1], equals: .integer(2))
        try check(
            apply([edit("name", .text("y"), of: life)], file),
            equals: [1, 0, 1])
        try check(
            file.db.strings("SELECT id || name || low FROM t ORDER BY id"), equals: ["py2", "rx1"])
    }

    @Test func `a row that dies while it is held back has not returned`() throws {
        let (file, life) = try fileWithParkedRow()
        let death = Timestamp(time: life.time + 1, member: life.member)
        let deletion = RowChange(
            table: "t", key: [.text("p")],
            life: .init(timestamp: death, isAlive: false, known: life))
        try check(apply([deletion], file), equals: [0, 0, 0])
        try check(standings(file).isEmpty)
        try file.run("DELETE FROM t WHERE id = 'r'")
        _ = try file.write { try file.capture.timestampAndSettle(in: file.db) }
        try check(file.db.strings("SELECT id FROM t"), equals: [])
    }

    @Test func `a row that its table would refuse is refused while it is held back, too`() throws {
        let (file, life) = try fileWithParkedRow()
        _ = try apply([edit("low", .integer(6), of: life)], file)
        try check(standings(file), equals: [.refused])
        try file.run("DELETE FROM t WHERE id = 'r'")
        _ = try file.write { try file.capture.timestampAndSettle(in: file.db) }
        try check(file.db.strings("SELECT id FROM t"), equals: [])
        // With the other column, it fits.
        try check(apply([edit("high", .integer(7), of: life)], file), equals: [1, 0, 1])
        try check(file.db.strings("SELECT id || low || high FROM t"), equals: ["p67"])
    }
}
