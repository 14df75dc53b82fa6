import Foundation
import SecureStorage
import Testing
import TestSupport

/// Finding, measuring and removing a closed database.
struct RemovalTests {
    typealias JournalMode = SecureDatabaseConfiguration.JournalMode

    private let database: TemporaryDatabase

    init() throws { database = try TemporaryDatabase() }

    private func write(_ count: Int, _ suffix: String = "") throws {
        try Data(count: count).write(to: URL(fileURLWithPath: database.path + suffix))
    }

    /// Checks that removing and moving fail and change nothing.
    private func expectRefusal(
        code: Int, mentioning word: String, of url: URL? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let url = url ?? database.url
        let before = try DirectorySnapshot(of: database.directory)
        let target = database.directory.appendingPathComponent("moved.db")
        for error in [
            storageError { try SecureDatabaseStore.remove(at: url) },
            storageError { try SecureDatabaseStore.move(at: url, to: target) },
        ] {
            check(error?.kind, equals: .backingStoreError, sourceLocation: sourceLocation)
            check(error?.code, equals: code, "\(error as Any)", sourceLocation: sourceLocation)
            check(
                error?.description.contains(word), equals: true, "\(error as Any)",
                sourceLocation: sourceLocation)
        }
        try check(
            DirectorySnapshot(of: database.directory), equals: before,
            sourceLocation: sourceLocation)
    }

    // MARK: - Existence

    @Test func `a database exists from its first open to its removal`() throws {
        check(!SecureDatabaseStore.exists(at: database.url))
        let db = try database.openStore()
        check(SecureDatabaseStore.exists(at: database.url))
        db.close()
        check(SecureDatabaseStore.exists(at: database.url))
        try check(SecureDatabaseStore.remove(at: database.url))
        check(!SecureDatabaseStore.exists(at: database.url))
        try check(!SecureDatabaseStore.remove(at: database.url))
        try check(database.fileNames(), equals: [])
    }

