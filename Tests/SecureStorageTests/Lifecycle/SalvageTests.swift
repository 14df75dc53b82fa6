import Foundation
import SecureStorage
import Testing
import TestSupport

/// Saving what can still be read from a damaged file.
struct SalvageTests {
    let database: TemporaryDatabase
    let target: TemporaryDatabase

    init() throws {
        database = try TemporaryDatabase()
        target = try TemporaryDatabase(name: "saved.db")
    }

    private static let key = DatabaseKey.raw(SecretBytes(copying: TemporaryDatabase.key))

    private func salvage() throws -> SalvageReport {
        try SecureDatabaseStore.salvage(
            at: database.url, key: Self.key, to: target.url, replacing: true)
    }

    private func patch(page: Int) throws {
        let file = try FileHandle(forUpdating: database.url)
        let offset = UInt64((page - 1) * 4096 + 1000)
        try file.seek(toOffset: offset)
        let byte = try require(file.read(upToCount: 1)?.first)
        try file.seek(toOffset: offset)
        try file.write(contentsOf: Data([byte ^ 0x10]))
        try file.close()
    }

    private static let rowCount = 1000

    /// Makes about 150 pages with two tables, one without row IDs, and returns the rows of each.
    private func makeFile() throws -> (rows: [String?], keyed: [String?]) {
        let db = try database.openStore { $0.journalMode = .delete }
        try db.executeStatements(
            """
            CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT NOT NULL, amount REAL, x BLOB);
            CREATE INDEX i ON t (name);
            CREATE TABLE keyed (v, k TEXT, l INT, PRIMARY KEY (l, k)) WITHOUT ROWID;
            CREATE VIEW seen AS SELECT name FROM t;
            CREATE TRIGGER noted AFTER DELETE ON t BEGIN SELECT 1; END;
            WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(Self.rowCount))
            INSERT INTO t SELECT i * 3, 'name ' || i, i / 7.0, randomblob(300) FROM n;
            INSERT INTO t VALUES (100000, 'long', 1, randomblob(20000));
            INSERT INTO keyed SELECT x, name, id % 10 FROM t WHERE id < 1000;
            """)
        defer { db.close() }
        return (
            try db.strings("SELECT id || name || quote(amount) || hex(x) FROM t ORDER BY id"),
            try db.strings("SELECT l || k || hex(v) FROM keyed ORDER BY l, k")
        )
    }

    private func saved(_ table: String) throws -> [String?] {
        let db = try target.openStore { $0.journalMode = .delete }
        defer { db.close() }
        try check(db.verifyIntegrity().isSound)
        return try db.strings(
            table == "t"
                ? "SELECT id || name || quote(amount) || hex(x) FROM t ORDER BY id"
                : "SELECT l || k || hex(v) FROM keyed ORDER BY l, k")
    }

    @Test func `everything in a sound file is saved`() throws {
        let rows = try makeFile()
        let before = try DirectorySnapshot(of: database.directory)
        let report = try salvage()
        check(report.isWhole, "\(report)")
        check(report.tables.map(\.name), equals: ["t", "keyed"])
        check(report.tables.map(\.rowsSaved), equals: [Self.rowCount + 1, rows.keyed.count])
        try check(saved("t"), equals: rows.rows)
        try check(saved("keyed"), equals: rows.keyed)
        let db = try target.openStore()
        try check(
            db.strings("SELECT name FROM sqlite_schema ORDER BY 1"),
            equals: ["i", "keyed", "noted", "seen", "t"])
        try check(db.int("SELECT count(*) FROM seen"), equals: Self.rowCount + 1)
        try check(DirectorySnapshot(of: database.directory), equals: before)
    }

    /// Damages a few pages, one at a time; `make campaign NAME=salvage` damages more.
    @Test(.engine(has: "ENABLE_DBSTAT_VTAB"))
    func `every row on undamaged pages is saved`() throws {
        let rows = try makeFile()
        let whole = try Data(contentsOf: database.url)
        let pages = whole.count / 4096
        let places = try rowPlaces()
        check(pages > 100)
        let count = environmentNumber("SECURESTORAGE_SALVAGES", default: 7)
        for round in 0..<count {
            // The first pages are the interesting ones: roots and inner pages.
            let page = round < 5 ? round + 2 : Int.random(in: 2...pages)
            try whole.write(to: database.url)
            try patch(page: page)

            let report = try salvage()

            check(report.damagedPages, equals: [page])
            let lost = places.filter { $0.value.contains(page) }.keys
            let expected = rows.rows.enumerated().filter { !lost.contains($0.offset) }
                .map(\.element)
            let found = Set(try saved("t"))
            let missing = expected.filter { !found.contains($0) }.count
            check(
                missing <= report.unassignedRows && report.unassignedRows == 0,
                "page \(page): \(missing) rows are missing; \(report)")
            check(found.isSubset(of: Set(rows.rows)))
            let keyed = Set(try saved("keyed"))
            check(keyed.isSubset(of: Set(rows.keyed)))
            check(keyed.count > rows.keyed.count - 20)
        }
    }

