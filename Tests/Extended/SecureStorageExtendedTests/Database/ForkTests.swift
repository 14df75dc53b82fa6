import FaultyDisk
import Foundation
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// In a child made with `fork()`, the parent's objects refuse every use and do no harm.
@Suite(.enabled(if: !Sanitizer.isPresent, "a sanitizer's threads are not in the child"))
struct ForkTests {
    /// Records which check in a child failed first, for its exit status.
    fileprivate struct Checks {
        private var count: Int32 = 0
        private(set) var failed: Int32 = 0

        mutating func expect(_ holds: Bool) {
            count += 1
            if !holds, failed == 0 { failed = count }
        }

        /// Expects the error that the parent's objects throw in a child.
        mutating func refuses(_ body: () throws -> Void) {
            let error = storageError(body)
            expect(error?.code == 21 && error?.description.contains("fork()") == true)
        }
    }

    /// Runs `body` in a child that inherits everything the process has, and returns its exit
    /// status.
    fileprivate static func child(_ body: (inout Checks) -> Void) -> Int32 {
        let child = forked_child_begin()
        if child == 0 {
            var checks = Checks()
            body(&checks)
            forked_child_exit(checks.failed)
        }
        return forked_child_wait(child)
    }

    /// Returns the size, modification date and file number of each file by name, without opening
    /// any of them: that would cost its locks.
    fileprivate static func files(in database: TemporaryDatabase) throws -> [String: [String]] {
        var files: [String: [String]] = [:]
        for name in try database.fileNames() {
            let attributes = try FileManager.default.attributesOfItem(
                atPath: database.directory.path + "/" + name)
            files[name] = [FileAttributeKey.size, .modificationDate, .systemFileNumber].map {
                "\(attributes[$0] ?? "")"
            }
        }
        return files
    }

    @Test
    func
        `a store, its statements and its rows fail in a child, and closing them changes nothing`()
        async
    {
        await #expect(processExitsWith: .success) { try ForkTests.checkStore() }
    }

    @Test func `a queue, a pool and a key-value store fail in a child and do not wait`() async {
        await #expect(processExitsWith: .success) { try ForkTests.checkSharing() }
    }

    @Test
    func `a child forked in a block commits and rolls back nothing when it leaves the block`()
        async
    {
        await #expect(processExitsWith: .success) { try ForkTests.checkBlocks() }
    }

    // MARK: - In separate processes

    fileprivate static func checkStore() throws {
        let database = try TemporaryDatabase()
        let other = try TemporaryDatabase()
        nonisolated(unsafe) var db: SecureDatabaseStore? = try database.openStore()
        func use(_ body: (SecureDatabaseStore) throws -> Void) throws {
            if let db { try body(db) }
        }
        try db?.executeUpdate("CREATE TABLE t (a)")
        try db?.executeUpdate("INSERT INTO t VALUES (1), (zeroblob(20000)), (3)")
        var rows = try db?.executeQuery("SELECT a FROM t ORDER BY rowid")
        try check(rows?.next(), equals: true)
        var insert = try db?.prepare("INSERT INTO t VALUES (?)")
        try db?.beginExclusiveTransaction()
        try insert?.executeUpdate(values: [4])
        let before = try ForkTests.files(in: database)
        let status = ForkTests.child { checks in
            checks.refuses { try use { try $0.executeUpdate("INSERT INTO t VALUES (5)") } }
            checks.refuses { try use { _ = try $0.executeQuery("SELECT a FROM t") } }
            checks.refuses { try use { try $0.executeStatements("SELECT 1") } }
            checks.refuses { try use { try $0.commit() } }
            checks.refuses { try use { try $0.rollback() } }
            checks.refuses { try use { _ = try $0.isInTransaction() } }
            checks.refuses { try use { try $0.inSavePoint { _ in false } } }
            checks.refuses { try use { _ = try $0.checkpoint(.truncate) } }
            checks.refuses { try use { _ = try $0.prepare("SELECT 1") } }
            checks.refuses { _ = try rows?.next() }
            checks.expect(rows?.int(forColumnIndex: 0) == nil)
            checks.refuses { try insert?.executeUpdate(values: [6]) }
            checks.expect(db?.isOpen() == false)
            db?.interrupt()
            rows?.close()
            insert?.close()
            rows = nil
            insert = nil
            db?.close()
            // The child's own store on the same file would mistake the parent's locks for its own.
            let same = database.store()
            checks.expect(storageError { try same.open(with: TemporaryDatabase.key) }?.code == 21)
            db = nil
            // The child can use any other file like any process.
            do {
                let own = try other.openStore()
                try own.executeStatements("CREATE TABLE t (a); INSERT INTO t VALUES (1)")
                checks.expect(try own.int("SELECT count(*) FROM t") == 1)
                own.close()
            } catch {
                checks.expect(false)
            }
        }
        check(status, equals: 0)
        try check(ForkTests.files(in: database), equals: before)
        // The parent continues with its rows, its locks and its transaction.
        check(rows?.int(forColumnIndex: 0), equals: 1)
        try check(rows?.next(), equals: true)
        if SQLCipherShell.isInstalled {
            let shell = try SQLCipherShell(
                database.path, key: "x'\(TemporaryDatabase.key.hex)'",
                "INSERT INTO t VALUES (8);")
            check(shell.errors.contains("locked"), "\(shell)")
        }
        let rival = try database.openStore { $0.busyTimeout = .zero }
        rows?.close()
        try insert?.executeUpdate(values: [7])
        try db?.commit()
        try check(rival.int("SELECT count(*) FROM t"), equals: 5)
        try check(rival.strings("PRAGMA integrity_check"), equals: ["ok"])
        try check(other.openStore().int("SELECT count(*) FROM t"), equals: 1)
    }