    @Test func `a file that is not a database does not count as existing`() throws {
        let directory = database.directory
        check(!SecureDatabaseStore.exists(at: directory))
        check(
            !SecureDatabaseStore.exists(at: directory.appendingPathComponent("none/test.db")))
        try write(100, "-wal")
        check(!SecureDatabaseStore.exists(at: database.url))
        for count in 0...1 {
            try write(count)
            check(!SecureDatabaseStore.exists(at: database.url))
        }
        try write(2)
        check(SecureDatabaseStore.exists(at: database.url))
        let link = directory.appendingPathComponent("link.db")
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: database.url)
        check(!SecureDatabaseStore.exists(at: link))
    }

    @Test func `only file URLs name files`() throws {
        try write(100)
        let url = try require(URL(string: "https://example.org\(database.path)"))
        check(!SecureDatabaseStore.exists(at: url))
        try expectRefusal(code: 21, mentioning: "not a file URL", of: url)
        check(storageError { _ = try SecureDatabaseStore.sizeOnDisk(at: url) }?.code, equals: 21)
        check(
            storageError { try SecureDatabaseStore.move(at: database.url, to: url) }?.code,
            equals: 21)
    }

    // MARK: - Size

    @Test func `the size includes the sidecar files`() throws {
        let db = try database.openStore()
        try db.executeStatements("CREATE TABLE t (x); INSERT INTO t VALUES (randomblob(100000))")
        var sum = 0
        for name in try database.fileNames() {
            sum += try Data(contentsOf: database.directory.appendingPathComponent(name)).count
        }
        try check(database.fileNames(), equals: ["test.db", "test.db-shm", "test.db-wal"])
        try check(db.sizeOnDisk(), equals: sum)
        try check(SecureDatabaseStore.sizeOnDisk(at: database.url), equals: sum)
        db.close()
        try check(
            SecureDatabaseStore.sizeOnDisk(at: database.url),
            equals: Data(contentsOf: database.url).count)
        check(storageError { _ = try db.sizeOnDisk() }, equals: .closed)
        try SecureDatabaseStore.remove(at: database.url)
        check(
            storageError { _ = try SecureDatabaseStore.sizeOnDisk(at: database.url) }?.code,
            equals: 14)
        let none = database.directory.appendingPathComponent("none/test.db")
        check(storageError { _ = try SecureDatabaseStore.sizeOnDisk(at: none) }?.code, equals: 14)
    }

    // MARK: - Removal

    @Test func `sidecar files are removed, with the file or alone, and other files stay`() throws {
        for suffix in ["", "-wal", "-shm", "-journal", ".bak"] { try write(100, suffix) }
        try check(SecureDatabaseStore.remove(at: database.url))
        try check(database.fileNames(), equals: ["test.db.bak"])
        try write(100, "-wal")
        try check(SecureDatabaseStore.remove(at: database.url))
        try check(database.fileNames(), equals: ["test.db.bak"])
    }

    @Test func `a file of 0 bytes is removed, as the error of open advises`() throws {
        try write(0)
        try check(SecureDatabaseStore.remove(at: database.url))
        try database.openStore().close()
    }

    @Test func `the remains of a killed open are removed`() async throws {
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = database.path as String] in
            try SecureDatabaseStore(fullDatabasePath: path).open(with: "key") { _ in
                SuddenDeath.now()
            }
        }
        try check(!database.fileNames().isEmpty)
        try check(SecureDatabaseStore.remove(at: database.url))
        try check(database.fileNames(), equals: [])
    }

    @Test func `a directory, a symbolic link and a hard link are refused`() throws {
        try expectRefusal(code: 14, mentioning: "cannot", of: database.directory)
        try write(4096)
        let link = database.directory.appendingPathComponent("link.db")
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: database.url)
        try expectRefusal(code: 14, mentioning: "cannot", of: link)
        try FileManager.default.removeItem(at: link)
        try FileManager.default.linkItem(at: database.url, to: link)
        try expectRefusal(code: 14, mentioning: "hard links")
    }

    @Test(arguments: JournalMode.allCases, [false, true])
    func `a file that this process has open is refused`(
        _ mode: JournalMode, _ isReadOnly: Bool
    ) throws {
        try database.openStore { $0.journalMode = mode }.close()
        let db = try database.openStore {
            $0.journalMode = mode
            $0.isReadOnly = isReadOnly
        }
        try expectRefusal(code: 5, mentioning: "this process")
        try check(db.int("SELECT count(*) FROM sqlite_schema"), equals: 0)
        db.close()
        try check(SecureDatabaseStore.remove(at: database.url))
    }

    @Test func `a pool's file is refused until the pool is closed`() throws {
        let pool = try database.openPool()
        _ = try pool.read { try $0.int("SELECT 1") }
        try expectRefusal(code: 5, mentioning: "this process")
        pool.close()
        try check(SecureDatabaseStore.remove(at: database.url))
    }

    @Test(arguments: JournalMode.allCases)
    func `a file that another process has open, or in a transaction, is refused`(
        _ mode: JournalMode
    ) async throws {
        let db = try database.openStore { $0.journalMode = mode }
        // In WAL mode an open connection is enough.
        if mode == .delete { try db.beginExclusiveTransaction() }
        let before = try database.fileNames()
        await #expect(processExitsWith: .success) { [path = database.path as String] in
            let url = URL(fileURLWithPath: path)
            let target = URL(fileURLWithPath: path + ".moved")
            for error in [
                storageError { try SecureDatabaseStore.remove(at: url) },
                storageError { try SecureDatabaseStore.move(at: url, to: target) },
            ] {
                check(error?.kind, equals: .backingStoreError)
                check(error?.code, equals: 5)
                check(error?.description.contains("another process"), equals: true)
            }
        }
        try check(database.fileNames(), equals: before)
        if mode == .delete { try db.commit() }
        db.close()
        await #expect(processExitsWith: .success) { [path = database.path as String] in
            let wasThere = try SecureDatabaseStore.remove(at: URL(fileURLWithPath: path))
            check(wasThere)
        }
        try check(database.fileNames(), equals: [])
    }

    @Test func `removing needs no key, and drops no lock of another connection`() throws {
        let other = try TemporaryDatabase()
        let db = try other.openStore { $0.journalMode = .delete }
        try db.beginExclusiveTransaction()
        try database.openStore().close()
        try SecureDatabaseStore.remove(at: database.url)
        check(storageError { try SecureDatabaseStore.remove(at: other.url) }?.code, equals: 5)
        // The lock is still held, as the shell, another process, sees.
        if SQLCipherShell.isInstalled {
            let shell = try SQLCipherShell(
                other.path, key: "x'\(TemporaryDatabase.key.hex)'",
                "SELECT count(*) FROM sqlite_schema;")
            check(shell.errors.contains("locked"))
        }
        try db.commit()
    }

    @Test func `a kill during removal leaves nothing that opens without its log`() async throws {
        var left: [[String]] = []
        for _ in 1...SuddenDeath.count(2) {
            let database = try TemporaryDatabase()
            try await KilledDatabase.make(database, .wal)
            await #expect(processExitsWith: .signal(SIGKILL)) { [path = database.path as String] in
                SuddenDeath.after(microseconds: Int.random(in: 0...1500))
                try SecureDatabaseStore.remove(at: URL(fileURLWithPath: path))
                while true { pause() }
            }
            let names = try database.fileNames().filter { !$0.hasPrefix(".") }
            left.append(names)
            if SecureDatabaseStore.exists(at: database.url) {
                try check(
                    database.openStore().int(KilledDatabase.count), equals: KilledDatabase.rows)
            } else if !names.isEmpty {
                let error = storageError { try database.store().open(with: TemporaryDatabase.key) }
                check(error?.kind, equals: .openFailed)
            }
            try SecureDatabaseStore.remove(at: database.url)
            try check(database.fileNames().filter { !$0.hasSuffix(".lock") }, equals: [])
        }
        SuddenDeath.report("removal: the kills left \(left.map(\.count))")
    }
}
