import Foundation
import SecureStorage
import Testing
import TestSupport

struct AsyncPoolTests {
    let database: TemporaryDatabase
    let pool: SecureDatabasePool

    init() throws {
        database = try TemporaryDatabase()
        pool = try database.openPool()
        try pool.write { try $0.executeUpdate("CREATE TABLE t (a INTEGER)") }
    }

    struct Failure: Error {}

    private func count() async throws -> Int? {
        try await pool.read { try $0.int("SELECT count(*) FROM t") }
    }

    // MARK: - Blocks

    @Test func `blocks return their values and throw their errors`() async throws {
        try await check(pool.read { _ in 42 }, equals: 42)
        try await check(pool.write { _ in 43 }, equals: 43)
        try await check(pool.writeWithoutTransaction { _ in 44 }, equals: 44)
        await #expect(throws: Failure.self) { try await pool.read { _ in throw Failure() } }
        await #expect(throws: Failure.self) { try await pool.write { _ in throw Failure() } }
    }

    @Test func `a write is committed, and rolled back when its block throws`() async throws {
        try await pool.write { try $0.executeUpdate("INSERT INTO t VALUES (1)") }
        await #expect(throws: Failure.self) {
            try await pool.write {
                try $0.executeUpdate("INSERT INTO t VALUES (2)")
                throw Failure()
            }
        }
        try await check(count(), equals: 1)
        try await check(pool.checkpoint(.truncate) == (0, 0))
    }

    @Test func `a transaction left open by a block is an error and is rolled back`() async throws {
        let error = await #expect(throws: SecureStorageError.self) {
            try await pool.writeWithoutTransaction {
                try $0.beginImmediateTransaction()
                try $0.executeUpdate("INSERT INTO t VALUES (1)")
            }
        }
        check(error?.code, equals: 21)
        try await check(count(), equals: 0)
    }

    @Test func `synchronous calls inside an asynchronous block are part of it`() async throws {
        let pool = pool
        try await pool.write { db in
            try db.executeUpdate("INSERT INTO t VALUES (1)")
            try check(pool.read { try $0.int("SELECT count(*) FROM t") }, equals: 1)
            try pool.write { try $0.executeUpdate("INSERT INTO t VALUES (2)") }
        }
        let error = await #expect(throws: SecureStorageError.self) {
            try await pool.read { _ in
                try pool.write { try $0.executeUpdate("INSERT INTO t VALUES (3)") }
            }
        }
        check(error?.code, equals: 21)
        try await check(count(), equals: 2)
    }

    @Test func `consecutive reads use one connection`() async throws {
        let opened = Shared(0)
        let pool = SecureDatabasePool(fullDatabasePath: database.path + ".2") { _ in
            opened.withLock { $0 += 1 }
        }
        try await pool.open(with: .raw(TemporaryDatabase.key))
        let before = opened.current
        for _ in 0..<100 { _ = try await pool.read { try $0.int("SELECT 1") } }
        check(opened.current, equals: before + 1)
        await pool.close()
    }

    @Test func `a closed pool refuses tasks, including waiting ones`() async throws {
        let database = try TemporaryDatabase()
        let pool = try database.openPool { $0.maximumReaderCount = 1 }
        let (entered, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let running = Task {
            try await pool.read { db in
                entered.signal()
                gate.wait()
                return try db.int("SELECT 1")
            }
        }
        await entered.signalled()
        let waiting = Task { try await pool.read { try $0.int("SELECT 1") } }
        try await Task.sleep(for: .milliseconds(50))
        let closing = Task { await pool.close() }
        await #expect(throws: SecureStorageError.closed) { try await waiting.value }
        gate.signal()
        try await check(running.value, equals: 1)
        await closing.value
        await #expect(throws: SecureStorageError.closed) { try await pool.read { _ in } }
        await #expect(throws: SecureStorageError.closed) { try await pool.write { _ in } }
    }

    @Test func `tasks open, re-key and close a pool under load`() async throws {
        let database = try TemporaryDatabase()
        let pool = SecureDatabasePool(url: database.url)
        try await pool.open(with: .raw(TemporaryDatabase.key)) { db in
            do {
                try db.executeStatements("CREATE TABLE t (a); INSERT INTO t VALUES (0)")
                return nil
            } catch { return error }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<40 {
                group.addTask {
                    for _ in 0..<20 {
                        if number.isMultiple(of: 4) {
                            try await pool.write { try $0.executeUpdate("UPDATE t SET a = a + 1") }
                        } else {
                            try await check(pool.read { try $0.int("SELECT a FROM t") } != nil)
                        }
                    }
                }
            }
            for number: UInt8 in 1...5 {
                group.addTask {
                    try await pool.changeEncryptionKey(
                        with: .raw(Data(repeating: number, count: 32)))
                }
            }
            try await group.waitForAll()
        }
        try await check(pool.read { try $0.int("SELECT a FROM t") }, equals: 200)
        await pool.close()
        check(!pool.isOpen())
    }

    // MARK: - Threads

    @Test func `waiting and running reads take no thread from other tasks`() async throws {
        let pool = pool
        let (entered, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let reads = (0..<100).map { _ in
            Task {
                try await pool.read { _ in
                    entered.signal()
                    gate.wait()
                }
            }
        }
        // As many reads run as there are readers; the others wait.
        for _ in 0..<5 { await entered.signalled() }
        let others = await withTaskGroup(of: Int.self) { group in
            for number in 1...100 { group.addTask { number } }
            return await group.reduce(0, +)
        }
        check(others, equals: 5050)
        for _ in reads { gate.signal() }
        for read in reads { try await read.value }
    }

    @Test func `a read does not wait for a write, and its snapshot does not change`() async throws {
        let pool = pool
        let (written, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let write = Task {
            try await pool.write { db in
                try db.executeUpdate("INSERT INTO t VALUES (1)")
                written.signal()
                gate.wait()
            }
        }
        await written.signalled()
        try await check(count(), equals: 0)
        gate.signal()
        try await write.value
        try await check(count(), equals: 1)
    }

    // MARK: - Cancellation

    @Test func `a read cancelled while waiting ends immediately and takes no slot`() async throws {
        let pool = try database.openPool { $0.maximumReaderCount = 1 }
        let (entered, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let running = Task {
            try await pool.read { _ in
                entered.signal()
                gate.wait()
            }
        }
        await entered.signalled()
        let waiting = Task { try await pool.read { _ in Issue.record("the block ran") } }
        try await Task.sleep(for: .milliseconds(50))
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        gate.signal()
        try await running.value
        try await check(pool.read { try $0.int("SELECT 1") }, equals: 1)
    }

    @Test func `cancelling a write interrupts its statement and rolls back the write`() async throws
    {
        let pool = pool
        let began = DispatchSemaphore(value: 0)
        let write = Task {
            try await pool.write { db in
                try db.executeUpdate("INSERT INTO t VALUES (1)")
                began.signal()
                _ = try db.int(AsyncQueueTests.endless)
            }
        }
        await began.signalled()
        write.cancel()
        await #expect(throws: CancellationError.self) { try await write.value }
        try await check(count(), equals: 0)
        try await pool.write { try $0.executeUpdate("INSERT INTO t VALUES (2)") }
        try await check(count(), equals: 1)
    }

    @Test
    func `cancelling one of a hundred reads does not affect the others`() async throws {
        // Under a sanitizer, a hundred threads are too slow for a test.
        let count = Sanitizer.isPresent ? 10 : 100
        let pool = try database.openPool { $0.maximumReaderCount = count }
        let entered = DispatchSemaphore(value: 0)
        let gate = DispatchSemaphore(value: 0)
        let isOver = Shared(false)
        let others = (1..<count).map { _ in
            Task {
                try await pool.read { db in
                    entered.signal()
                    gate.wait()
                    repeat {
                        guard try db.int(Self.finite) == 20_000 else { return false }
                    } while !isOver.current
                    return true
                }
            }
        }
        let victim = Victim()
        let one = Task {
            try await pool.read { db in
                try victim.run(entered) { _ = try db.int(AsyncQueueTests.endless) }
            }
        }
        for _ in 0..<count { await entered.signalled() }
        for _ in others { gate.signal() }
        victim.willBeCancelled()
        one.cancel()
        await #expect(throws: CancellationError.self) { try await one.value }
        isOver.withLock { $0 = true }
        for other in others { try await check(other.value) }
        check(victim.spent < .seconds(5), "\(victim.spent)")
    }

    /// A query that runs for a moment and counts to a known number.
    private static let finite = """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000)
        SELECT count(*) FROM n
        """
}

/// A thread whose CPU time is measured from its cancellation to its end.
private final class Victim: Sendable {
    private let clock = Shared(ThreadTime.Clock.ofThisThread)
    private let begin = Shared(Duration.zero)
    private let end = Shared(Duration.zero)

    var spent: Duration { end.current - begin.current }

    func run(_ entered: DispatchSemaphore, _ body: () throws -> Void) rethrows {
        clock.withLock { $0 = .ofThisThread }
        entered.signal()
        defer { end.withLock { $0 = clock.current.now } }
        try body()
    }

    func willBeCancelled() { begin.withLock { $0 = clock.current.now } }
}