    fileprivate static func checkSharing() throws {
        let (first, second, third) = try (
            TemporaryDatabase(), TemporaryDatabase(), TemporaryDatabase()
        )
        let queue = SecureDatabaseQueue(databaseStore: try first.openStore())
        let pool = try second.openPool()
        let values = SecureKeyValueStore(fullDatabasePath: third.path)
        try values.open(with: TemporaryDatabase.key)
        try queue.inDatabase { try $0.executeUpdate("CREATE TABLE t (a)") }
        try pool.write { try $0.executeUpdate("CREATE TABLE t (a)") }
        _ = try pool.read { try $0.int("SELECT count(*) FROM t") }
        try values.put("dark", forKey: "theme")
        // Another thread has the turn while the child is forked.
        let (isInside, mayLeave) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        Thread.detachNewThread {
            try? queue.inDatabase { _ in
                isInside.signal()
                mayLeave.wait()
            }
            isInside.signal()
        }
        isInside.wait()
        let status = ForkTests.child { checks in
            checks.refuses { try queue.inDatabase { _ in } }
            checks.refuses { try queue.inTransaction { _ in false } }
            checks.refuses { _ = try queue.checkpoint() }
            checks.expect(!queue.suspend())
            checks.refuses { try pool.read { _ in } }
            checks.refuses { try pool.write { _ in } }
            checks.refuses { try pool.writeWithoutTransaction { _ in } }
            checks.refuses { try pool.open(with: .raw(TemporaryDatabase.key)) }
            checks.refuses { try pool.changeEncryptionKey(with: .passphrase("another")) }
            checks.expect(!pool.isOpen())
            pool.releaseMemory()
            pool.interrupt()
            pool.close()
            checks.refuses { try values.put("light", forKey: "theme") }
            checks.refuses { _ = try values.get("theme") as String? }
            checks.refuses { try values.putAll([:]) }
            checks.expect(!values.isOpen())
            values.close()
        }
        check(status, equals: 0)
        mayLeave.signal()
        isInside.wait()
        try queue.inTransaction { db in
            try db.executeUpdate("INSERT INTO t VALUES (1)")
            return false
        }
        try pool.write { try $0.executeUpdate("INSERT INTO t VALUES (1)") }
        try check(pool.read { try $0.int("SELECT count(*) FROM t") }, equals: 1)
        try check(values.get("theme"), equals: "dark")
    }

    fileprivate static func checkBlocks() throws {
        let database = try TemporaryDatabase()
        let queue = SecureDatabaseQueue(databaseStore: try database.openStore())
        try queue.inDatabase { try $0.executeUpdate("CREATE TABLE t (a)") }
        for (number, fails) in [false, true].enumerated() {
            var child: Int32 = 1
            var error: SecureStorageError?
            do {
                try queue.inTransaction { db in
                    try db.executeUpdate("INSERT INTO t VALUES (?)", number)
                    child = forked_child_begin()
                    if child == 0, fails { throw SecureStorageError.closed }
                    return false
                }
            } catch let thrown as SecureStorageError {
                error = thrown
            }
            if child == 0 {
                forked_child_exit(error?.code == 21 || fails && error == .closed ? 0 : 1)
            }
            check(forked_child_wait(child), equals: 0)
            check(error == nil)
        }
        let rival = try database.openStore()
        try check(rival.strings("SELECT a FROM t"), equals: ["0", "1"])
    }
}
