import FaultyDisk
import Foundation
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// Writes of several callers that wait for the disk together.
struct GroupCommitTests {
    /// The table of most tests: which writer wrote which number, in two rows each.
    static let table = "CREATE TABLE t (writer INTEGER, number INTEGER, part INTEGER)"

    static func pool(
        _ path: String, _ configure: (inout SecureDatabaseConfiguration) -> Void = { _ in }
    ) throws -> SecureDatabasePool {
        var configuration = SecureDatabaseConfiguration()
        configuration.groupsWrites = true
        configure(&configuration)
        let pool = SecureDatabasePool(fullDatabasePath: path, configuration: configuration)
        try pool.open(with: .raw(SecretBytes(copying: TemporaryDatabase.key)))
        return pool
    }

    static func write(_ writer: Int, _ number: Int, _ db: SecureDatabaseStore) throws {
        for part in 1...2 {
            try db.executeUpdate(
                "INSERT INTO t VALUES (?, ?, ?)", values: [writer, number, part])
        }
    }

    /// Runs `count` writers of 25 transactions each, as threads and as tasks, and returns the
    /// number of syncs of the log.
    private static func syncs(
        of count: Int, in database: any SecureDatabaseWriter
    ) async throws -> Int {
        faulty_disk_record()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 1...count {
                group.addTask {
                    for number in 1...25 {
                        if writer.isMultiple(of: 2) {
                            try await database.write { try Self.write(writer, number, $0) }
                        } else {
                            try await onThread {
                                try database.write { try Self.write(writer, number, $0) }
                            }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        return recordedLogSyncs()
    }

    private static func expectFewerSyncs(_ path: String, isQueue: Bool) async throws {
        faulty_disk_install()
        // A disk that is not faster than a real one.
        faulty_disk_delay_syncs(3000)
        let database: any SecureDatabaseWriter
        if isQueue {
            var configuration = SecureDatabaseConfiguration()
            configuration.groupsWrites = true
            let queue = SecureDatabaseQueue(fullDatabasePath: path, configuration: configuration)
            try await queue.open(with: .raw(SecretBytes(copying: TemporaryDatabase.key)))
            database = queue
        } else {
            database = try pool(path)
        }
        try await database.write { try $0.executeUpdate(table) }
        let grouped = try await syncs(of: 16, in: database)
        check(grouped < 16 * 25 / 3, "\(grouped) syncs for 400 transactions")
        let alone = try await syncs(of: 1, in: database)
        check(alone >= 25)
        let rows = try await database.read { try $0.int(forQuery: "SELECT count(*) FROM t") }
        check(rows, equals: (16 + 1) * 25 * 2)
    }

    @Test(arguments: [false, true])
    func `sixteen writers share syncs, and one writer has one for each transaction`(
        _ isQueue: Bool
    ) async throws {
        let database = try TemporaryDatabase()
        await #expect(processExitsWith: .success) {
            [path = database.path as String, isQueue = isQueue as Bool] in
            try await Self.expectFewerSyncs(path, isQueue: isQueue)
        }
    }

    private static func expectOneSyncEach(_ path: String, _ reason: String) async throws {
        faulty_disk_install()
        faulty_disk_delay_syncs(3000)
        let pool = try pool(path) {
            if reason == "off" { $0.groupsWrites = SecureDatabaseConfiguration().groupsWrites }
        }
        try await pool.write { try $0.executeUpdate(table) }
        if reason == "raised" {
            try await pool.writeWithoutTransaction {
                try $0.executeUpdate("PRAGMA synchronous = EXTRA")
            }
        }
        let syncs = try await syncs(of: 8, in: pool)
        check(syncs >= 8 * 25)
    }

    @Test(arguments: ["off", "raised"])
    func `every transaction has its own sync if groups are off, or the app has raised the level`(
        _ reason: String
    ) async throws {
        let database = try TemporaryDatabase()
        await #expect(processExitsWith: .success) {
            [path = database.path as String, reason = reason as String] in
            try await Self.expectOneSyncEach(path, reason)
        }
    }

    @Test func `observers receive the rows of all grouped writes`() async throws {
        let database = try TemporaryDatabase()
        let pool = try Self.pool(database.path)
        defer { pool.close() }
        try await pool.write { try $0.executeUpdate(Self.table) }
        var changes = pool.changes(in: ["t"], rowIDs: true).makeAsyncIterator()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 1...8 {
                group.addTask {
                    for number in 1...10 {
                        try await pool.write { try Self.write(writer, number, $0) }
                    }
                }
            }
            try await group.waitForAll()
        }
        // Changes that were not requested yet are merged.
        var rows: Set<Int64> = []
        while rows.count < 8 * 10 * 2, let change = await changes.next() {
            rows.formUnion(try require(change.tables["t"]?.rowIDs))
        }
        check(rows, equals: Set(1...160))
    }

    private static func expectGroupedEntries(_ path: String) async throws {
        faulty_disk_install()
        faulty_disk_delay_syncs(3000)
        var configuration = SecureDatabaseConfiguration()
        configuration.groupsWrites = true
        let db = SecureDatabaseStore(fullDatabasePath: path, configuration: configuration)
        try db.open(with: TemporaryDatabase.key)
        let settings = try SecureKeyValueStore(databaseStore: db, name: "settings")
        faulty_disk_record()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 1...16 {
                group.addTask {
                    for number in 1...10 {
                        try await settings.put(number, forKey: "\(writer)/\(number)")
                    }
                }
            }
            try await group.waitForAll()
        }
        check(recordedEvents().count { $0.kind == faulty_disk_sync } < 160 / 3)
        try await check(settings.count(), equals: 160)
        await settings.close()
    }

