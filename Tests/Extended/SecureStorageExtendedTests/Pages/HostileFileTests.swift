import Foundation
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// Files and sidecar files that were forged without the key cost neither time nor memory.
struct HostileFileTests {
    let database: TemporaryDatabase

    init() throws {
        database = try TemporaryDatabase()
    }

    private static let key = DatabaseKey.raw(SecretBytes(copying: TemporaryDatabase.key))

    private func makeFile(pageSize: Int = 4096) throws {
        let db = try database.openStore {
            $0.journalMode = .delete
            $0.cipher.pageSize = pageSize
        }
        try db.executeUpdate("CREATE TABLE t (x)")
        for _ in 0..<3 {
            try db.executeUpdate("INSERT INTO t VALUES (randomblob(?))", values: [pageSize * 5 / 2])
        }
        db.close()
    }

    private func damage(page: Int) throws {
        var content = try Data(contentsOf: database.url)
        content[(page - 1) * 4096 + 100] ^= 1
        try content.write(to: database.url)
    }

    /// Writes a journal without records that claims more pages than fit anywhere.
    private func forgeJournal() throws {
        let pageCount: [UInt8] = [0xff, 0xff, 0xff, 0xff]
        let journal: [UInt8] =
            [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7, 0, 0, 0, 0, 0, 0, 0, 0] + pageCount
            + [0, 0, 2, 0, 0, 0, 0x10, 0]
        try Data(journal + [UInt8](repeating: 0, count: 512 - journal.count))
            .write(to: URL(fileURLWithPath: database.path + "-journal"))
    }

    private func isQuick(_ body: () throws -> Void) rethrows {
        let start = ThreadTime.now
        try body()
        check(ThreadTime.now - start < .seconds(10))
    }

    @Test func `a forged page count in a journal is not trusted`() throws {
        try makeFile()
        try forgeJournal()
        try isQuick {
            let finding = try SecureDatabaseStore.diagnose(at: database.url, key: Self.key).finding
            guard case .damagedJournal = finding else {
                Issue.record("\(finding)")
                return
            }
            let error = storageError { _ = try database.openStore() }
            check(error?.code, equals: 11)
            try check(Data(contentsOf: database.url).count < 1 << 20)
            let wrong = DatabaseKey.raw(SecretBytes.random(count: 32))
            try check(
                SecureDatabaseStore.diagnose(at: database.url, key: wrong).finding,
                equals: .wrongKey)
        }
        try damage(page: 1)
        try isQuick {
            let diagnosis = try SecureDatabaseStore.diagnose(at: database.url, key: Self.key)
            check(diagnosis.description.contains("page 1"))
            guard case .damagedJournal = diagnosis.finding else {
                Issue.record("\(diagnosis)")
                return
            }
        }
    }

    @Test func `salvage does not visit pages that only a forged journal claims`() throws {
        try makeFile()
        try damage(page: 1)
        try forgeJournal()
        let target = try TemporaryDatabase(name: "saved.db")
        try isQuick {
            let report = try SecureDatabaseStore.salvage(
                at: database.url, key: Self.key, to: target.url)
            check(report.unassignedRows, equals: 3)
            check(report.damagedPages.first, equals: 1)
            check(report.damagedPages.count <= 1_000_001)
        }
    }

    @Test func `a wrong raw key is never reported as a damaged salt, even with large pages`() throws
    {
        var cipher = CipherConfiguration()
        cipher.pageSize = 65536
        try makeFile(pageSize: cipher.pageSize)
        for _ in 0..<40 {
            let wrong = DatabaseKey.raw(SecretBytes.random(count: 32))
            let finding = try SecureDatabaseStore.diagnose(
                at: database.url, key: wrong, cipher: cipher
            ).finding
            check(finding, equals: .wrongKey)
        }
    }

    @Test func `diagnosing an open file does not use up descriptors`() throws {
        try makeFile()
        let db = try database.openStore { $0.journalMode = .delete }
        defer { db.close() }
        let before = Descriptors.count(of: database.path)
        for _ in 0..<20 {
            try check(
                SecureDatabaseStore.diagnose(at: database.url, key: Self.key).finding, equals: .ok)
            check(storageError { try database.store().open(with: Data(count: 32)) } != nil)
            try check(db.verifyIntegrity().isSound)
        }
        check(Descriptors.count(of: database.path) < before + 10)
        db.close()
        check(Descriptors.count(of: database.path), equals: 0)
    }

    @Test func `a file written to without a log is never reported as damaged`() throws {
        let db = try database.openStore { $0.journalMode = .delete }
        try db.executeUpdate("CREATE TABLE t (x)")
        let queue = SecureDatabaseQueue(databaseStore: db)
        let isOver = Marking()
        let writer = Thread {
            while !isOver.isSet {
                try? queue.inDatabase {
                    try $0.executeUpdate("INSERT INTO t VALUES (randomblob(90000))")
                    try $0.executeUpdate("DELETE FROM t WHERE rowid < last_insert_rowid() - 3")
                    try $0.vacuum()
                }
            }
        }
        writer.start()
        for _ in 0..<80 {
            let diagnosis = try SecureDatabaseStore.diagnose(at: database.url, key: Self.key)
            check(diagnosis.finding, equals: .ok, "\(diagnosis)")
        }
        isOver.set()
    }
}

/// A flag that one thread sets and others read.
private final class Marking: @unchecked Sendable {
    // @unchecked: only touched under `lock`.
    private let lock = NSLock()
    private var value = false

    var isSet: Bool { lock.withLock { value } }
    func set() { lock.withLock { value = true } }
}
