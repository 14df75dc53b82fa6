import SecureStorage
import SecureSync
import TestSupport
import Testing

struct MergeTests {
    @Test func `what one member writes, the other has, and does not send it back`() throws {
        let pair = try MergePair()
        try pair.first.run(
            "INSERT INTO folder VALUES ('f', 'x'); INSERT INTO note VALUES ('n', 'f', 'hi')")
        try check(pair.exchange().1.written, equals: 2)
        try pair.expect("SELECT text FROM note", ["hi"])
        try check(pair.second.captured().isEmpty)
        try pair.second.run("UPDATE note SET text = 'you'")
        _ = try pair.exchange()
        try pair.expect("SELECT text FROM note", ["you"])
        try pair.first.run("DELETE FROM note")
        _ = try pair.exchange()
        try pair.expect("SELECT text FROM note", [])
    }

    @Test func `of two insertions of a key the later one stays, whenever the other was edited`()
        throws
    {
        let pair = try MergePair("CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a, b)", ["t"])
        try pair.first.run("INSERT INTO t VALUES ('k', 1, 1); UPDATE t SET a = 3")
        try pair.first.setMarks(inserted: 1000, updated: 3000)
        try pair.second.run("INSERT INTO t VALUES ('k', 2, 2)")
        try pair.second.setMarks(inserted: 2000, updated: 2000)
        _ = try pair.exchange()
        try pair.expect("SELECT a || b FROM t", ["22"])
        for file in [pair.first, pair.second] {
            let conflicts = try file.capture.conflicts(in: file.db)
            check(conflicts.map(\.lost.reason), equals: [.replaced])
            check(conflicts.map(\.lost.values), equals: [[.integer(3), .integer(1)]])
        }
    }

    @Test func `a column that was written after its row's insertion wins by its own time`() throws {
        let pair = try MergePair("CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a, b)", ["t"])
        try pair.first.run("INSERT INTO t VALUES ('k', 1, 1); UPDATE t SET a = 3")
        try pair.first.setMarks(inserted: 1000, updated: 3000)
        let insertion = try pair.timestamped(pair.first)
        try pair.second.write {
            _ = try pair.second.capture.apply(insertion, in: pair.second.db)
        }
        let clock = try require(pair.second.clock(of: .text("k")))
        try check(clock, equals: require(pair.first.clock(of: .text("k"))))
        check(clock.incarnation.milliseconds, equals: 1000)
        check(clock.greatest.milliseconds, equals: 3000)
        try pair.expect("SELECT a || b FROM t", ["31"])
    }

    @Test func `the sign of a zero reaches the others`() throws {
        let pair = try MergePair("CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a, b)", ["t"])
        try pair.first.run("INSERT INTO t VALUES ('k', 0.0, 1)")
        _ = try pair.exchange()
        for zero in [-0.0, 0.0] {
            try pair.first.db.executeUpdate("UPDATE t SET a = ?", values: [zero])
            _ = try pair.exchange()
            for file in [pair.first, pair.second] {
                let shape = try file.capture.shapes(in: file.db)[0]
                let row = try RowReader(shape, in: file.db).row(of: [.text("k")])
                guard case .real(let value) = try require(row?.columns["a"]) else {
                    Issue.record("it is no floating-point number")
                    continue
                }
                check(value.sign, equals: zero.sign)
            }
        }
        // Only what sets the column.
        try pair.first.run("UPDATE t SET b = 2")
        try check(pair.first.captured(), equals: ["~ t[k] b=2"])
    }

