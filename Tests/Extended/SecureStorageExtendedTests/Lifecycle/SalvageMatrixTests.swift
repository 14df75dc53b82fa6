import Foundation
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// Salvage across page sizes, HMACs, headers, writing programs and contents.
///
/// Runs a few of the combinations by default and all with `SECURESTORAGE_SALVAGE_FILES=100000`,
/// each with as many damages as `SECURESTORAGE_SALVAGE_DAMAGES` says.
/// `SECURESTORAGE_SALVAGE_PART=2/8` runs the second eighth of them, so that several runs cover all.
/// `SECURESTORAGE_PYTHONS` names Pythons with sqlcipher3, separated by colons, which write files
/// too.
@Suite(.engine(has: "ENABLE_FTS4"), .engine(has: "ENABLE_DBSTAT_VTAB"))
struct SalvageMatrixTests {
    private static var files: [SalvageFile] {
        let pythons = ProcessInfo.processInfo.environment["SECURESTORAGE_PYTHONS"] ?? ""
        let makers: [SalvageFile.Maker] =
            [.library, .shell(processSettings: false), .shell(processSettings: true)]
            + pythons.split(separator: ":").map { .python(String($0)) }
        var files: [SalvageFile] = []
        for pageSize in [1024, 2048, 4096, 8192, 16384, 32768, 65536] {
            for hmac in CipherConfiguration.HMACAlgorithm.allCases {
                for header in [0, 32] {
                    for maker in makers {
                        for shape in SalvageFile.Shape.allCases {
                            files.append(
                                SalvageFile(
                                    pageSize: pageSize, hmac: hmac, header: header, maker: maker,
                                    shape: shape))
                        }
                    }
                }
            }
        }
        let count = environmentNumber("SECURESTORAGE_SALVAGE_FILES", default: 0)
        var random = Campaign.random()
        guard count == 0 else {
            return Array(Campaign.part(of: files).shuffled(using: &random).prefix(count))
        }
        // One of each shape, with every HMAC and every maker that needs nothing else.
        return SalvageFile.Shape.allCases.enumerated().map { index, shape in
            SalvageFile(
                pageSize: [1024, 4096][index % 2], hmac: [.sha256, .sha1, .sha512][index % 3],
                header: index % 4 == 1 ? 32 : 0, maker: makers[index % 3], shape: shape)
        }
    }

    @Test(arguments: files)
    func `salvage of an undamaged file equals its export, and of a damaged one has no wrong row`(
        _ file: SalvageFile
    ) throws {
        let database = try TemporaryDatabase()
        let saved = try TemporaryDatabase(name: "saved.db")
        let exported = try TemporaryDatabase(name: "exported.db")
        try file.make(at: database)
        let db = try file.open(database)
        try db.export(to: exported.url, key: SalvageFile.key, cipher: file.cipher)
        let original = try Original(of: db)
        db.close()

        let report = try salvage(file, database, to: saved)

        check(report.isWhole && report.rebuilt.isEmpty, "\(report)")
        check(report.damagedPages.isEmpty)
        let (copy, export) = (try file.open(saved), try file.open(exported))
        try check(SalvageFile.content(of: copy), equals: SalvageFile.content(of: export))
        copy.close()
        export.close()

        let whole = try Data(contentsOf: database.url)
        for round in 0..<environmentNumber("SECURESTORAGE_SALVAGE_DAMAGES", default: 3) {
            var random = Campaign.random(round)
            var damaged = whole
            let pages = whole.count / file.pageSize
            let hit = Set(
                (0..<Int.random(in: 1...4, using: &random)).map { _ in
                    Int.random(in: 1...pages, using: &random)
                })
            for page in hit {
                // Spares the salt, without which nothing can be read.
                let offset = Int.random(in: 100..<file.pageSize, using: &random)
                damaged[(page - 1) * file.pageSize + offset] ^= UInt8.random(
                    in: 1...255, using: &random)
            }
            try damaged.write(to: database.url)
            try verify(file, database, saved, original, hit)
        }
    }

