import Foundation
import SecureStorage
import TestSupport
import Testing

@testable import SecureStorageTool

/// The database side of the browser, on real files.
struct BrowserPagesTests {
    let workspace: Workspace
    private let queue: SecureDatabaseQueue
    private let pages: BrowserPages

    init() throws {
        workspace = try Workspace()
        queue = SecureDatabaseQueue(databaseStore: try workspace.store("a.db"))
        pages = BrowserPages(queue)
    }

    private func run(_ sql: String) throws {
        try queue.inDatabase { try $0.executeStatements(sql) }
    }

    private func answer(_ request: BrowserRequest) -> BrowserAnswer {
        pages.answer(request) { _ in }
    }

    private func page(
        _ table: String, _ place: PagePlace, filter: String? = nil, limit: Int = 7
    ) throws -> RowPage {
        let answer = answer(.page(RowSource(table: table, filter: filter), place, limit: limit))
        guard case .page(let page) = answer else {
            Issue.record("\(answer)")
            throw CancellationError()
        }
        return page
    }

    /// Tables of every kind of key, with 100 rows.
    static let tables: [String] = [
        "CREATE TABLE t (v TEXT); INSERT INTO t SELECT 'v' || x FROM n;",
        "CREATE TABLE t (id INTEGER PRIMARY KEY DESC, v); INSERT INTO t SELECT -x, x FROM n;",
        "CREATE TABLE t (rowid TEXT, oid); INSERT INTO t SELECT 1, x FROM n;",
        "CREATE TABLE t (k TEXT PRIMARY KEY, v) WITHOUT ROWID; INSERT INTO t SELECT 'k' || x, x FROM n;",
        """
        CREATE TABLE t (v, a TEXT COLLATE NOCASE, b INTEGER, PRIMARY KEY (a, b DESC)) WITHOUT ROWID;
        INSERT INTO t SELECT x, char(65 + x % 3 + 32 * (x % 2)), x FROM n;
        """,
        """
        CREATE TABLE t (a, b, v, PRIMARY KEY (a DESC, b DESC)) WITHOUT ROWID;
        INSERT INTO t SELECT x % 4, CASE x % 3 WHEN 0 THEN x WHEN 1 THEN x * 0.5 ELSE 't' || x END, x
        FROM n;
        """,
        // The key has another collation than the column.
        """
        CREATE TABLE t (a TEXT COLLATE NOCASE, v, PRIMARY KEY (a COLLATE BINARY)) WITHOUT ROWID;
        INSERT INTO t SELECT CASE x % 2 WHEN 0 THEN 'K' ELSE 'k' END || (x / 2), x FROM n;
        """,
        // Text that is not UTF-8, blobs with the same bytes.
        """
        CREATE TABLE t (k PRIMARY KEY, v) WITHOUT ROWID;
        INSERT INTO t SELECT CASE x % 2 WHEN 0 THEN CAST(x'ff' || char(x) AS TEXT)
            ELSE CAST(x'ff' || char(x) AS BLOB) END, x FROM n;
        """,
        "CREATE VIEW t AS SELECT x AS v, x % 7 FROM n ORDER BY x % 7;",
        "CREATE VIRTUAL TABLE t USING fts5(v); INSERT INTO t SELECT 'v' || x FROM n;",
    ]

    private func fill(_ sql: String) throws {
        try run(
            """
            CREATE TABLE n (x INTEGER PRIMARY KEY);
            WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 100)
            INSERT INTO n SELECT x FROM c;
            \(sql)
            """)
    }

    @Test(arguments: tables)
    func `pages in both directions have every row once, in the same order`(_ sql: String) throws {
        try fill(sql)
        var forward = try page("t", .first)
        check(forward.isAtStart)
        var rows = forward.rows
        while !forward.isAtEnd {
            forward = try page("t", .after(try require(rows.last).key))
            rows += forward.rows
        }
        var backward = try page("t", .last)
        check(backward.isAtEnd)
        var reversed = backward.rows
        while !backward.isAtStart {
            backward = try page("t", .before(try require(reversed.first).key))
            reversed = backward.rows + reversed
        }
        check(rows.count, equals: 100)
        check(rows, equals: reversed)
        try check(page("t", .from(rows[50].key)).rows, equals: Array(rows[50..<57]))
    }