    @Test(arguments: [
        "CREATE INDEX i ON t (json_extract(text, '$.a'))",
        "CREATE INDEX i ON t (id) WHERE json_extract(text, '$.a') > 0",
        "CREATE TRIGGER i AFTER INSERT ON t BEGIN SELECT json_extract(NEW.text, '$.a'); END",
        """
        CREATE TRIGGER i BEFORE UPDATE ON t BEGIN SELECT json_extract(NEW.text, '$.a'); END;
        CREATE INDEX j ON t (json_extract(text, '$.a'))
        """,
    ])
    func `a row for which an index or a trigger of this member fails is held back, and no other`(
        _ migration: String
    ) throws {
        let pair = try MergePair("CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, text)", ["t"])
        try pair.first.run("INSERT INTO t VALUES ('a', '{}'), ('b', '{}'), ('c', '{}')")
        _ = try pair.exchange()
        try pair.second.run(migration)
        try pair.first.run(
            """
            UPDATE t SET text = 'no JSON' WHERE id = 'b';
            INSERT INTO t VALUES ('d', 'none'), ('e', '[]');
            """)
        let (_, report) = try pair.exchange()
        check(report.heldBack >= 1)
        let heldBack = try pair.second.capture.heldBackRows(in: pair.second.db)
        check(heldBack.allSatisfy { $0.standing == .refused })
        let rows = try pair.second.db.strings("SELECT id FROM t").compactMap { $0 }
        let keys = heldBack.compactMap { row in
            if case .text(let id) = row.key[0] { id } else { nil }
        }
        check(Set(rows + keys), equals: ["a", "b", "c", "d", "e"])
        check(rows.contains("e") && !rows.contains("d"))
        // What is right again returns.
        try pair.first.run("UPDATE t SET text = '{}'")
        _ = try pair.exchange()
        try pair.expect("SELECT id FROM t ORDER BY id", ["a", "b", "c", "d", "e"])
        try check(pair.second.capture.heldBackRows(in: pair.second.db).isEmpty)
    }

    @Test func `of two rows with a unique value the later one waits, and returns`() throws {
        let pair = try MergePair()
        try pair.first.run("INSERT INTO folder VALUES ('a', 'x')")
        let first = try pair.timestamped(pair.first)
        try pair.second.write {
            try pair.second.capture.noteTime(
                first[0].incarnation.timestamp.time, in: pair.second.db)
        }
        // Surely later.
        let later = Capture(pair.second.capture.tables, clockOffset: 60_000)
        try pair.second.run("INSERT INTO folder VALUES ('b', 'x')")
        let second = try pair.second.write { try later.timestamp(in: pair.second.db) }
        try pair.first.write { _ = try pair.first.capture.apply(second, in: pair.first.db) }
        try pair.second.write { _ = try pair.second.capture.apply(first, in: pair.second.db) }
        try pair.expect("SELECT id FROM folder", ["a"])
        for file in [pair.first, pair.second] {
            let heldBack = try file.capture.heldBackRows(in: file.db)
            check(heldBack.map(\.key), equals: [[.text("b")]])
            check(heldBack.first?.standing, equals: .duplicate)
            check(heldBack.first?.blocker, equals: [.text("a")])
        }
        try pair.first.run("UPDATE folder SET name = 'y'")
        _ = try pair.exchange()
        try pair.expect("SELECT id FROM folder ORDER BY id", ["a", "b"])
        try check(pair.first.capture.heldBackRows(in: pair.first.db).isEmpty)
    }

    @Test func `a child whose parent was deleted elsewhere is kept, and returns with the parent`()
        throws
    {
        let pair = try MergePair()
        try pair.first.run("INSERT INTO folder VALUES ('f', 'x')")
        _ = try pair.exchange()
        try pair.first.run("DELETE FROM folder")
        try pair.second.run("INSERT INTO note VALUES ('n', 'f', 'kept')")
        _ = try pair.exchange()
        try pair.expect("SELECT id FROM note", [])
        let heldBack = try pair.second.capture.heldBackRows(in: pair.second.db)
        check(heldBack.map(\.standing), equals: [.orphan])
        try pair.first.run("INSERT INTO folder VALUES ('f', 'again')")
        _ = try pair.exchange()
        try pair.expect("SELECT text FROM note", ["kept"])
    }

    @Test func `two rows exchange their unique values in one transaction`() throws {
        let pair = try MergePair()
        try pair.first.run(
            "INSERT INTO folder VALUES ('a', 'x'), ('b', 'y'); INSERT INTO note VALUES ('n', 'a', '')"
        )
        _ = try pair.exchange()
        try pair.first.run(
            "UPDATE folder SET name = NULL; UPDATE folder SET name = iif(id = 'a', 'y', 'x')")
        _ = try pair.exchange()
        try pair.expect("SELECT id || name FROM folder ORDER BY id", ["ay", "bx"])
        // Not taken along by a cascade.
        try pair.expect("SELECT id FROM note", ["n"])
    }

