import Foundation
import SecureStorage
import SecureSync
import Testing
import TestSupport

/// Which timestamps changes get.
struct TimestampingTests {
    private static let schema = """
        CREATE TABLE note (id TEXT PRIMARY KEY NOT NULL, a, b);
        INSERT INTO note VALUES ('old', 1, 1);
        """
    private static let year: Int64 = 365 * 86_400_000
    private let file: CapturedFile

    init() throws { file = try CapturedFile(Self.schema, tables: "note") }

    private func only(_ changes: [RowChange]) throws -> RowChange {
        check(changes.count, equals: 1)
        return try require(changes.first)
    }

    @Test func `rows from before the installation are not captured until they change`() throws {
        try check(file.timestamped(), equals: [])
        try file.run("UPDATE note SET a = 2")
        let change = try only(try file.timestamped())
        check(change.incarnation, equals: .init(timestamp: .stablePoint, isAlive: true))
        let columnGroup = try require(change.columnGroups.first)
        check(change.columnGroups.count, equals: 1)
        check(columnGroup.known == nil)
        check(columnGroup.timestamp.member, equals: file.member)
        let clock = try require(file.clock(of: .text("old")))
        check(clock.incarnation, equals: .stablePoint)
        check(clock.greatest, equals: columnGroup.timestamp)
    }

    @Test func `a timestamp has the time of the write, in milliseconds`() throws {
        let before = UInt64(Date().timeIntervalSince1970 * 1000)
        try file.run("INSERT INTO note VALUES ('x', 1, 1)")
        let after = UInt64(Date().timeIntervalSince1970 * 1000)
        let change = try only(try file.timestamped())
        check((before...after + 1).contains(change.incarnation.timestamp.milliseconds + 1))
        check(change.incarnation.known == nil)
        check(
            change.columnGroups.allSatisfy {
                $0.timestamp == change.incarnation.timestamp && $0.known == nil
            }
        )
        try check(file.capture.lastTime(in: file.db), equals: change.incarnation.timestamp.time)
    }

    @Test func `a clock that goes back timestamps above what it overwrites, one step at a time`()
        throws
    {
        try file.run("INSERT INTO note VALUES ('x', 1, 1)")
        let born = try only(try file.timestamped()).incarnation.timestamp
        try file.run("UPDATE note SET a = 2 WHERE id = 'x'")
        let first = try only(try file.timestamped(clockOffset: -Self.year)).columnGroups[0]
        check(first.timestamp.time, equals: born.time + 1)
        check(first.known, equals: born)
        try file.run("UPDATE note SET a = 3 WHERE id = 'x'")
        let second = try only(try file.timestamped(clockOffset: -100 * Self.year)).columnGroups[0]
        check(second.timestamp.time, equals: born.time + 2)
        check(second.known, equals: first.timestamp)
        try file.run("DELETE FROM note WHERE id = 'x'")
        let dead = try only(try file.timestamped(clockOffset: -Self.year)).incarnation
        check(dead.timestamp.time, equals: born.time + 3)
        check(dead.known, equals: second.timestamp)
        try file.run("INSERT INTO note VALUES ('x', 4, 4)")
        let reborn = try only(try file.timestamped(clockOffset: -Self.year))
        check(reborn.incarnation.timestamp.time, equals: born.time + 4)
        check(reborn.incarnation.known, equals: dead.timestamp)
        check(reborn.columnGroups.count, equals: 2)
    }

    @Test func `a clock far ahead leaves room above`() throws {
        try file.run("INSERT INTO note VALUES ('x', 1, 1)")
        let born = try only(try file.timestamped(clockOffset: .max)).incarnation.timestamp
        check(born.time, equals: Timestamp.greatestClock)
        try file.run("UPDATE note SET a = 2 WHERE id = 'x'")
        let next = try only(try file.timestamped(clockOffset: .max)).columnGroups[0].timestamp
        check(next.time, equals: born.time + 1)
        try file.run("UPDATE note SET a = 3 WHERE id = 'x'")
        try check(
            only(try file.timestamped(clockOffset: .min)).columnGroups[0].timestamp.time,
            equals: born.time + 2
        )
    }