    @Test(arguments: tables.prefix(6))
    func `a page in the middle of a table is looked up, without sorting`(_ sql: String) throws {
        try fill(sql)
        let key = try require(page("t", .first).rows.last).key
        let plan = try queue.inDatabase { db -> [String] in
            for place in [PagePlace.after(key), .before(key), .from(key)] {
                let query = try RowQuery(db, RowSource(table: "t"))
                let statement = query.statement(for: RowSlice(from: place), limit: 7)
                let rows = try db.executeQuery(
                    "EXPLAIN QUERY PLAN " + statement.sql, values: statement.values)
                defer { rows.close() }
                while try rows.next() {
                    let step = rows.string(forColumnName: "detail") ?? ""
                    if !step.hasPrefix("SEARCH t") { return [step, statement.sql] }
                }
            }
            return []
        }
        check(plan, equals: [])
    }

    @Test func `a condition that no index serves is followed in slices`() throws {
        try run(
            """
            CREATE TABLE t (a INTEGER PRIMARY KEY, b);
            WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 90000)
            INSERT INTO t SELECT x, x % 30000 FROM c;
            """)
        let source = RowSource(table: "t", filter: "b = 7 -- a comment")
        var steps: [String] = []
        let forward = try pages.slowPage(of: source, at: .first, limit: 10) { steps.append($0) }
        check(forward.rows.map(\.cells[0].text), equals: ["7", "30007", "60007"])
        check(forward.isAtStart && forward.isAtEnd && steps.count == 4)
        let backward = try pages.slowPage(of: source, at: .last, limit: 2) { _ in }
        check(backward.rows.map(\.cells[0].text), equals: ["30007", "60007"])
        check(!backward.isAtStart && backward.isAtEnd)
        try check(page("t", .first, filter: "b = 7").rows, equals: forward.rows)
    }

    @Test func `a search finds the next and previous row with the text in any column`() throws {
        try run(
            """
            CREATE TABLE t (a INTEGER PRIMARY KEY, b);
            WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 50000)
            INSERT INTO t SELECT x, NULL FROM c;
            UPDATE t SET b = '100%_Sure' WHERE a IN (30, 45000);
            CREATE VIEW v AS SELECT * FROM t;
            """)
        for table in ["t", "v"] {
            func found(_ text: String, _ isForward: Bool, from key: RowKey?) -> RowPage? {
                let search = TextSearch(text: text, isForward: isForward)
                let answer = answer(
                    .search(RowSource(table: table), search, from: key, limit: 3))
                if case .found(let page, let columns) = answer {
                    check(columns, equals: [1])
                    return page
                }
                check(answer, equals: .notFound)
                return nil
            }
            let first = try require(found("100%_sure", true, from: nil))
            check(first.rows.map(\.cells[0].text), equals: ["30", "31", "32"])
            let key = first.rows[0].key
            let second = try require(found("%_SURE", true, from: key))
            check(second.rows[0].cells[0].text, equals: "45000")
            check(found("sure", true, from: second.rows[0].key) == nil)
            check(found("sure", false, from: second.rows[0].key)?.rows[0], equals: first.rows[0])
            check(found("sure", false, from: key) == nil)
            check(found("10%sure", true, from: nil) == nil)
        }
    }

    @Test func `a search tells which columns of the found row have the text`() throws {
        try run(
            """
            CREATE TABLE t (a TEXT, b TEXT, c, "d d" TEXT, PRIMARY KEY (b, a)) WITHOUT ROWID;
            INSERT INTO t VALUES ('x', '1', NULL, 'y'), ('y', '2', x'79', 'Xy'), ('_', '3', 5, 'y');
            CREATE VIEW v AS SELECT * FROM t;
            """)
        for table in ["t", "v"] {
            for (text, filter, columns) in [
                ("Y", "b > '1'", [0, 3]), ("_", nil, [0]), ("5", nil, [2]),
            ] {
                let answer = answer(
                    .search(
                        RowSource(table: table, filter: filter),
                        TextSearch(text: text, isForward: true), from: nil, limit: 3))
                guard case .found(_, let found) = answer else {
                    Issue.record("\(answer)")
                    continue
                }
                check(found, equals: columns, "\(text) in \(table)")
            }
        }
    }

    @Test func `a search is interrupted by another thread`() throws {
        try run(
            """
            CREATE TABLE t (a);
            WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 200000)
            INSERT INTO t SELECT x FROM c;
            """)
        let search = TextSearch(text: "none", isForward: true)
        let request = BrowserRequest.search(RowSource(table: "t"), search, from: nil, limit: 3)
        let pages = pages
        let answer = pages.answer(request) { _ in pages.interrupt() }
        check(answer, equals: .interrupted)
        pages.begin()
        check(self.answer(.count("t")), equals: .counted("t", .moreThan(100_000)))
    }