    private func salvage(
        _ file: SalvageFile, _ database: TemporaryDatabase, to saved: TemporaryDatabase
    ) throws -> SalvageReport {
        try SecureDatabaseStore.salvage(
            at: database.url, key: SalvageFile.key, cipher: file.cipher, to: saved.url,
            replacing: true)
    }

    private func verify(
        _ file: SalvageFile, _ database: TemporaryDatabase, _ saved: TemporaryDatabase,
        _ original: Original, _ hit: Set<Int>
    ) throws {
        let report = try salvage(file, database, to: saved)
        let context = Comment(
            rawValue:
                "\(file.testDescription), seed \(Campaign.seed), pages \(hit.sorted()): \(report)")
        // A page's trailer may contain bytes that nothing is computed over.
        check(Set(report.damagedPages).isSubset(of: hit), context)
        let db = try file.open(saved)
        defer { db.close() }
        let problem = report.problems.contains { $0.contains("cannot be recreated") }
        try check(problem || db.verifyIntegrity().isSound, context)

        var found: Set<String> = []
        for table in report.tables {
            let count = try db.int("SELECT count(*) FROM \"\(table.name)\"")
            let isIndex = table.name.hasPrefix("words_") || table.name.hasPrefix("of t_")
            let isNode = table.name.hasPrefix("places_")
            check(count == table.rowsSaved || isIndex || isNode, context)
            guard !isIndex, !isNode else { continue }
            let rows = try SalvageFile.rows(of: table.name, in: db)
            check(original.rows.isSuperset(of: rows), context)
            if let tags = original.tags[table.name] {
                let saved = try db.strings("SELECT tag FROM \"\(table.name)\"").compactMap { $0 }
                check(tags.isSuperset(of: saved), context)
                found.formUnion(saved)
            }
        }
        let lost = try db.strings(
            "SELECT name FROM sqlite_schema WHERE name = 'lost_and_found'"
        ).count
        let unassigned = lost == 0 ? 0 : try db.int("SELECT count(*) FROM lost_and_found")
        check(unassigned, equals: report.unassignedRows, context)
        if lost > 0, try db.int("SELECT count(*) FROM pragma_table_info('lost_and_found')") ?? 0 > 4
        {
            let rows = try db.strings(
                "SELECT c0 || ' ' || hex(c1) FROM lost_and_found WHERE typeof(c0) = 'text' AND typeof(c1) = 'blob'"
            ).compactMap { $0 }.filter { $0.hasPrefix("t:") || $0.hasPrefix("kt:") }
            check(original.pairs.isSuperset(of: rows), context)
            found.formUnion(rows.compactMap { $0.split(separator: " ").first.map(String.init) })
        }
        // A tree page costs at most its own rows, a page of a long record only that record.
        let missing = original.tags.values.reduce(Set()) { $0.union($1) }.subtracting(found)
        let bound = hit.reduce(0) { $0 + (original.rowsOfPage[$1] ?? 0) }
        check(missing.count <= bound, context)
    }

    /// The content of a file before it is damaged.
    private struct Original {
        var rows: Set<String> = []
        var tags: [String: Set<String>] = [:]
        /// Tags with their values.
        var pairs: Set<String> = []
        /// The maximum number of rows that need each page.
        var rowsOfPage: [Int: Int] = [:]

        init(of db: SecureDatabaseStore) throws {
            let tables = try db.strings(
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0")
            for table in tables.compactMap({ $0 }) {
                rows.formUnion(try SalvageFile.rows(of: table, in: db))
            }
            for table in ["t", "k"] where tables.contains(table) {
                tags[table] = Set(try db.strings("SELECT tag FROM \(table)").compactMap { $0 })
                pairs.formUnion(
                    try db.strings("SELECT tag || ' ' || hex(x) FROM \(table)").compactMap { $0 })
                let pages = try db.executeQuery(
                    "SELECT pageno, CASE pagetype WHEN 'overflow' THEN 1 ELSE ncell END FROM dbstat "
                        + "WHERE name = '\(table)' AND NOT (pagetype = 'internal' AND name = 't')")
                while try pages.next() {
                    rowsOfPage[pages.int(forColumnIndex: 0) ?? 0] = pages.int(forColumnIndex: 1)
                }
            }
        }
    }
}
