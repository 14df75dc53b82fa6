import Foundation
import SecureStorage
import SecureSync
import TestSupport
import Testing

struct CaptureSnapshotTests {
    private let schema = """
        CREATE TABLE parent (id TEXT PRIMARY KEY NOT NULL, name, code TEXT UNIQUE);
        CREATE TABLE child (
          id BLOB PRIMARY KEY NOT NULL, parent TEXT REFERENCES parent (id) ON DELETE CASCADE,
          text TEXT);
        """

    private func file(_ member: Int = 1) throws -> CapturedFile {
        try CapturedFile(schema, member: .numbered(UInt8(member))) {
            // The child first: a snapshot has to turn that round.
            $0.add("child")
            $0.add("parent")
        }
    }

    private func rows(_ file: CapturedFile) throws -> [RowChange] {
        var rows: [RowChange] = []
        try file.capture.eachRow(in: file.db) { rows.append($0) }
        return rows
    }

    private func clockCount(_ file: CapturedFile) throws -> Int {
        try file.capture.shapes(in: file.db).flatMap(\.clockTables)
            .reduce(0) { $0 + (try file.db.int(forQuery: "SELECT count(*) FROM \($1)") ?? 0) }
    }

    @Test func `all rows, tombstones and rows held back make the same file`() throws {
        let (first, second) = (try file(), try file(2))
        try first.run(
            """
            INSERT INTO parent VALUES ('a', 1, 'x'), ('b', 2, 'y'), ('c', 3, NULL);
            INSERT INTO child VALUES (x'01', 'a', 'one'), (x'02', 'b', 'two');
            DELETE FROM parent WHERE id = 'c';
            """)
        _ = try first.timestamped()
        try first.run("UPDATE parent SET name = 9 WHERE id = 'b'")
        _ = try first.timestamped()
        // Another member's row with a unique value that is taken.
        let late = RowChange(
            table: "parent", key: [.text("d")],
            incarnation: .init(
                timestamp: Timestamp(time: .init(Int64.max) >> 1, member: .numbered(3)),
                isAlive: true),
            columnGroups: ["name", "code"].map {
                .init(
                    columns: [$0], values: [.text("x")],
                    timestamp: Timestamp(time: .init(Int64.max) >> 1, member: .numbered(3)))
            })
        _ = try first.write { try first.capture.apply([late], in: first.db) }
        try check(first.capture.heldBackRows(in: first.db).count, equals: 1)

        let all = try rows(first)
        check(all.first?.table, equals: "parent")
        _ = try second.write { try second.capture.apply(all, in: second.db) }
        check(Set(try rows(second).map { "\($0)" }), equals: Set(all.map { "\($0)" }))
        try check(
            second.capture.heldBackRows(in: second.db),
            equals: first.capture.heldBackRows(in: first.db)
        )
    }

    @Test func `at a stable point above all clocks nothing of them stays`() throws {
        let file = try file()
        try file.run(
            """
            INSERT INTO parent VALUES ('a', 1, 'x'), ('b', 2, 'y');
            DELETE FROM parent WHERE id = 'b';
            """)
        _ = try file.timestamped()
        try check(clockCount(file), equals: 2)
        let time = try file.capture.lastTime(in: file.db) >> 16
        try file.write {
            try file.capture.forget(through: StablePoint(time: time + 1), in: file.db)
        }
        try check(clockCount(file), equals: 0)
        let row = try require(rows(file).first)
        check(row.incarnation.timestamp, equals: .stablePoint)
        // What is written later is above the stable point, whatever the clock says.
        try file.run("UPDATE parent SET name = 5 WHERE id = 'a'")
        let change = try require(file.timestamped(clockOffset: -1_000_000_000).first)
        check(change.columnGroups.allSatisfy { $0.timestamp.milliseconds > time + 1 })
    }

    @Test func `a stable point keeps the clocks that are above it`() throws {
        let file = try file()
        try file.run("INSERT INTO parent VALUES ('a', 1, 'x')")
        _ = try file.timestamped()
        let stablePoint = StablePoint(time: try file.capture.lastTime(in: file.db) >> 16)
        try file.run("UPDATE parent SET name = 2 WHERE id = 'a'")
        _ = try file.timestamped(clockOffset: 60_000)
        try file.write { try file.capture.forget(through: stablePoint, in: file.db) }
        let row = try require(rows(file).first)
        check(row.incarnation.timestamp, equals: .stablePoint)
        let timestamps = Dictionary(
            uniqueKeysWithValues: row.columnGroups.map { ($0.columns[0], $0.timestamp) })
        check(timestamps["code"], equals: .stablePoint)
        try check(require(timestamps["name"]) > .stablePoint)
    }

    @Test
    func `a column's value that waits goes with its row, also when the stable point has passed`()
        throws
    {
        let new = try CapturedFile(
            schema + "ALTER TABLE parent ADD COLUMN more", member: .numbered(3)
        ) {
            $0.add("child")
            $0.add("parent")
        }
        let old = try file()
        try new.run("INSERT INTO parent (id, more) VALUES ('gone', 1), ('stays', 2)")
        let changes = try new.timestamped()
        try old.write { _ = try old.capture.apply(changes, in: old.db) }
        try old.run("DELETE FROM parent WHERE id = 'gone'")
        _ = try old.timestamped()
        let soon = UInt64(Date().timeIntervalSince1970 * 1000) + 1000
        try old.write { try old.capture.forget(through: StablePoint(time: soon), in: old.db) }
        try check(clockCount(old), equals: 0)

        try old.write {
            try SyncedTables.removeTriggers(in: old.db)
            try old.run("ALTER TABLE parent ADD COLUMN more")
            try old.capture.install(in: old.db)
            _ = try old.capture.takeUpLater(in: old.db)
        }
        let rows = try old.db.fetchAll("SELECT id, more FROM parent") { (id: String, more: Int) in
            "\(id) \(more)"
        }
        check(rows, equals: ["stays 2"])
    }

    @Test
    func `a column that a migration has added keeps its timestamp beside the others of its row`()
        throws
    {
        let file = try CapturedFile("CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a, b)") {
            $0.add("t", merging: .row)
        }
        try file.run("INSERT INTO t VALUES ('k', 1, 2)")
        _ = try file.timestamped()
        try file.run("UPDATE t SET a = 3")
        _ = try file.timestamped(clockOffset: 60_000)
        try file.run("ALTER TABLE t ADD COLUMN c DEFAULT 7")
        try file.restart()
        let row = try require(rows(file).first)
        check(row.columnGroups.map(\.columns), equals: [["c"], ["a", "b"]])
        check(
            row.columnGroups.map { $0.timestamp == row.incarnation.timestamp },
            equals: [true, false])
    }
}
