import Foundation
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// Files with a hole of a terabyte cost no more than what is stored.
///
/// No list of their pages is built, and no zeros are read.
struct SparseFileTests {
    let database: TemporaryDatabase
    let target: TemporaryDatabase

    init() throws {
        database = try TemporaryDatabase()
        target = try TemporaryDatabase(name: "saved.db")
    }

    private static let terabyte = 1 << 40

    private func extend(_ path: String, to size: Int = terabyte) throws {
        try require(truncate(path, off_t(size)) == 0)
    }

    /// Runs `body` and checks that it is quick.
    ///
    /// It takes a tenth of a second on an idle machine; a list of the pages took a hundred times as
    /// long.
    private func isQuick<R>(_ body: () throws -> R) rethrows -> R {
        let start = ThreadTime.now
        defer { check(ThreadTime.now - start < .seconds(5)) }
        return try body()
    }

    @Test(arguments: [false, true])
    func `a terabyte of nothing, alone or after some noise, is quickly refused`(_ hasNoise: Bool)
        throws
    {
        let noise = Data((0..<40960).map { _ in UInt8.random(in: 0...255) })
        try (hasNoise ? noise : Data()).write(to: database.url)
        try extend(database.path)
        let kind: SecureStorageError.Kind = hasNoise ? .authenticationFailed : .openFailed
        for url in [database.url] {
            isQuick {
                check(storageError { _ = try database.openStore() }?.kind, equals: kind)
            }
            let finding = try isQuick {
                try SecureDatabaseStore.diagnose(at: url, key: SalvageFile.key).finding
            }
            check(finding, equals: (hasNoise ? .wrongKey : .notADatabase))
            isQuick {
                check(
                    storageError {
                        try SecureDatabaseStore.salvage(
                            at: url, key: SalvageFile.key, to: target.url)
                    }?.kind, equals: kind)
            }
        }
    }

    private func makeFile() throws -> Int {
        let db = try database.openStore { $0.journalMode = .delete }
        try db.executeStatements(
            """
            CREATE TABLE t (x);
            WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
            INSERT INTO t SELECT 'row ' || i || hex(zeroblob(50)) FROM n;
            """)
        db.close()
        return try Data(contentsOf: database.url).count / 4096
    }

    @Test func `a database followed by a terabyte of nothing keeps its rows`() throws {
        let pages = try makeFile()
        try extend(database.path)
        let finding = try isQuick {
            try SecureDatabaseStore.diagnose(at: database.url, key: SalvageFile.key).finding
        }
        check(finding, equals: .corrupt(pages: [pages + 1]))
        let db = try database.openStore { $0.journalMode = .delete }
        try check(!isQuick { try db.verifyIntegrity() }.isSound)
        db.close()
        let report = try isQuick {
            try SecureDatabaseStore.salvage(at: database.url, key: SalvageFile.key, to: target.url)
        }
        check(report.tables.map(\.rowsSaved), equals: [500])
    }

    @Test
    func `a header that claims the maximum number of pages is reported with a limited list`()
        throws
    {
        _ = try makeFile()
        var file = try Data(contentsOf: database.url)
        try PageForge(key: TemporaryDatabase.key, of: file).forge(1, of: &file) {
            $0.replaceSubrange(28..<32, with: [0xff, 0xff, 0xff, 0xfe])
        }
        try file.write(to: database.url)
        try extend(database.path)
        let diagnosis = try isQuick {
            try SecureDatabaseStore.diagnose(at: database.url, key: SalvageFile.key)
        }
        guard case .corrupt(let pages) = diagnosis.finding else {
            Issue.record("\(diagnosis)")
            return
        }
        check(pages.count, equals: 100_000)
        let report = try isQuick {
            try SecureDatabaseStore.salvage(at: database.url, key: SalvageFile.key, to: target.url)
        }
        check(report.tables.map(\.rowsSaved), equals: [500])
    }

    @Test func `a log of a terabyte of nothing is ignored`() throws {
        _ = try makeFile()
        try Data(count: 32).write(to: URL(fileURLWithPath: database.path + "-wal"))
        try extend(database.path + "-wal")
        let finding = try isQuick {
            try SecureDatabaseStore.diagnose(at: database.url, key: SalvageFile.key).finding
        }
        check(finding, equals: .ok)
    }
}
