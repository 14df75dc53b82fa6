import Foundation
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// Pages that an attacker with the key has changed and authenticated again.
///
/// Every call ends soon, with a result or an error of the library, and takes no more memory than
/// the file justifies. `make campaign NAME=fuzz` has the same as a target: `forgeries`.
@Suite(.engine(has: "ENABLE_FTS4")) struct ForgedPageTests {
    let database: TemporaryDatabase
    let target: TemporaryDatabase

    init() throws {
        database = try TemporaryDatabase()
        target = try TemporaryDatabase(name: "saved.db")
    }

    private func makeFile() throws -> Data {
        let db = try database.openStore { $0.journalMode = .delete }
        try db.executeStatements(
            """
            CREATE TABLE t (id INTEGER PRIMARY KEY, x TEXT, y BLOB); CREATE INDEX i ON t (x);
            CREATE TABLE k (x PRIMARY KEY, y) WITHOUT ROWID;
            CREATE VIRTUAL TABLE w USING fts5(x); CREATE VIRTUAL TABLE v USING fts4(x);
            CREATE VIRTUAL TABLE r USING rtree(id, a, b);
            CREATE TABLE gone (x);
            WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
            INSERT INTO t SELECT i, 'row ' || i, randomblob(CASE WHEN i % 30 = 0 THEN 9000 ELSE 90 END) FROM n;
            INSERT INTO k SELECT x, y FROM t WHERE id < 200; INSERT INTO gone SELECT y FROM t;
            INSERT INTO w SELECT x FROM t; INSERT INTO v SELECT x FROM t;
            INSERT INTO r SELECT id, id, id + 1 FROM t; DROP TABLE gone;
            """)
        db.close()
        return try Data(contentsOf: database.url)
    }

    /// Runs `body`, which may throw only the library's errors.
    private func allowing(_ body: () throws -> Void) {
        do {
            try body()
        } catch {
            check(error is SecureStorageError)
        }
    }

    @Test func `pages changed with the key lead to results or errors, and never end the process`()
        throws
    {
        let whole = try makeFile()
        let pages = whole.count / PageForge.pageSize
        let forge = try PageForge(key: TemporaryDatabase.key, of: whole)
        for round in 0..<environmentNumber("SECURESTORAGE_FORGERIES", default: 6) {
            var random = Campaign.random(round)
            var file = whole
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                // The first pages are roots and lead to all others.
                let page =
                    Int.random(
                        in: 1...(Bool.random(using: &random) ? min(20, pages) : pages),
                        using: &random)
                try forge.forge(page, of: &file) { content in
                    for _ in 0..<Int.random(in: 1...4, using: &random) {
                        Self.change(&content, isFirst: page == 1, pages: pages, &random)
                    }
                }
            }
            try file.write(to: database.url)
            let start = ThreadTime.now
            allowing {
                _ = try SecureDatabaseStore.diagnose(at: database.url, key: SalvageFile.key)
            }
            allowing {
                let db = try database.openStore { $0.journalMode = .delete }
                defer { db.close() }
                db.withDeadline(.seconds(2)) {
                    for table in ["t", "k", "w", "v", "r", "sqlite_schema"] {
                        allowing { _ = try db.strings("SELECT count(*), max(x) FROM \(table)") }
                        allowing { _ = try db.strings("SELECT * FROM \(table) ORDER BY 1 DESC") }
                    }
                    allowing { _ = try db.strings("SELECT x FROM w WHERE w MATCH 'row'") }
                    allowing { _ = try db.verifyIntegrity() }
                }
            }
            allowing {
                let report = try SecureDatabaseStore.salvage(
                    at: database.url, key: SalvageFile.key, to: target.url, replacing: true)
                let saved = try target.openStore { $0.journalMode = .delete }
                defer { saved.close() }
                for table in report.tables where ["t", "k"].contains(table.name) {
                    try check(
                        saved.int("SELECT count(*) FROM \(table.name)"), equals: table.rowsSaved)
                }
            }
            check(ThreadTime.now - start < .seconds(60), "seed \(Campaign.seed), round \(round)")
        }
    }

    /// Mostly overwrites a number of the layout, sometimes any byte anywhere.
    private static func change(
        _ page: inout [UInt8], isFirst: Bool, pages: Int, _ random: inout SplitMix64
    ) {
        let numbers: [UInt32] = [
            0, 1, 2, .max, 0x7fff_ffff, UInt32(pages), UInt32(pages + 1),
            .random(in: 1...UInt32(pages), using: &random),
            .random(in: 0 ... .max, using: &random),
        ]
        let number = numbers.randomElement(using: &random) ?? 0
        let start = isFirst ? 100 : 0
        let offset =
            switch Int.random(in: 0..<4, using: &random) {
            case 0 where isFirst:
                [16, 20, 24, 28, 32, 36, 52, 56, 64, 92].randomElement(using: &random) ?? 28
            case 0, 1: start + Int.random(in: 0..<24, using: &random)
            case 2: Int.random(in: (isFirst ? 16 : 0)..<(page.count - 4), using: &random)
            // A link to an overflow page precedes another cell or is at the end.
            default: page.count - 4
            }
        switch Int.random(in: 0..<3, using: &random) {
        case 0: page[offset] = UInt8.random(in: 0...255, using: &random)
        case 1: page[offset] = UInt8(truncatingIfNeeded: number)
        default:
            for index in 0..<4 {
                page[offset + index] = UInt8(truncatingIfNeeded: number >> UInt32(24 - 8 * index))
            }
        }
    }

    @Test(.engine(has: "ENABLE_DBSTAT_VTAB"))
    func `overflow chains that lead round in a circle end soon`()
        throws
    {
        let whole = try makeFile()
        let db = try database.openStore { $0.journalMode = .delete }
        let overflow = try db.strings(
            "SELECT pageno FROM dbstat WHERE name = 't' AND pagetype = 'overflow' ORDER BY pageno"
        ).compactMap { $0.flatMap { Int($0) } }
        let rows = try db.int("SELECT count(*) FROM t WHERE length(y) < 1000")
        db.close()
        let forge = try PageForge(key: TemporaryDatabase.key, of: whole)
        var file = whole
        let first = UInt8(try require(overflow.first))
        // Leads all chains into one circle.
        for page in overflow {
            try forge.forge(page, of: &file) { $0.replaceSubrange(0..<4, with: [0, 0, 0, first]) }
        }
        try file.write(to: database.url)
        let report = try SecureDatabaseStore.salvage(
            at: database.url, key: SalvageFile.key, to: target.url)
        check(report.damagedPages.isEmpty)
        check(!report.isWhole)
        // Which rows these pages belong to can no longer be determined.
        check(report.tables.first { $0.name == "t" }?.rowsSaved, equals: rows)
        check(report.tables.first { $0.name == "t" }?.rowsLost, equals: 10)
        check(report.description.hasPrefix("no page is damaged, but not all rows could be saved"))
        check(report.problems.contains { $0.contains("keep the old file") })
    }
}
