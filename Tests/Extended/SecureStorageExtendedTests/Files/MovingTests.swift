import Foundation
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// Renaming a closed database.
struct MovingTests {
    typealias JournalMode = SecureDatabaseConfiguration.JournalMode

    private let database: TemporaryDatabase
    private var target: URL { database.directory.appendingPathComponent("moved.db") }

    init() throws { database = try TemporaryDatabase() }

    private func open(_ url: URL) throws -> SecureDatabaseStore {
        let db = SecureDatabaseStore(url: url, configuration: database.store().configuration)
        try db.open(with: TemporaryDatabase.key)
        return db
    }

    @Test func `a moved database has only its new name, and keeps its rows`() throws {
        try database.openStore().executeStatements("CREATE TABLE t (x); INSERT INTO t VALUES (1)")
        let target = database.directory.appendingPathComponent("new directory/moved.db")
        try SecureDatabaseStore.move(at: database.url, to: target)
        check(!SecureDatabaseStore.exists(at: database.url))
        try check(open(target).int("SELECT x FROM t"), equals: 1)
        try check(database.fileNames(), equals: ["new directory"])
        try check(
            FileManager.default.contentsOfDirectory(
                atPath: target.deletingLastPathComponent().path), equals: ["moved.db"])
    }

    @Test(arguments: JournalMode.allCases)
    func `what a crash left moves with the file`(_ mode: JournalMode) async throws {
        try await KilledDatabase.make(database, mode)
        let inTheFile = try Data(contentsOf: database.url)
        try SecureDatabaseStore.move(at: database.url, to: target)
        // The move itself neither plays back the journal nor checkpoints the log.
        try check(Data(contentsOf: target), equals: inTheFile)
        try check(database.fileNames().allSatisfy { $0.hasPrefix("moved.db") })
        try check(open(target).int(KilledDatabase.count), equals: KilledDatabase.rows)
    }

    @Test func `a target name that is in use is refused`() throws {
        try database.openStore().close()
        for name in ["moved.db", "moved.db-wal", "moved.db-journal", "moved.db-shm"] {
            let file = database.directory.appendingPathComponent(name)
            try Data("something".utf8).write(to: file)
            let before = try DirectorySnapshot(of: database.directory)
            let error = storageError { try SecureDatabaseStore.move(at: database.url, to: target) }
            check(error?.code, equals: 14)
            check(error?.description.contains("already exists"), equals: true)
            try check(DirectorySnapshot(of: database.directory), equals: before)
            try FileManager.default.removeItem(at: file)
        }
        check(
            storageError { try SecureDatabaseStore.move(at: database.url, to: database.url) }?.code,
            equals: 21)
        try SecureDatabaseStore.move(at: database.url, to: target)
    }

    @Test func `a missing file cannot be moved`() throws {
        let none = database.directory.appendingPathComponent("none/test.db")
        for url in [database.url, none] {
            let error = storageError { try SecureDatabaseStore.move(at: url, to: target) }
            check(error?.code, equals: 14)
            check(error?.description.contains("does not exist"), equals: true)
        }
        try check(database.fileNames(), equals: [])
    }

    #if os(Linux)
        @Test(.enabled(if: SmallDisk.isAvailable))
        func `a target on another volume is refused, with advice`() async throws {
            let disk = try SmallDisk(kilobytes: 512)
            let target = disk.directory.appendingPathComponent("moved.db")
            try database.openStore().close()
            let error = storageError { try SecureDatabaseStore.move(at: database.url, to: target) }
            check(error?.code, equals: 14)
            check(error?.description.contains("vacuum(into:)"), equals: true)
            check(SecureDatabaseStore.exists(at: database.url))
            check(!SecureDatabaseStore.exists(at: target))
            // The same with a log beside it.
            let killed = try TemporaryDatabase()
            try await KilledDatabase.make(killed, .wal)
            let before = try DirectorySnapshot(of: killed.directory)
            let second = storageError { try SecureDatabaseStore.move(at: killed.url, to: target) }
            check(second?.description.contains("another volume"), equals: true)
            try check(DirectorySnapshot(of: killed.directory), equals: before)
            try check(
                FileManager.default.contentsOfDirectory(atPath: disk.directory.path), equals: [])
        }
    #endif

    /// Each state that a kill can leave, constructed by hand.
    @Test(arguments: JournalMode.allCases, 0...2)
    func `a half-moved database opens under neither name, and the next call finishes the move`(
        _ mode: JournalMode, _ done: Int
    ) async throws {
        try await KilledDatabase.make(database, mode)
        try FileManager.default.linkItem(at: database.url, to: target)
        for suffix in ["-wal", "-journal"] where done >= 1 {
            try? FileManager.default.moveItem(
                atPath: database.path + suffix, toPath: target.path + suffix)
        }
        if done == 2 { try? FileManager.default.removeItem(atPath: database.path + "-shm") }
        for url in [database.url, target] {
            check(storageError { _ = try open(url) }?.kind, equals: .openFailed)
            check(SecureDatabaseStore.exists(at: url))
            check(storageError { try SecureDatabaseStore.remove(at: url) }?.code, equals: 14)
        }
        let elsewhere = database.directory.appendingPathComponent("elsewhere.db")
        check(
            storageError { try SecureDatabaseStore.move(at: database.url, to: elsewhere) } != nil)
        try SecureDatabaseStore.move(at: database.url, to: target)
        check(!SecureDatabaseStore.exists(at: database.url))
        try check(open(target).int(KilledDatabase.count), equals: KilledDatabase.rows)
        try check(database.fileNames().allSatisfy { $0.hasPrefix("moved.db") })
    }

    @Test func `a kill at any time loses no row, and a second move completes the first`()
        async throws
    {
        var outcomes: [String: Int] = [:]
        for _ in 1...SuddenDeath.count(4) {
            let database = try TemporaryDatabase()
            let target = database.directory.appendingPathComponent("moved.db")
            try await KilledDatabase.make(database, .wal)
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = database.path as String, target = target.path as String] in
                SuddenDeath.after(microseconds: Int.random(in: 0...1500))
                try SecureDatabaseStore.move(
                    at: URL(fileURLWithPath: path), to: URL(fileURLWithPath: target))
                while true { pause() }
            }
            let (old, new) = (
                SecureDatabaseStore.exists(at: database.url), SecureDatabaseStore.exists(at: target)
            )
            outcomes[old && new ? "both names" : old ? "old name" : "new name", default: 0] += 1
            check(old || new)
            if old { try SecureDatabaseStore.move(at: database.url, to: target) }
            let db = SecureDatabaseStore(url: target)
            try db.open(with: TemporaryDatabase.key)
            try check(db.int(KilledDatabase.count), equals: KilledDatabase.rows)
            check(!SecureDatabaseStore.exists(at: database.url))
        }
        SuddenDeath.report("moving: \(outcomes)")
    }

    @Test func `one of 8 threads moves the file`() throws {
        try database.openStore().close()
        let gate = Gate(count: 8)
        let moved = Shared<[Int]>([])
        onThreads(8) { [database] number in
            let target = database.directory.appendingPathComponent("moved \(number).db")
            gate.pass()
            if (try? SecureDatabaseStore.move(at: database.url, to: target)) != nil {
                moved.withLock { $0.append(number) }
            }
        }
        check(moved.current.count, equals: 1)
        try check(database.fileNames(), equals: moved.current.map { "moved \($0).db" })
    }
}