    @Test func `no timestamp is above the greatest that others accept, whatever was known`() throws
    {
        let remote = Timestamp(time: Timestamp.greatestTime, member: .numbered(9))
        try file.write {
            let shape = try file.capture.shapes(in: file.db)[0]
            let members = try MemberNumbers(in: file.db)
            try ClockTable(of: shape, members: members, in: file.db)
                .set(RowClock(incarnation: remote, isAlive: true), of: [.text("old")])
        }
        try file.run("UPDATE note SET a = 2")
        let changes = try file.timestamped()
        try check(only(changes).greatestTimestamp.time, equals: Timestamp.greatestTime)
        let body = BatchBody(time: 1, schema: 0, positions: [], changes: changes, isLast: true)
        try check(BatchBody(decoding: body.encoded()), equals: body)
    }

    @Test func `a timestamp is above another member's with the same time, too`() throws {
        let remote = Timestamp(
            time: Timestamp.time(milliseconds: 5_000_000_000_000), member: .numbered(9))
        try file.write {
            let shape = try file.capture.shapes(in: file.db)[0]
            let members = try MemberNumbers(in: file.db)
            try ClockTable(of: shape, members: members, in: file.db)
                .set(RowClock(incarnation: remote, isAlive: true), of: [.text("old")])
        }
        try file.run("UPDATE note SET a = 2")
        let columnGroup = try only(try file.timestamped()).columnGroups[0]
        check(columnGroup.timestamp, equals: Timestamp(time: remote.time + 1, member: file.member))
        check(columnGroup.known, equals: remote)
        check(columnGroup.timestamp > remote)
    }

    @Test func `each column keeps the time of its own change`() throws {
        try file.run("UPDATE note SET a = 2")
        let a = try only(try file.timestamped()).columnGroups[0].timestamp
        try file.run("UPDATE note SET b = 2")
        let b = try only(try file.timestamped(clockOffset: Self.year)).columnGroups[0].timestamp
        let numbers = try file.capture.shapes(in: file.db)[0].columnNumbers
        let clock = try require(file.clock(of: .text("old")))
        check(clock[try require(numbers["a"])], equals: a)
        check(clock[try require(numbers["b"])], equals: b)
    }

    @Test func `an insertion and updates are an insertion`() throws {
        try file.run("INSERT INTO note VALUES ('x', 1, 1); UPDATE note SET a = 2 WHERE id = 'x'")
        try file.setMarks(inserted: 1000, updated: 1000)
        try check(file.captured(), equals: ["+ note[x] a=2 b=1"])
        try check(file.clock(of: .text("x"))?.columns, equals: [:])
    }

    @Test func `an insertion has its own time, and a column that was written since has its own`()
        throws
    {
        try file.run("INSERT INTO note VALUES ('x', 1, 1); UPDATE note SET a = 2 WHERE id = 'x'")
        try file.setMarks(inserted: 1000, updated: 3000)
        let change = try only(try file.timestamped())
        check(change.summary, equals: "+ note[x] a=2 b=1")
        check(change.incarnation.timestamp.milliseconds, equals: 1000)
        check(change.columnGroups.map(\.columns), equals: [["a"], ["b"]])
        check(change.columnGroups.map(\.timestamp.milliseconds), equals: [3000, 1000])
        check(change.columnGroups.allSatisfy { $0.known == nil })
        let clock = try require(file.clock(of: .text("x")))
        check(clock.incarnation, equals: change.incarnation.timestamp)
        check(Array(clock.columns.values), equals: [change.columnGroups[0].timestamp])
    }

    @Test func `what was written to a row before it was inserted again has no time`() throws {
        try file.run(
            "UPDATE note SET a = 2; DELETE FROM note; INSERT INTO note VALUES ('old', 5, 6)")
        try file.setMarks(inserted: 3000, updated: 1000)
        let change = try only(try file.timestamped())
        check(change.columnGroups.allSatisfy { $0.timestamp == change.incarnation.timestamp })
        check(change.incarnation.timestamp.milliseconds, equals: 3000)
    }

    @Test func `a deletion and an insertion of one key begin a new incarnation`() throws {
        try file.run("INSERT INTO note VALUES ('x', 1, 1)")
        let born = try only(try file.timestamped()).incarnation.timestamp
        try file.run("DELETE FROM note WHERE id = 'x'; INSERT INTO note VALUES ('x', 1, 1)")
        let reborn = try only(try file.timestamped()).incarnation
        check(reborn.timestamp > born)
        check(reborn.known, equals: born)
    }

    @Test func `keys that SQLite takes for equal are one row`() throws {
        let file = try CapturedFile(
            "CREATE TABLE item (id PRIMARY KEY NOT NULL, a)", tables: "item")
        try file.run("INSERT INTO item VALUES (1, 1)")
        _ = try file.timestamped()
        try file.run("DELETE FROM item; INSERT INTO item VALUES (1.0, 2)")
        try check(file.captured(), equals: ["+ item[1.0] a=2"])
    }

