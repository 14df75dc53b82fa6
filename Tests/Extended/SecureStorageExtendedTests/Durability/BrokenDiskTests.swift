import FaultyDisk
import Foundation
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// A disk whose k-th call fails, once or from then on, for each k until a run meets no failure.
struct BrokenDiskTests {
    typealias JournalMode = SecureDatabaseConfiguration.JournalMode

    /// The step between the calls that fail; `make campaign NAME=crash` tries each call.
    private static let step = max(environmentNumber("SECURESTORAGE_DISK_STEP", default: 41), 1)

    @Test(arguments: JournalMode.allCases, [false, true])
    func `a failing call gives a typed error, and nothing that was stored is lost`(
        _ mode: JournalMode, _ forever: Bool
    ) async throws {
        let database = try TemporaryDatabase()
        await #expect(processExitsWith: .success) {
            [
                directory = database.directory.path as String, mode = mode.rawValue as String,
                forever = forever as Bool, step = Self.step as Int
            ] in
            let mode = try require(JournalMode(rawValue: mode))
            faulty_disk_install()
            var call = Campaign.part.number
            while true {
                var work = DiskWork(directory: directory + "/\(call)", mode: mode)
                faulty_disk_fail_at(call, forever ? 1 : 0)
                work.run()
                let failures = faulty_disk_failures()
                faulty_disk_fail_at(0, 0)
                try work.verify("call \(call)")
                try FileManager.default.removeItem(atPath: work.directory)
                if failures == 0 { break }
                call += step * Campaign.part.of
            }
            // A run without a failure does everything.
            check(call > 100)
        }
    }
}

/// A database's life in short: created, written to, re-keyed and copied, and what was acknowledged.
private struct DiskWork {
    let directory: String
    let mode: SecureDatabaseConfiguration.JournalMode

    private var errors: [any Error] = []
    private var isMade = false
    private var tried: Set<Int> = []
    private var stored: Set<Int> = []
    private var isRekeyed = false
    private var isCopied = false

    private static let oldKey = TemporaryDatabase.key
    private static let newKey = Data((1...32).map { UInt8($0 + 100) })

    init(directory: String, mode: SecureDatabaseConfiguration.JournalMode) {
        self.directory = directory
        self.mode = mode
    }

    private var path: String { directory + "/test.db" }
    private var copy: String { directory + "/copy.db" }

    private func store(_ path: String) -> SecureDatabaseStore {
        var configuration = SecureDatabaseConfiguration()
        configuration.journalMode = mode
        configuration.secondInstance = .allowed
        // Smaller than what a transaction changes.
        configuration.cacheSize = 0
        return SecureDatabaseStore(fullDatabasePath: path, configuration: configuration)
    }

    private mutating func attempt(_ body: (inout Self) throws -> Void) -> Bool {
        do {
            try body(&self)
            return true
        } catch {
            errors.append(error)
            return false
        }
    }

    mutating func run() {
        try? FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true)
        let db = store(path)
        guard attempt({ _ in try db.open(with: Self.oldKey) }) else { return }
        defer { db.close() }
        isMade = attempt { _ in
            try db.executeUpdate("CREATE TABLE t (id INTEGER PRIMARY KEY, x BLOB)")
        }
        for id in 1...6 {
            tried.insert(id)
            let isStored = attempt { _ in
                try db.executeUpdate("INSERT INTO t VALUES (?, randomblob(9000))", id)
            }
            if isStored { stored.insert(id) }
            if id == 3 { _ = attempt { _ in try db.checkpoint(.truncate) } }
        }
        isRekeyed = attempt { _ in try db.changeEncryptionKey(with: Self.newKey) }
        isCopied = attempt { work in
            try db.backup(to: URL(fileURLWithPath: work.copy))
        }
    }

    func verify(_ place: String) throws {
        for error in errors { check(error is SecureStorageError, "\(place): \(error)") }
        let db = store(path)
        let keys = [Self.oldKey, Self.newKey].filter { key in
            defer { db.close() }
            guard FileManager.default.fileExists(atPath: path) else { return false }
            let error = storageError { try db.open(with: key) }
            guard let error else { return true }
            let isWrongKey =
                error.code == 26 || error.description.contains("key") || error.kind == .openFailed
            check(isWrongKey, "\(place): \(error)")
            return false
        }
        guard FileManager.default.fileExists(atPath: path) else {
            check(!isMade && stored.isEmpty, "\(place): the file is gone; \(errors)")
            return
        }
        try require(keys.count == 1, "\(place): \(keys.count) keys open it; \(errors)")
        if isRekeyed { check(keys[0], equals: Self.newKey, "\(place): the new key is lost") }

        try db.open(with: keys[0])
        try verify(db, place)
        if isMade {
            try db.executeUpdate("INSERT INTO t VALUES (100, zeroblob(9000))")
        }
        db.close()

        // A copy is complete or absent.
        check(!isCopied || FileManager.default.fileExists(atPath: copy), "\(place)")
        if FileManager.default.fileExists(atPath: copy) {
            let copied = store(copy)
            try copied.open(with: keys[0])
            try verify(copied, place)
            copied.close()
        }
    }

    private func verify(_ db: SecureDatabaseStore, _ place: String) throws {
        let report = try db.verifyIntegrity()
        check(report.isSound, "\(place): \(report)")
        let tables = try db.int("SELECT count(*) FROM sqlite_schema")
        check(tables == 1 || !isMade, "\(place): the table is lost")
        guard tables == 1 else { return }
        let ids = Set(try db.strings("SELECT id FROM t").compactMap { $0.flatMap { Int($0) } })
        check(stored.isSubset(of: ids), "\(place): \(stored.subtracting(ids)) lost; \(errors)")
        check(ids.isSubset(of: tried), "\(place): \(ids.subtracting(tried)) never stored")
    }
}
