import Foundation
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// Salvage of files that are worse than damaged.
///
/// Nothing of what is left is lost, and nothing else is touched.
struct SalvageLimitsTests {
    let database: TemporaryDatabase
    let target: TemporaryDatabase

    init() throws {
        database = try TemporaryDatabase()
        target = try TemporaryDatabase(name: "saved.db")
    }

    private static let key = DatabaseKey.raw(SecretBytes(copying: TemporaryDatabase.key))
    private static let shellKey = "x'\(TemporaryDatabase.key.hex)'"

    private func salvage() throws -> SalvageReport {
        try SecureDatabaseStore.salvage(at: database.url, key: Self.key, to: target.url)
    }

    private func damage(page: Int) throws {
        var content = try Data(contentsOf: database.url)
        content[(page - 1) * 4096 + 1000] ^= 1
        try content.write(to: database.url)
    }

    @Test func `a statement in place of a table's text is not run`() throws {
        let victim = try TemporaryDatabase(name: "victim.db")
        _ = try SQLCipherShell(
            victim.path, key: nil, "CREATE TABLE t (x); INSERT INTO t VALUES ('precious');")
        let shell = try SQLCipherShell(
            database.path, key: Self.shellKey,
            """
            CREATE TABLE a (x); CREATE TABLE b (x); CREATE TABLE c (x); INSERT INTO c VALUES (7);
            .dbconfig defensive off
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET sql = 'ATTACH ''\(victim.path)'' AS y KEY ''''' WHERE name = 'a';
            UPDATE sqlite_schema SET sql = 'DELETE FROM y.t' WHERE name = 'b';
            """)
        check(shell.errors, equals: "")

        let report = try salvage()

        check(report.problems.contains { $0.contains("schema") })
        check(report.tables.map(\.rowsSaved), equals: [1])
        let left = try SQLCipherShell(victim.path, key: nil, "SELECT x FROM t;")
        check(left.lines, equals: ["precious"])
    }

    @Test(.engine(has: "ENABLE_DBSTAT_VTAB"))
    func `triggers of lost tables do not cost the rest`() throws {
        let db = try database.openStore { $0.journalMode = .delete }
        for number in 1...100 {
            try db.executeUpdate("CREATE TABLE t\(number) (x)")
            try db.executeUpdate("INSERT INTO t\(number) VALUES (\(number))")
        }
        for number in 1...100 {
            try db.executeUpdate(
                "CREATE TRIGGER g\(number) AFTER DELETE ON t\(number) BEGIN SELECT 1; END")
        }
        try db.executeUpdate("CREATE VIEW v AS SELECT x FROM t100")
        let page = try require(
            db.int(
                "SELECT pageno FROM dbstat WHERE name = 'sqlite_schema' AND pagetype = 'leaf' "
                    + "ORDER BY path LIMIT 1"))
        db.close()
        try require(page != 1)
        try damage(page: page)

        let report = try salvage()

        check(!report.tables.isEmpty)
        check(!report.isWhole)
        let saved = try target.openStore()
        try check(saved.int("SELECT x FROM v"), equals: 100)
        try check(
            saved.int("SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'"),
            equals: report.tables.count)
        try check(saved.verifyIntegrity().isSound)
    }

    @Test func `a unique index that cannot be recreated costs no rows`() throws {
        _ = try SQLCipherShell(
            database.path, key: Self.shellKey,
            """
            CREATE TABLE t (x); CREATE INDEX i ON t (x); INSERT INTO t VALUES (1), (1), (2);
            CREATE TABLE u (x); CREATE INDEX j ON u (x); INSERT INTO u VALUES (1);
            .dbconfig defensive off
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET sql = 'CREATE UNIQUE INDEX i ON t (x)' WHERE name = 'i';
            """)
        let report = try salvage()
        check(report.problems.count, equals: 1)
        let saved = try target.openStore()
        try check(saved.int("SELECT count(*) FROM t"), equals: 3)
        try check(
            saved.strings("SELECT name FROM sqlite_schema WHERE type = 'index'"), equals: ["j"])
    }

    @Test func `a free page that once held long rows does not hide later pages`()
        throws
    {
        // Made by another program: with secure_delete a free page would be empty.
        _ = try SQLCipherShell(
            database.path, key: Self.shellKey,
            """
            PRAGMA secure_delete = OFF;
            CREATE TABLE old (x); CREATE TABLE t (x);
            WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
            INSERT INTO old SELECT randomblob(9000) FROM n;
            DELETE FROM old;
            WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
            INSERT INTO t SELECT 'row ' || i || hex(zeroblob(150)) FROM n;
            """)
        try damage(page: 1)
        _ = try salvage()
        let saved = try target.openStore()
        try check(
            saved.int("SELECT count(DISTINCT c0) FROM lost_and_found WHERE c0 LIKE 'row %'"),
            equals: 3000)
    }

    @Test func `a salvage does not replace its own source`() throws {
        let db = try database.openStore { $0.journalMode = .delete }
        try db.executeStatements("CREATE TABLE t (x); INSERT INTO t VALUES (1);")
        db.close()
        try damage(page: 2)
        let before = try Data(contentsOf: database.url)
        check(
            storageError {
                try SecureDatabaseStore.salvage(
                    at: database.url, key: Self.key, to: database.url, replacing: true)
            }?.kind, equals: .openFailed)
        try check(Data(contentsOf: database.url), equals: before)
    }
}