    @Test func `a row that came and went is a tombstone once`() throws {
        let pass = "INSERT INTO note VALUES ('x', 1, 1); DELETE FROM note WHERE id = 'x'"
        // Without a clock it could be a row of before the installation that was replaced.
        try file.run(pass)
        try check(file.captured(), equals: ["- note[x]"])
        try file.run(pass)
        try check(file.captured(), equals: [])
        try file.run("REPLACE INTO note VALUES ('old', 1, 1); DELETE FROM note")
        try check(file.captured(), equals: ["- note[old]"])
    }

    @Test func `what has no clock is timestamped above the stable point`() throws {
        let stablePoint = Timestamp.time(milliseconds: 6_000_000_000_000)
        try file.write {
            try file.capture.raiseStablePoint(to: stablePoint, in: file.db)
            try file.capture.raiseStablePoint(to: stablePoint - 5, in: file.db)
        }
        try file.run("UPDATE note SET a = 2; INSERT INTO note VALUES ('x', 1, 1)")
        let changes = try file.timestamped()
        check(changes.count, equals: 2)
        check(
            changes.allSatisfy {
                $0.columnGroups.allSatisfy { $0.timestamp.time == stablePoint + 1 }
            })
    }

    @Test func `columns declared together are timestamped together`() throws {
        let file = try CapturedFile("CREATE TABLE t (id BLOB PRIMARY KEY NOT NULL, a, b, c);") {
            $0.add("t", together: [["c", "A"]])
        }
        try check(file.capture.shapes(in: file.db)[0].groups, equals: [["a", "c"], ["b"]])
        try file.run("INSERT INTO t VALUES (x'01', 1, 2, 3)")
        _ = try file.captured()
        try file.run("UPDATE t SET c = 4")
        try check(file.captured(), equals: ["~ t[1] a=1 c=4"])
    }

    @Test func `a row that merges as a whole travels as a whole`() throws {
        let file = try CapturedFile("CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a, b);") {
            $0.add("t", merging: .row)
        }
        try file.run("INSERT INTO t VALUES ('x', 1, 2)")
        _ = try file.captured()
        try file.run("UPDATE t SET b = 3")
        let columnGroup = try only(try file.timestamped()).columnGroups
        check(columnGroup.map(\.columns), equals: [["a", "b"]])
        check(columnGroup.map(\.values), equals: [[.integer(1), .integer(3)]])
    }

    @Test func `all rows can be marked, or removed uncaptured`() throws {
        try file.run("INSERT INTO note VALUES ('x', 1, 1)")
        _ = try file.timestamped()
        try file.write { try file.capture.markAllRows(in: file.db) }
        try check(file.captured(), equals: ["+ note[old] a=1 b=1", "+ note[x] a=1 b=1"])
        try file.run("UPDATE note SET a = 7")
        try file.write { try file.capture.removeAllRows(in: file.db) }
        try check(file.timestamped(), equals: [])
        try check(file.db.int("SELECT count(*) FROM note"), equals: 0)
        for table in ["row", "recent"] {
            try check(file.db.int("SELECT count(*) FROM securestorage_sync_\(table)_1"), equals: 0)
        }
        try file.run("INSERT INTO note VALUES ('y', 1, 1)")
        try check(file.captured(), equals: ["+ note[y] a=1 b=1"])
    }

    @Test func `all rows are removed whatever refers to what`() throws {
        let file = try CapturedFile(
            """
            CREATE TABLE list (id TEXT PRIMARY KEY NOT NULL);
            CREATE TABLE item (id TEXT PRIMARY KEY NOT NULL, list TEXT REFERENCES list);
            INSERT INTO list VALUES ('l'); INSERT INTO item VALUES ('i', 'l');
            """, tables: "list", "item")
        try file.write { try file.capture.removeAllRows(in: file.db) }
        try check(file.db.int("SELECT count(*) FROM item"), equals: 0)
        try check(file.timestamped(), equals: [])
    }

    @Test func `what is written uncaptured is not, and capture continues after it`() throws {
        try file.write {
            try file.capture.withoutCapturing(in: file.db) { try file.run("UPDATE note SET a = 2") }
        }
        try check(file.timestamped(), equals: [])
        #expect(throws: CancellationError.self) {
            try file.write {
                try file.capture.withoutCapturing(in: file.db) { throw CancellationError() }
            }
        }
        try file.run("UPDATE note SET a = 3")
        try check(file.captured(), equals: ["~ note[old] a=3"])
    }
}