    @Test func `entries of a key-value store share syncs`() async throws {
        let database = try TemporaryDatabase()
        await #expect(processExitsWith: .success) { [path = database.path as String] in
            try await Self.expectGroupedEntries(path)
        }
    }

    @Test func `a block that throws takes back only its own rows`() async throws {
        struct Refused: Error {}
        let database = try TemporaryDatabase()
        let pool = try Self.pool(database.path)
        defer { pool.close() }
        try await pool.write { try $0.executeUpdate(Self.table) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 1...16 {
                group.addTask {
                    for number in 1...20 {
                        let write = {
                            try await pool.write { db in
                                try Self.write(writer, number, db)
                                if number.isMultiple(of: 3) { throw Refused() }
                            }
                        }
                        if number.isMultiple(of: 3) {
                            await #expect(throws: Refused.self) { try await write() }
                        } else {
                            try await write()
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        try check(pool.int("SELECT count(*) FROM t WHERE number % 3 = 0"), equals: 0)
        try check(pool.int("SELECT count(*) FROM t"), equals: 16 * 14 * 2)
    }

    @Test func `a deferred foreign key fails only the transaction that violates it`() async throws {
        let database = try TemporaryDatabase()
        let pool = try Self.pool(database.path)
        defer { pool.close() }
        try await pool.write { db in
            try db.executeStatements(
                """
                CREATE TABLE parent (id INTEGER PRIMARY KEY);
                CREATE TABLE child (
                    parent INTEGER REFERENCES parent DEFERRABLE INITIALLY DEFERRED);
                INSERT INTO parent VALUES (1);
                """)
        }
        let failures = await withTaskGroup(of: Int.self) { group in
            for writer in 1...64 {
                group.addTask {
                    do {
                        try await pool.write { db in
                            try db.executeUpdate(
                                "INSERT INTO child VALUES (?)", values: [writer % 2])
                        }
                        return 0
                    } catch let error as SecureStorageError {
                        check(error.isConstraintViolation)
                        return 1
                    } catch {
                        Issue.record(error)
                        return 0
                    }
                }
            }
            return await group.reduce(0, +)
        }
        check(failures, equals: 32)
        try check(pool.int("SELECT count(*) FROM child"), equals: 32)
    }

    @Test func `a block may wait for the return of a write that came before it`() async throws {
        let database = try TemporaryDatabase()
        let pool = try Self.pool(database.path)
        defer { pool.close() }
        try await pool.write { try $0.executeUpdate(Self.table) }
        for round in 1...20 {
            let isBefore = DispatchSemaphore(value: 0)
            let hasReturned = DispatchSemaphore(value: 0)
            async let first: Void = onThread {
                try pool.write { db in
                    isBefore.signal()
                    usleep(2000)
                    try Self.write(1, round, db)
                }
                hasReturned.signal()
            }
            async let second: Void = onThread {
                isBefore.wait()
                try pool.write { db in
                    // Only a write that is done without this one returns.
                    try require(hasReturned.wait(timeout: .now() + 60) == .success)
                    try Self.write(2, round, db)
                }
            }
            try await first
            try await second
        }
        try check(pool.int("SELECT count(*) FROM t"), equals: 80)
    }

    private static func expectFailedSync(_ path: String) async throws {
        faulty_disk_install()
        faulty_disk_delay_syncs(3000)
        let pool = try pool(path)
        try await pool.write { try $0.executeUpdate(table) }
        _ = try await syncs(of: 8, in: pool)
        faulty_disk_fail_syncs(1)
        let answers = await withTaskGroup(of: Bool.self) { group in
            for writer in 1...16 {
                group.addTask {
                    do {
                        try await pool.write { try Self.write(writer, 100, $0) }
                        return true
                    } catch {
                        let error = error as? SecureStorageError
                        check(
                            error?.resultCode?.primary, equals: .ioError,
                            "\(String(describing: error))")
                        return false
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        check(answers.count == 16 && !answers.contains(true))
        faulty_disk_fail_syncs(0)
        // What was written before is not known to be on the disk, whatever a later sync says.
        let later = storageError { try pool.write { try Self.write(1, 101, $0) } }
        let isGrouped = later?.description.contains("could not be written to the disk") == true
        if isGrouped { check(later?.resultCode?.primary, equals: .ioError) }
        await pool.close()
        try await pool.open(with: .raw(SecretBytes(copying: TemporaryDatabase.key)))
        try await pool.write { try Self.write(1, 102, $0) }
        try await check(pool.read { try $0.verifyIntegrity().isSound })
        try check(pool.int("SELECT count(*) FROM t WHERE number = 102"), equals: 2)
    }

    @Test func `a sync that fails is the error of each write that waits for it`() async throws {
        let database = try TemporaryDatabase()
        await #expect(processExitsWith: .success) { [path = database.path as String] in
            try await Self.expectFailedSync(path)
        }
    }

    #if os(Linux)
        private static func expectFullDisk(_ path: String) async throws {
            let directory = (path as NSString).deletingLastPathComponent
            let pool = try pool(path)
            try await pool.write { try $0.executeUpdate(table) }
            let ballast = Ballast(directory: directory)
            try ballast.fill(leaving: 20_000)
            let answers = await withTaskGroup(of: Bool.self) { group in
                for writer in 1...16 {
                    group.addTask {
                        do {
                            try await pool.write { db in
                                try Self.write(writer, 1, db)
                                try db.executeUpdate(
                                    "INSERT INTO t VALUES (?, 1, randomblob(50000))",
                                    values: [writer])
                            }
                            return true
                        } catch {
                            check(
                                (error as? SecureStorageError)?.isDiskFull, equals: true, "\(error)"
                            )
                            return false
                        }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            check(answers.count == 16 && !answers.contains(true))
            try check(pool.int("SELECT count(*) FROM t"), equals: 0)
            try ballast.remove()
            try await pool.write { try Self.write(1, 2, $0) }
            try check(pool.int("SELECT count(*) FROM t"), equals: 2)
        }

        @Test(.enabled(if: SmallDisk.isAvailable))
        func `a full disk answers each of sixteen writers with the error`() async throws {
            let disk = try SmallDisk(kilobytes: 500)
            await #expect(processExitsWith: .success) {
                [path = disk.directory.path + "/test.db" as String] in
                try await Self.expectFullDisk(path)
            }
        }
    #endif

    @Test func `closing waits for the writes whose sync is running`() async throws {
        let database = try TemporaryDatabase()
        await #expect(processExitsWith: .success) { [path = database.path as String] in
            try await Self.expectOrderlyClose(path)
        }
    }

    private static func expectOrderlyClose(_ path: String) async throws {
        faulty_disk_install()
        faulty_disk_delay_syncs(3000)
        for round in 1...10 {
            let pool = try pool(path)
            try await pool.write {
                try $0.executeUpdate(table.replacing("TABLE", with: "TABLE IF NOT EXISTS"))
            }
            let stored = await withTaskGroup(of: Int.self) { group in
                for writer in 1...12 {
                    group.addTask {
                        for number in 1...50 {
                            do {
                                try await pool.write {
                                    try Self.write(writer, number * 100 + round, $0)
                                }
                            } catch {
                                check((error as? SecureStorageError), equals: .closed)
                                return number - 1
                            }
                        }
                        return 50
                    }
                }
                group.addTask {
                    usleep(UInt32.random(in: 0...30_000))
                    pool.close()
                    return 0
                }
                return await group.reduce(0, +)
            }
            let again = try Self.pool(path)
            try check(
                again.int("SELECT count(*) FROM t WHERE number % 100 = \(round)"),
                equals: stored * 2)
            await again.close()
        }
    }

    @Test func `an update that is cancelled while others commit takes back only its own`()
        async throws
    {
        let database = try TemporaryDatabase()
        let pool = try Self.pool(database.path)
        defer { pool.close() }
        try await pool.write { try $0.executeUpdate(Self.table) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 1...8 {
                group.addTask {
                    for number in 1...30 {
                        try await pool.write { try Self.write(writer, number, $0) }
                    }
                }
            }
            for _ in 1...8 {
                group.addTask {
                    for _ in 1...10 {
                        let long = Task {
                            try await pool.write { db in
                                try db.executeUpdate(
                                    """
                                    WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
                                    INSERT INTO t SELECT 0, i, 0 FROM n
                                    """)
                            }
                        }
                        try await Task.sleep(for: .milliseconds(3))
                        long.cancel()
                        await #expect(throws: CancellationError.self) { try await long.value }
                    }
                }
            }
            try await group.waitForAll()
        }
        try check(pool.int("SELECT count(*) FROM t WHERE writer = 0"), equals: 0)
        try check(pool.int("SELECT count(*) FROM t"), equals: 8 * 30 * 2)
    }
}

extension SecureDatabasePool {
    fileprivate func int(_ sql: String) throws -> Int? {
        try read { try $0.int(forQuery: sql) }
    }
}

/// Runs `body` on a thread of its own, so that it blocks no task.
private func onThread<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
    }
}