    @Test func `a conflict is listed until it is forgotten`() throws {
        let pair = try MergePair()
        try pair.first.run("INSERT INTO note VALUES ('n', NULL, 'old')")
        _ = try pair.exchange()
        try pair.first.run("UPDATE note SET text = 'one'")
        try pair.second.run("UPDATE note SET text = 'two'")
        _ = try pair.exchange()
        for file in [pair.first, pair.second] {
            let conflicts = try file.capture.conflicts(in: file.db, of: "NOTE")
            check(conflicts.count, equals: 1)
            let conflict = try require(conflicts.first)
            let shown = try require(file.db.strings("SELECT text FROM note").first)
            check(conflict.lost.values, equals: [.text(shown == "one" ? "two" : "one")])
            check(conflict.lost.columns, equals: ["text"])
            try file.capture.forget(conflict, in: file.db)
            try check(file.capture.conflicts(in: file.db).isEmpty)
        }
    }

    @Test func `a column that is unknown here appears with the migration that makes it`() throws {
        let pair = try MergePair("CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a)", ["t"])
        let migration = "ALTER TABLE t ADD COLUMN b DEFAULT 7"
        try pair.first.run("INSERT INTO t VALUES ('old', 1)")
        _ = try pair.exchange()
        try pair.first.run(migration)
        try pair.first.install()
        try pair.first.run(
            "INSERT INTO t VALUES ('new', 1, 2); UPDATE t SET b = 3 WHERE id = 'old'")
        try check(pair.exchange().1.later, equals: 2)
        try pair.second.run(migration)
        try pair.second.restart()
        try pair.expect("SELECT id || b FROM t ORDER BY id", ["new2", "old3"])
    }

    @Test func `a late value of a incarnation that has ended leaves the new one as it is`() throws {
        let pair = try MergePair("CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a)", ["t"])
        let migration = "ALTER TABLE t ADD COLUMN b DEFAULT 7"
        try pair.first.run(migration)
        try pair.first.install()
        try pair.first.run("INSERT INTO t VALUES ('k', 1, 2)")
        try check(pair.exchange().1.later, equals: 1)
        try pair.second.run("DELETE FROM t; INSERT INTO t VALUES ('k', 5)")
        _ = try pair.exchange()
        try pair.second.run(migration)
        try pair.second.restart()
        try pair.expect("SELECT a || b FROM t", ["57"])
        try check(pair.second.clock(of: .text("k"))?.columns.isEmpty, equals: true)
    }

    @Test(arguments: [
        "DELETE FROM t WHERE id = 'k'", "INSERT OR REPLACE INTO t VALUES ('other', 5)",
        "REPLACE INTO t VALUES ('k', 6)",
    ])
    func `a late value of a row that the app has ended since makes no row`(write: String) throws {
        let pair = try MergePair("CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a UNIQUE)", ["t"])
        let migration = "ALTER TABLE t ADD COLUMN b DEFAULT 7"
        try pair.first.run(migration)
        try pair.first.install()
        try pair.first.run("INSERT INTO t VALUES ('k', 5, 2)")
        try check(pair.exchange().1.later, equals: 1)
        // The row's clock is forgotten, so that nothing tells of its incarnation.
        let incarnation = try require(pair.second.clock(of: .text("k"))).incarnation
        for file in [pair.first, pair.second] {
            try file.write {
                try file.capture.forget(
                    through: StablePoint(
                        positions: [incarnation.member: 1], time: incarnation.time >> 16),
                    in: file.db)
            }
        }
        try pair.second.run(write)
        try pair.second.run(migration)
        try pair.second.restart()
        let expected = [
            "DELETE FROM t WHERE id = 'k'": [], "REPLACE INTO t VALUES ('k', 6)": ["k67"],
        ][write, default: ["other57"]]
        try check(pair.second.db.strings("SELECT id || a || b FROM t"), equals: expected)
        _ = try pair.exchange()
        try pair.expect("SELECT id || a || b FROM t", expected)
    }

    @Test func `a table that is unknown here is filled when it is there`() throws {
        let pair = try MergePair()
        try pair.first.run("INSERT INTO note VALUES ('n', NULL, 'x')")
        let changes = try pair.timestamped(pair.first)
        let other = try CapturedFile("CREATE TABLE u (id TEXT PRIMARY KEY NOT NULL)", tables: "u")
        try other.write { _ = try other.capture.apply(changes, in: other.db) }
        try other.run(MergePair.schema)
        var tables = other.capture.tables
        tables.add("note")
        tables.add("folder")
        let capture = Capture(tables)
        try other.write {
            try capture.install(in: other.db)
            _ = try capture.takeUpLater(in: other.db)
        }
        try check(other.db.strings("SELECT text FROM note"), equals: ["x"])
    }

