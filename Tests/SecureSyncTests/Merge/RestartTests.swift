import SecureStorage
import SecureSync
import TestSupport
import Testing

/// What an engine finds when it starts: rows that wait, and writes of the app that have no
/// timestamps yet.
struct RestartTests {
    private static let migration = "ALTER TABLE t ADD COLUMN b DEFAULT 7"

    /// `r` has the name `x`, `p` waits for it, and `q`, which was created last, has another one.
    private func pairWithHeldBackRow() throws -> MergePair {
        let pair = try MergePair()
        try pair.first.run("INSERT INTO folder VALUES ('r', 'x')")
        let first = try pair.timestamped(pair.first)
        try pair.second.run("INSERT INTO folder VALUES ('p', 'x')")
        let second = try pair.second.timestamped(clockOffset: 60_000)
        try pair.first.write { _ = try pair.first.capture.apply(second, in: pair.first.db) }
        try pair.second.write { _ = try pair.second.capture.apply(first, in: pair.second.db) }
        try pair.second.run("INSERT INTO folder VALUES ('q', 'w')")
        let third = try pair.second.timestamped(clockOffset: 120_000)
        try pair.first.write { _ = try pair.first.capture.apply(third, in: pair.first.db) }
        try pair.expect("SELECT id || name FROM folder ORDER BY id", ["qw", "rx"])
        return pair
    }

    @Test func `a row that waits does not push out a row whose last write has no timestamp`() throws
    {
        let pair = try pairWithHeldBackRow()
        try pair.second.run(
            "DELETE FROM folder WHERE id = 'r'; UPDATE folder SET name = 'x' WHERE id = 'q'")
        try pair.second.restart()
        try check(pair.second.db.strings("SELECT id || name FROM folder"), equals: ["qx"])
        _ = try pair.exchange()
        try pair.expect("SELECT id || name FROM folder", ["px"])
        for file in [pair.first, pair.second] {
            let heldBack = try file.capture.heldBackRows(in: file.db)
            check(heldBack.map(\.key), equals: [[.text("q")]])
            check(heldBack.first?.values, equals: [.text("x")])
        }
    }

    @Test func `a row that waits and whose key the app has used since is listed`() throws {
        let pair = try pairWithHeldBackRow()
        try pair.second.run("INSERT INTO folder VALUES ('p', 'mine')")
        try pair.second.restart()
        _ = try pair.exchange()
        try pair.expect("SELECT id || name FROM folder ORDER BY id", ["pmine", "qw", "rx"])
        let conflicts = try pair.second.capture.conflicts(in: pair.second.db)
        check(conflicts.map(\.lost.values), equals: [[.text("x")]])
    }

    @Test
    func
        `what the app has written to a column since its migration stands against a value that waited`()
        throws
    {
        let pair = try MergePair("CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a)", ["t"])
        try pair.first.run("INSERT INTO t VALUES ('k', 1), ('l', 1)")
        _ = try pair.exchange()
        try pair.first.run(Self.migration)
        try pair.first.install()
        try pair.first.run("UPDATE t SET b = 2")
        try check(pair.exchange().1.later, equals: 2)
        try pair.second.run(Self.migration)
        try pair.second.install()
        try pair.second.run("UPDATE t SET b = 9 WHERE id = 'k'; UPDATE t SET a = 5 WHERE id = 'l'")
        try pair.second.restart()
        _ = try pair.exchange()
        try pair.expect("SELECT id || a || b FROM t ORDER BY id", ["k19", "l52"])
        // Nobody there knew of it.
        let conflicts = try pair.first.capture.conflicts(in: pair.first.db)
        check(conflicts.map(\.lost.values), equals: [[.integer(2)]])
    }

    @Test func `a column without triggers stops what an engine does, until it is started again`()
        throws
    {
        let pair = try MergePair("CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a)", ["t"])
        try pair.first.run("INSERT INTO t VALUES ('k', 1)")
        try pair.second.run(Self.migration)
        #expect(throws: SyncError.captureWasOff("t")) { try pair.timestamped(pair.second) }
        try pair.second.restart()
        _ = try pair.exchange()
        try check(pair.second.db.strings("SELECT a || b FROM t"), equals: ["17"])
    }