    /// Returns the pages that hold each row, by the row's position in the table.
    private func rowPlaces() throws -> [Int: Set<Int>] {
        // The engine's own bookkeeping, dbstat, gives the leaf of each row.
        let db = try database.openStore { $0.journalMode = .delete }
        defer { db.close() }
        var places: [Int: Set<Int>] = [:]
        let pages = try db.executeQuery(
            "SELECT pageno, path, ncell, pagetype FROM dbstat WHERE name = 't' ORDER BY path")
        var next = 0
        while try pages.next() {
            let page = pages.int(forColumnIndex: 0) ?? 0
            switch pages.string(forColumnIndex: 3) {
            case "leaf":
                for row in next..<(next + (pages.int(forColumnIndex: 2) ?? 0)) {
                    places[row, default: []].insert(page)
                }
                next += pages.int(forColumnIndex: 2) ?? 0
            // Belongs to the one long row.
            case "overflow": places[Self.rowCount, default: []].insert(page)
            default: break
            }
        }
        return places
    }

    @Test func `a damaged first page costs the schema, but no row`() throws {
        let db = try database.openStore { $0.journalMode = .delete }
        try db.executeStatements(
            """
            CREATE TABLE t (x);
            WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
            INSERT INTO t SELECT 'row ' || i FROM n;
            """)
        db.close()
        try patch(page: 1)

        let report = try salvage()

        check(report.damagedPages, equals: [1])
        check(report.unassignedRows, equals: 500)
        check(report.problems.contains { $0.contains("schema") })
        let saved = try target.openStore()
        try check(saved.int("SELECT count(DISTINCT c0) FROM lost_and_found"), equals: 500)
        try check(
            saved.strings("SELECT c0 FROM lost_and_found WHERE id = 500"), equals: ["row 500"])
    }

    @Test func `all kinds of values, and rows older than a column, are saved`() throws {
        let db = try database.openStore { $0.journalMode = .delete }
        try db.executeStatements(
            """
            CREATE TABLE v (i INTEGER, r REAL, t TEXT, b BLOB, n);
            INSERT INTO v VALUES (0, 0.0, '', x'', NULL), (1, 1.5, 'é𝄞', x'00', NULL),
                (-1, -1e300, char(97, 0, 98), zeroblob(9000), 'n'), (127, 1, 'a', 'text', 2.5),
                (128, 1, 1, 1, 1), (-32768, 1, 1, 1, 1), (8388607, 1, 1, 1, 1),
                (-2147483648, 1, 1, 1, 1), (140737488355327, 1, 1, 1, 1),
                (-9223372036854775808, 1e999, 1, 1, 1);
            ALTER TABLE v ADD COLUMN added TEXT DEFAULT 'as a rule';
            INSERT INTO v VALUES (9, 9, 9, 9, 9, 'said');
            CREATE TABLE counted (id INTEGER PRIMARY KEY AUTOINCREMENT, x);
            INSERT INTO counted (x) VALUES (1), (2); DELETE FROM counted WHERE id = 2;
            CREATE TABLE computed (a INT, b INT AS (a * 2) STORED, c INT AS (a * 3), d);
            INSERT INTO computed (a, d) VALUES (7, 'd');
            CREATE VIRTUAL TABLE words USING fts5(body);
            INSERT INTO words VALUES ('buy milk'), ('write a letter');
            PRAGMA user_version = -3; PRAGMA application_id = 2147483647;
            """)
        let questions = [
            "SELECT quote(i) || quote(r) || hex(t) || typeof(t) || hex(b) || typeof(b) || quote(n) "
                + "|| added FROM v ORDER BY rowid",
            "SELECT seq FROM sqlite_sequence", "SELECT a || b || c || d FROM computed",
            "SELECT body FROM words WHERE words MATCH 'letter'", "PRAGMA user_version",
            "PRAGMA application_id",
        ]
        let expected = try questions.map { try db.strings($0) }
        db.close()

        let report = try salvage()

        check(report.isWhole, "\(report)")
        let saved = try target.openStore()
        try check(questions.map { try saved.strings($0) }, equals: expected)
    }

    @Test func `the log's content is saved, and a new key can be given`() throws {
        let db = try database.openStore()
        try db.executeStatements("CREATE TABLE t (x); INSERT INTO t VALUES ('in the log')")
        let new = SecretBytes(copying: Data(repeating: 7, count: 32))
        let report = try SecureDatabaseStore.salvage(
            at: database.url, key: Self.key, to: target.url, newKey: .raw(new))
        db.close()
        check(report.isWhole)
        let saved = target.store()
        try saved.open(with: .raw(new))
        try check(saved.strings("SELECT x FROM t"), equals: ["in the log"])
    }

    @Test func `deleted rows do not reappear`() throws {
        _ = try makeFile()
        let db = try database.openStore { $0.journalMode = .delete }
        try db.executeUpdate("DELETE FROM t WHERE id BETWEEN 400 AND 2000")
        let count = try db.int("SELECT count(*) FROM t")
        db.close()
        let report = try salvage()
        check(report.tables.first?.rowsSaved, equals: count)
        check(report.unassignedRows, equals: 0)
    }

    @Test func `a wrong key and an existing target are errors`() throws {
        _ = try makeFile()
        check(
            storageError {
                try SecureDatabaseStore.salvage(
                    at: database.url, key: .passphrase("wrong"), to: target.url)
            }?.kind, equals: .authenticationFailed)
        try Data("precious".utf8).write(to: target.url)
        check(
            storageError {
                try SecureDatabaseStore.salvage(at: database.url, key: Self.key, to: target.url)
            }?.code, equals: 14)
        #expect(throws: CancellationError.self) {
            try SecureDatabaseStore.salvage(
                at: database.url, key: Self.key, to: target.url, replacing: true
            ) { _ in throw CancellationError() }
        }
        try check(Data(contentsOf: target.url), equals: Data("precious".utf8))
    }
}
