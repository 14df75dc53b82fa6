import Foundation
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// Damage in a full-text index or an R-tree costs nothing outside of it, and inside no more than is
/// damaged.
@Suite(.engine(has: "ENABLE_FTS4")) struct SalvageVirtualTableTests {
    let database: TemporaryDatabase
    let target: TemporaryDatabase

    init() throws {
        database = try TemporaryDatabase()
        target = try TemporaryDatabase(name: "saved.db")
    }

    /// Of each kind of module one; `make campaign NAME=salvage` damages all.
    private static let tables =
        environmentNumber("SECURESTORAGE_SALVAGES", default: 0) > 0
        ? allTables : ["f4_segments", "f5_content", "less_data", "of_config", "r_node"]

    private static let allTables = [
        "f4_content", "f4_segments", "f4_segdir", "f4_docsize", "f4_stat", "f5_content", "f5_data",
        "f5_idx", "f5_docsize", "f5_config", "r_node", "r_parent", "r_rowid", "of_data", "of_idx",
        "of_docsize", "of_config", "less_data", "less_docsize",
    ]

    /// Makes a table and one virtual table of each kind over it; `of` and `less` store no rows.
    private func makeFile() throws {
        let db = try database.openStore { $0.journalMode = .delete }
        defer { db.close() }
        try db.executeStatements(
            """
            CREATE TABLE t (id INTEGER PRIMARY KEY, x TEXT);
            CREATE VIRTUAL TABLE f4 USING fts4(x);
            CREATE VIRTUAL TABLE f5 USING fts5(x);
            CREATE VIRTUAL TABLE IF NOT EXISTS [of] USING fts5(x, content='t', content_rowid='id');
            CREATE VIRTUAL TABLE less USING fts5(x, content='');
            CREATE VIRTUAL TABLE r USING rtree(id, a, b);
            WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600)
            INSERT INTO t SELECT i, 'word' || (i % 90) || ' ' || hex(randomblob(12)) FROM n;
            INSERT INTO f4 SELECT x FROM t; INSERT INTO f5 SELECT x FROM t;
            INSERT INTO [of] (rowid, x) SELECT id, x FROM t; INSERT INTO less (rowid, x) SELECT id, x FROM t;
            INSERT INTO r SELECT id, id, id + 1 FROM t;
            INSERT INTO f4 (f4) VALUES ('optimize');
            """)
    }

    private func salvage(damaging table: String) throws -> SalvageReport {
        let db = try database.openStore { $0.journalMode = .delete }
        let page = try require(
            db.int("SELECT rootpage FROM sqlite_schema WHERE name = '\(table)'"))
        db.close()
        var content = try Data(contentsOf: database.url)
        content[(page - 1) * 4096 + 1000] ^= 1
        try content.write(to: database.url)
        return try SecureDatabaseStore.salvage(
            at: database.url, key: SalvageFile.key, to: target.url)
    }

    @Test(arguments: tables)
    func `a damaged page of a shadow table costs no row of another table`(
        _ table: String
    ) throws {
        try makeFile()
        let report = try salvage(damaging: table)

        check(report.damagedPages.count, equals: 1)
        check(report.tables.first { $0.name == "t" }?.rowsSaved, equals: 600)
        let saved = try target.openStore()
        try check(saved.int("SELECT count(*) FROM t WHERE x LIKE 'word%'"), equals: 600)
        let module = String(table.prefix { $0 != "_" })
        for name in ["f4", "f5", "of"] {
            let found = try saved.int(
                "SELECT count(*) FROM \"\(name)\" WHERE \"\(name)\" MATCH 'word7'")
            // Only the index's own rows are lost, with their page.
            let rows = try saved.int("SELECT count(*) FROM \"\(name)\" WHERE x LIKE 'word7 %'")
            check(found == rows && (rows == 7 || table == "\(name)_content"))
        }
        let made = report.rebuilt.contains(module)
        switch module {
        case "f4", "f5", "of":
            // Rows and settings cannot be recreated.
            let isLost = table.hasSuffix("_content") || table.hasSuffix("_config")
            check(made && report.isWhole == !isLost, "\(report)")
        case "less":
            check(report.problems.contains { $0.contains("less") }, "\(report)")
            check(!report.isWhole)
        default:
            check(report.problems.contains { $0.contains("table r (rtree)") }, "\(report)")
            check(!report.isWhole)
        }
        try check(saved.verifyIntegrity().isSound || ["less", "r"].contains(module))
    }

    @Test(arguments: tables)
    func `a shadow table missing from the schema is recreated, or reported as a problem`(
        _ table: String
    ) throws {
        try makeFile()
        let shell = try SQLCipherShell(
            database.path, key: "x'\(TemporaryDatabase.key.hex)'",
            ".dbconfig defensive off\nPRAGMA writable_schema = ON; "
                + "DELETE FROM sqlite_schema WHERE name = '\(table)';")
        try require(shell.errors == "")
        let report = try SecureDatabaseStore.salvage(
            at: database.url, key: SalvageFile.key, to: target.url)
        let saved = try target.openStore()
        try check(saved.int("SELECT count(*) FROM t WHERE x LIKE 'word%'"), equals: 600)
        let module = String(table.prefix { $0 != "_" })
        let isMade = report.rebuilt.contains(module)
        check(isMade || report.problems.contains { $0.contains(" \(module) ") }, "\(report)")
        check(
            isMade, equals: (["f4", "f5", "of"].contains(module) && !table.hasSuffix("_content")))
        for name in ["f4", "f5", "of"] where name != module || isMade {
            let found = try saved.int(
                "SELECT count(*) FROM \"\(name)\" WHERE \"\(name)\" MATCH 'word7'")
            check(found, equals: 7)
        }
        try check(saved.verifyIntegrity().isSound || !isMade, "\(report)")
        check(!report.isWhole)
    }

    @Test(arguments: [
        #"CREATE VIRTUAL TABLE "Übersicht" USING fts5(x)"#,
        #"CREATE VIRTUAL TABLE "ÄÖ" USING rtree(id, a, b)"#,
        "CREATE VIRTUAL TABLE v USING fts4(x, content=)",
        "CREATE VIRTUAL TABLE v USING fts5(x, c='')",
        "CREATE VIRTUAL TABLE v USING fts5(x, columns=0)",
        "CREATE VIRTUAL TABLE v USING fts5(x, /* none's kept */ content='')",
        "CREATE VIRTUAL TABLE v USING fts5(x, -- (all of it\n columnsize=0)",
        "CREATE VIRTUAL TABLE v USING fts5(x, content='', contentless_delete=1)",
        "CREATE VIRTUAL TABLE v USING fts4(x, matchinfo=fts3)",
        "CREATE VIRTUAL TABLE v USING fts3(x)",
    ])
    func `a sound virtual table is saved whole, however its SQL is written`(_ sql: String) throws {
        let db = try database.openStore { $0.journalMode = .delete }
        try db.executeUpdate(sql)
        db.close()
        let report = try SecureDatabaseStore.salvage(
            at: database.url, key: SalvageFile.key, to: target.url)
        check(report.isWhole && report.rebuilt.isEmpty, "\(report)")
        let tables = "SELECT name FROM sqlite_schema ORDER BY name"
        try check(
            target.openStore().strings(tables), equals: database.openStore().strings(tables))
    }

    @Test func `an index that was already wrong is rebuilt too`() throws {
        try makeFile()
        let db = try database.openStore { $0.journalMode = .delete }
        db.close()
        // By another program, which allows writes to shadow tables.
        let shell = try SQLCipherShell(
            database.path, key: "x'\(TemporaryDatabase.key.hex)'",
            ".dbconfig defensive off\nDELETE FROM f5_data WHERE id > 10; DELETE FROM f4_segdir;")
        try require(shell.errors == "")
        let report = try SecureDatabaseStore.salvage(
            at: database.url, key: SalvageFile.key, to: target.url)
        check(report.rebuilt.sorted(), equals: ["f4", "f5"])
        check(report.isWhole)
        let saved = try target.openStore()
        try check(saved.int("SELECT count(*) FROM f5 WHERE f5 MATCH 'word7'"), equals: 7)
        try check(saved.verifyIntegrity().isSound)
    }
}