    @Test func `giant values are cut in a page, and whole in their own request`() throws {
        try run(
            """
            CREATE TABLE t (a, b, c);
            INSERT INTO t VALUES (zeroblob(3000000), printf('%.*c', 2000000, 'x'), 'a' || char(0) || 'b');
            """)
        let row = try require(page("t", .first).rows.first)
        check(row.cells[0].text.utf8.count < 1000 && row.cells[1].text.utf8.count < 1000)
        check(row.cells[2].text, equals: #"a\x00b"#)
        for (column, length) in [(0, 3_000_000), (1, 2_000_000), (2, 3)] {
            let place = CellPlace(
                table: "t", key: row.key, filter: nil, column: column,
                columnName: ["a", "b", "c"][column])
            guard case .cell(_, let value) = answer(.cell(place)) else {
                Issue.record("no value")
                continue
            }
            check(value.length == length && value.isWhole)
        }
    }

    @Test func `a change is refused if another program has changed the row`() throws {
        try run(
            "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT); INSERT INTO t VALUES (1, 'x'), (2, 'y');"
        )
        let rows = try page("t", .first).rows
        func place(_ row: Int) -> CellPlace {
            CellPlace(table: "t", key: rows[row].key, filter: nil, column: 1, columnName: "b")
        }
        try run("UPDATE t SET b = 'z' WHERE a = 1")
        guard case .failed = answer(.update(place(0), old: .text("x"), new: .text("w"))),
            case .failed = answer(.delete(RowSource(table: "t"), rows[0], columns: ["a", "b"]))
        else {
            Issue.record("a changed row was written")
            return
        }
        check(answer(.update(place(1), old: .text("y"), new: .null)), equals: .updated)
        try check(
            page("t", .first).rows.map { $0.cells.map(\.text) },
            equals: [
                ["1", "z"], ["2", "NULL"],
            ])
        let second = try page("t", .first).rows[1]
        check(
            answer(.delete(RowSource(table: "t"), second, columns: ["a", "b"])), equals: .deleted)
        try check(page("t", .first).rows.count, equals: 1)
    }

    @Test func `a file that another program has locked gives a message`() throws {
        try run("CREATE TABLE t (a); INSERT INTO t VALUES (1);")
        var configuration = SecureDatabaseConfiguration()
        configuration.busyTimeout = .milliseconds(20)
        let store = SecureDatabaseStore(
            fullDatabasePath: workspace.file("a.db"), configuration: configuration)
        try store.open(with: .passphrase("x'\(Workspace.rawKey)'"))
        let other = BrowserPages(SecureDatabaseQueue(databaseStore: store))
        let row = try require(page("t", .first).rows.first)
        let delete = BrowserRequest.delete(RowSource(table: "t"), row, columns: ["a"])
        try queue.write { _ in
            guard case .failed(let message) = other.answer(delete, progress: { _ in }) else {
                Issue.record("a locked file was written")
                return
            }
            check(message.contains("locked"))
        }
        check(other.answer(delete) { _ in }, equals: .deleted)
    }

    @Test func `an error of the condition is a message without the statement`() throws {
        try run("CREATE TABLE t (a);")
        let answer = answer(
            .page(RowSource(table: "t", filter: "nonsense = 'a value'"), .first, limit: 3))
        guard case .failed(let message) = answer else {
            Issue.record("\(answer)")
            return
        }
        check(message.hasPrefix("no such column: nonsense") && !message.contains("SELECT"))
        check(self.answer(.page(RowSource(table: "none"), .first, limit: 3)), equals: .gone("none"))
    }

    @Test func `a damaged page is an answer, and other pages are still read`() throws {
        try run(
            """
            CREATE TABLE t (a);
            WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 1000)
            INSERT INTO t SELECT printf('%.*c', 500, 'x') FROM c;
            """)
        queue.close()
        var bytes = try workspace.read("a.db")
        let middle = bytes.count / 2 / 4096 * 4096
        bytes.replaceSubrange(middle..<middle + 16, with: Data(repeating: 0, count: 16))
        try workspace.write(bytes, to: "a.db")
        let damaged = BrowserPages(SecureDatabaseQueue(databaseStore: try workspace.store("a.db")))
        let source = RowSource(table: "t")
        func read(_ place: PagePlace, _ limit: Int) -> BrowserAnswer {
            damaged.answer(.page(source, place, limit: limit)) { _ in }
        }
        guard case .page(let first) = read(.first, 10), case .failed = read(.first, 1000) else {
            Issue.record("damage was not reported, or too much of it")
            return
        }
        check(first.rows.count, equals: 10)
        if case .failed(let message) = read(.last, 10) { Issue.record("\(message)") }
    }
}
