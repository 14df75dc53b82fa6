import Foundation
import SecureStorage
import Testing
import TestSupport

struct StatisticsTests {
    let database: TemporaryDatabase

    init() throws {
        database = try TemporaryDatabase()
        try database.openStore().executeUpdate("CREATE TABLE t (a INTEGER UNIQUE)")
    }

    @Test func `commits and rollbacks of what changed something are counted`() throws {
        let db = try database.openStore()
        let before = try db.statistics()
        try db.executeUpdate("INSERT INTO t VALUES (1)")
        _ = try db.int(forQuery: "SELECT count(*) FROM t")
        try db.beginTransaction()
        try db.executeUpdate("INSERT INTO t VALUES (2)")
        try db.executeUpdate("INSERT INTO t VALUES (3)")
        try db.commit()
        var now = try db.statistics()
        check(now.commits - before.commits, equals: 2)
        check(now.rollbacks, equals: before.rollbacks)
        try db.beginTransaction()
        try db.executeUpdate("INSERT INTO t VALUES (4)")
        try db.rollback()
        #expect(throws: SecureStorageError.self) {
            try db.executeUpdate("INSERT INTO t VALUES (1)")
        }
        now = try db.statistics()
        check(now.commits - before.commits, equals: 2)
        check(now.rollbacks - before.rollbacks, equals: 2)
    }

    @Test func `an observer of changes leaves the counts as they are`() async throws {
        let queue = SecureDatabaseQueue(databaseStore: try database.openStore())
        let before = try await queue.statistics()
        let changes = queue.changes()
        try await queue.write { try $0.executeUpdate("INSERT INTO t VALUES (1)") }
        withExtendedLifetime(changes) {}
        try await queue.write { try $0.executeUpdate("INSERT INTO t VALUES (2)") }
        let now = try await queue.statistics()
        check(now.commits - before.commits, equals: 2)
    }

    @Test func `a commit that fails is not counted`() throws {
        let db = try database.openStore { $0.journalMode = .delete }
        let other = try database.openStore {
            $0.journalMode = .delete
            $0.busyTimeout = .milliseconds(1)
        }
        let before = try other.statistics()
        let rs = try db.executeQuery("SELECT a FROM t UNION ALL SELECT 1")
        try check(rs.next())
        try other.beginImmediateTransaction()
        try other.executeUpdate("INSERT INTO t VALUES (1)")
        check(storageError { try other.commit() }?.code, equals: 5)
        try check(other.statistics().commits, equals: before.commits)
        rs.close()
        try other.commit()
        try check(other.statistics().commits, equals: before.commits + 1)
    }

    @Test func `counts survive the closing of the file`() throws {
        let db = try database.openStore()
        try db.executeUpdate("INSERT INTO t VALUES (1)")
        let before = try db.statistics()
        check(before.cacheMisses > 0 && before.pagesWritten > 0)
        db.close()
        check(storageError { _ = try db.statistics() }, equals: .closed)
        try db.open(with: TemporaryDatabase.key)
        let now = try db.statistics()
        check(now.commits, equals: before.commits)
        check(now.cacheHits >= before.cacheHits)
        check(now.cacheMisses >= before.cacheMisses)
        check(now.pagesWritten >= before.pagesWritten)
    }

    @Test func `pages in the cache are hits, others are misses`() throws {
        let db = try database.openStore()
        _ = try db.int(forQuery: "SELECT count(*) FROM t")
        let first = try db.statistics()
        for _ in 0..<10 { _ = try db.int(forQuery: "SELECT count(*) FROM t") }
        let second = try db.statistics()
        check(second.cacheHits - first.cacheHits >= 10)
        check(second.cacheMisses, equals: first.cacheMisses)
        try check(require(second.cacheHitRate) > 0.5)
    }

    @Test func `the log has a size, and its last checkpoint an age`() throws {
        let db = try database.openStore()
        for i in 0..<10 { try db.executeUpdate("INSERT INTO t VALUES (?)", values: [i]) }
        try check(db.statistics().logSize > 4096)
        Thread.sleep(forTimeInterval: 0.2)
        try check(require(db.statistics().checkpointAge) >= .milliseconds(150))
        let start = ContinuousClock.now
        try db.checkpoint(.truncate)
        let statistics = try db.statistics()
        check(statistics.logSize, equals: 0)
        // The times of files may be a tick of the system's clock old.
        let tick = Duration.milliseconds(20)
        try check(require(statistics.checkpointAge) <= ContinuousClock.now - start + tick)
    }

    @Test func `without a write-ahead log there is no checkpoint`() throws {
        let db = try database.openStore { $0.journalMode = .delete }
        try db.executeUpdate("INSERT INTO t VALUES (1)")
        try check(db.statistics().checkpointAge == nil)
        try check(db.statistics().logSize, equals: 0)
    }

    @Test func `a pool counts its readers, and the pages of all connections`() throws {
        let pool = try database.openPool()
        let before = try pool.statistics()
        check(before.openReaderCount, equals: 0)
        let isReading = DispatchSemaphore(value: 0)
        let mayEnd = DispatchSemaphore(value: 0)
        let hasEnded = DispatchSemaphore(value: 0)
        let reader = Thread {
            _ = try? pool.read { db in
                _ = try db.int(forQuery: "SELECT count(*) FROM t")
                isReading.signal()
                mayEnd.wait()
            }
            hasEnded.signal()
        }
        reader.start()
        isReading.wait()
        let during = try pool.statistics()
        check(during.openReaderCount, equals: 1)
        check(during.readersInUse, equals: 1)
        mayEnd.signal()
        hasEnded.wait()
        let after = try pool.statistics()
        check(after.openReaderCount, equals: 1)
        check(after.readersInUse, equals: 0)
        check(after.cacheMisses > before.cacheMisses)
        check(after.rollbacks, equals: before.rollbacks)
        pool.close()
        check(storageError { _ = try pool.statistics() }, equals: .closed)
    }

    @Test func `a reader that a suspension has closed counts no more`() throws {
        let pool = try database.openPool()
        let isReading = DispatchSemaphore(value: 0)
        let hasEnded = DispatchSemaphore(value: 0)
        Thread {
            _ = try? pool.read { db in
                isReading.signal()
                // Until the suspension interrupts it.
                _ = try db.int(forQuery: AsyncQueueTests.endless)
            }
            hasEnded.signal()
        }
        .start()
        isReading.wait()
        try check(pool.statistics().openReaderCount, equals: 1)
        check(pool.suspend(waiting: .zero))
        hasEnded.wait()
        pool.resume()
        let statistics = try pool.statistics()
        check(statistics.openReaderCount, equals: 0)
        check(statistics.readersInUse, equals: 0)
    }

    @Test func `a read of a pool cannot wait for the writer`() throws {
        let pool = try database.openPool()
        try pool.read { _ in
            check(storageError { _ = try pool.statistics() }?.code, equals: 21)
        }
        let commits = try pool.write { db in
            try db.executeUpdate("INSERT INTO t VALUES (1)")
            return try pool.statistics().commits
        }
        try check(pool.statistics().commits, equals: commits + 1)
    }
}