    @Test func `columns that break a CHECK together hold back the row, whole`() throws {
        let pair = try MergePair(
            "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a, b, CHECK (a <= b))", ["t"])
        try pair.first.run("INSERT INTO t VALUES ('k', 1, 5)")
        _ = try pair.exchange()
        try pair.first.run("UPDATE t SET a = 4")
        try pair.second.run("UPDATE t SET b = 2")
        _ = try pair.exchange()
        try pair.expect("SELECT id FROM t", [])
        let heldBack = try pair.first.capture.heldBackRows(in: pair.first.db)
        check(heldBack.map(\.standing), equals: [.refused])
        check(heldBack.first?.values, equals: [.integer(4), .integer(2)])
    }

    @Test func `a column that is a part of the key here waits, and the others of its row do not`()
        throws
    {
        let pair = try MergePair("CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a)", ["t"])
        try pair.first.run("INSERT INTO t VALUES ('k', 1)")
        _ = try pair.exchange()
        try pair.first.run("UPDATE t SET a = 2")
        var change = try require(pair.timestamped(pair.first).first)
        change.columnGroups[0].columns += ["ID"]
        change.columnGroups[0].values += [.text("other")]
        let report = try pair.second.write {
            try pair.second.capture.apply([change], in: pair.second.db)
        }
        check(report.later, equals: 1)
        check(report.written, equals: 1)
        try check(pair.second.db.strings("SELECT id || a FROM t"), equals: ["k2"])
    }

    @Test func `a row of a snapshot that the file has already gets no clock`() throws {
        let file = try CapturedFile(
            "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a); INSERT INTO t VALUES ('k', 1)",
            tables: "t")
        var rows: [RowChange] = []
        try file.capture.eachRow(in: file.db) { rows.append($0) }
        check(rows.map(\.summary), equals: ["~ t[k] a=1"])
        let report = try file.write { try file.capture.apply(rows, in: file.db) }
        check(report.written, equals: 0)
        try check(file.clock(of: .text("k")) == nil)
    }

    @Test func `the oldest conflicts go when there are too many`() throws {
        let pair = try MergePair("CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a)", ["t"])
        func conflict(_ number: Int) throws {
            try pair.first.run("UPDATE t SET a = \(number)")
            try pair.second.run("UPDATE t SET a = -\(number)")
            _ = try pair.exchange()
        }
        try pair.first.run("INSERT INTO t VALUES ('k', 0)")
        _ = try pair.exchange()
        try conflict(1)
        let db = pair.first.db
        try check(pair.first.capture.conflicts(in: db).count, equals: 1)
        // As many more of it as the list may hold.
        try pair.first.run(
            """
            WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
            INSERT INTO securestorage_sync_conflict
                (tbl, key, lost, reason, time, member, winner_time, winner_member)
            SELECT tbl, key, lost, reason, time, member, winner_time, winner_member
            FROM securestorage_sync_conflict, n
            """)
        try conflict(2)
        let found = try pair.first.capture.conflicts(in: db)
        check(found.count, equals: 10_000)
        check(found.first?.id, equals: 3)
        check(
            found.last?.lost.values.map { $0 == .integer(2) || $0 == .integer(-2) }, equals: [true])
    }

    @Test func `a failed transaction leaves nothing`() throws {
        let pair = try MergePair()
        try pair.first.run("INSERT INTO note VALUES ('n', NULL, 'x')")
        let changes = try pair.timestamped(pair.first)
        struct Stop: Error {}
        #expect(throws: Stop.self) {
            try pair.second.write {
                _ = try pair.second.capture.apply(changes, in: pair.second.db)
                throw Stop()
            }
        }
        try check(pair.second.db.strings("SELECT id FROM note"), equals: [])
        try pair.second.write { _ = try pair.second.capture.apply(changes, in: pair.second.db) }
        try check(pair.second.db.strings("SELECT id FROM note"), equals: ["n"])
    }
}