    @Test func `of two spellings of one column, the later value is taken up`() throws {
        let table = "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a"
        let old = try MergePair(table + ")", ["t"]).first
        let (upper, lower) = (
            try CapturedFile(table + ", B)", member: .numbered(2)) { $0.add("t") },
            try CapturedFile(table + ", b)", member: .numbered(3)) { $0.add("t") }
        )
        try upper.run("INSERT INTO t VALUES ('k', 1, 1)")
        let born = try upper.timestamped()
        try lower.write { _ = try lower.capture.apply(born, in: lower.db) }
        try upper.run("UPDATE t SET b = 3")
        let later = try upper.timestamped(clockOffset: 60_000)
        try lower.run("UPDATE t SET b = 2")
        let earlier = try lower.timestamped()
        for changes in [born, later, earlier] {
            try old.write { _ = try old.capture.apply(changes, in: old.db) }
        }
        try old.run("ALTER TABLE t ADD COLUMN b")
        try old.restart()
        try check(old.db.strings("SELECT b FROM t"), equals: ["3"])
    }

    @Test func `what came for a key of other columns waits, and stops nothing`() throws {
        let wide = try CapturedFile(
            "CREATE TABLE t (id TEXT NOT NULL, place INTEGER NOT NULL, a, PRIMARY KEY (id, place))",
            member: .numbered(2)
        ) { $0.add("t") }
        let file = try CapturedFile("CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a)", tables: "t")
        try wide.run("INSERT INTO t VALUES ('k', 1, 'x')")
        let changes = try wide.timestamped()
        try check(file.write { try file.capture.apply(changes, in: file.db) }.later, equals: 1)
        try file.restart()
        try file.write { try file.capture.forget(through: StablePoint(time: 1), in: file.db) }
        try check(file.db.strings("SELECT id FROM t").isEmpty)
        try check(file.db.strings("SELECT tbl FROM securestorage_sync_later"), equals: ["t"])
    }

    // MARK: - Another group

    @Test func `values that wait go into a new group, as old as their rows`() throws {
        let pair = try MergePair("CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a)", ["t"])
        try pair.first.run(Self.migration)
        try pair.first.install()
        try pair.first.run("INSERT INTO t VALUES ('k', 1, 2), ('gone', 1, 3)")
        try check(pair.exchange().1.later, equals: 2)
        let founder = pair.second
        try founder.run("DELETE FROM t WHERE id = 'gone'")
        try founder.write { try founder.capture.forgetHistory(in: founder.db) }
        var rows: [RowChange] = []
        try founder.capture.eachRow(in: founder.db) { rows.append($0) }
        check(rows.map(\.summary), equals: ["~ t[k] a=1 b=2"])
        check(rows.allSatisfy { $0.greatestTimestamp == .stablePoint })

        let joiner = try CapturedFile(
            "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a);" + Self.migration,
            member: .numbered(3)
        ) { $0.add("t") }
        try joiner.write { _ = try joiner.capture.apply(rows, in: joiner.db) }
        try founder.run(Self.migration)
        try founder.restart()
        for file in [founder, joiner] {
            try check(file.db.strings("SELECT id || a || b FROM t"), equals: ["k12"])
        }
        try joiner.run("UPDATE t SET b = 4")
        let edit = try joiner.timestamped()
        try founder.write { _ = try founder.capture.apply(edit, in: founder.db) }
        try check(founder.db.strings("SELECT b FROM t"), equals: ["4"])
    }

    @Test
    func `of rows with one unique value, those that found a new group show what its joiners do`()
        throws
    {
        let pair = try pairWithHeldBackRow()
        let founder = pair.second
        try founder.write { try founder.capture.forgetHistory(in: founder.db) }
        var rows: [RowChange] = []
        try founder.capture.eachRow(in: founder.db) { rows.append($0) }
        let joiner = try MergePair().first
        try joiner.write { _ = try joiner.capture.apply(rows, in: joiner.db) }
        let shown = try joiner.db.strings("SELECT id || name FROM folder ORDER BY id")
        check(shown, equals: ["px", "qw"])
        try check(founder.db.strings("SELECT id || name FROM folder ORDER BY id"), equals: shown)
    }

    @Test func `rows and values that wait are listed when the file's rows go into another group`()
        throws
    {
        let pair = try pairWithHeldBackRow()
        let file = pair.second
        try pair.first.run("ALTER TABLE folder ADD COLUMN colour")
        try pair.first.install()
        try pair.first.run("UPDATE folder SET colour = 'red' WHERE id = 'q'")
        try check(pair.exchange().1.later, equals: 1)
        try file.write { try file.capture.listAllMerging(in: file.db) }
        let conflicts = try file.capture.conflicts(in: file.db)
        check(conflicts.map(\.key), equals: [[.text("p")], [.text("q")]])
        check(conflicts.map(\.lost.values), equals: [[.text("x")], [.text("red")]])
        try check(file.capture.heldBackRows(in: file.db).isEmpty)
    }
}
