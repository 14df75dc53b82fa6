import Foundation
import Testing
import TestSupport

@testable import SecureStorage

struct RowSequenceTests {
    let database: TemporaryDatabase
    let pool: SecureDatabasePool
    static let rowCount = 1000

    init() throws {
        database = try TemporaryDatabase()
        pool = try database.openPool {
            $0.maximumReaderCount = 1
            $0.busyTimeout = .milliseconds(200)
        }
        try pool.write { db in
            try db.executeUpdate("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)")
            for number in 1...Self.rowCount {
                try db.executeUpdate("INSERT INTO t VALUES (?, ?)", number, "row \(number)")
            }
        }
    }

    private struct Row: Codable, Equatable { var a: Int, b: String }
    struct Failure: Error {}

    private func numbers(of pool: SecureDatabasePool) -> SecureDatabaseRows<Int> {
        pool.rows(of: { try $0.executeQuery("SELECT a FROM t ORDER BY a") }) {
            try $0.value(forColumnIndex: 0, as: Int.self) ?? 0
        }
    }

    private func queue() throws -> SecureDatabaseQueue {
        SecureDatabaseQueue(databaseStore: try database.openStore())
    }

    // MARK: - Rows

    @Test func `all rows arrive in order, in each iteration`() async throws {
        let rows = pool.rows(as: Row.self) { db in
            try db.executeQuery("SELECT a, b FROM t WHERE a > ? ORDER BY a", 10)
        }
        for _ in 0..<2 {
            var expected = 11
            for try await row in rows {
                check(row, equals: Row(a: expected, b: "row \(expected)"))
                expected += 1
            }
            check(expected, equals: Self.rowCount + 1)
        }
    }

    @Test func `an empty result has no rows, and its end stays the end`() async throws {
        var iterator = pool.rows(as: Int.self) { try $0.executeQuery("SELECT 1 WHERE 0") }
            .makeAsyncIterator()
        for _ in 0..<3 { try await check(iterator.next() == nil) }
    }

    @Test func `a queue's rows are the committed ones`() async throws {
        let queue = try queue()
        let rows = queue.rows(of: { try $0.executeQuery("SELECT a FROM t") }) { rs in
            try rs.value(forColumnIndex: 0, as: Int.self) ?? 0
        }
        var count = 0
        for try await number in rows {
            count += 1
            // The loop may use the queue.
            if number == 500 {
                try await queue.inDatabase { try $0.executeUpdate("DELETE FROM t WHERE a > 600") }
            }
        }
        check(count, equals: Self.rowCount)
        try await check(queue.inDatabase { try $0.int("SELECT count(*) FROM t") }, equals: 600)
    }

    @Test func `dates are decoded with the given strategy`() async throws {
        let rows = pool.rows(as: Date.self, dates: .millisecondsSince1970) {
            try $0.executeQuery("SELECT 1500")
        }
        for try await date in rows { check(date, equals: Date(timeIntervalSince1970: 1.5)) }
    }

    // MARK: - Back pressure

    @Test func `rows are read as the loop requests them`() async throws {
        let read = Shared(0)
        let rows = pool.rows(of: { try $0.executeQuery("SELECT a FROM t") }) { _ in
            read.withLock { $0 += 1 }
        }
        var iterator = rows.makeAsyncIterator()
        check(read.current, equals: 0)
        for taken in 1...200 {
            try await check(iterator.next() != nil)
            check((taken..<taken + 64).contains(read.current))
        }
        try await Task.sleep(for: .milliseconds(20))
        check(read.current < 264)
    }

    @Test func `a loop can leave an endless result`() async throws {
        let rows = pool.rows(as: Int.self) {
            try $0.executeQuery(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n")
        }
        var last = 0
        for try await number in rows where number > last {
            last = number
            if number == 10_000 { break }
        }
        check(last, equals: 10_000)
    }

    // MARK: - Snapshot and connections

    @Test func `a loop sees one snapshot, and may read and write`() async throws {
        var count = 0
        for try await number in numbers(of: pool) {
            count += 1
            if number.isMultiple(of: 100) {
                try await pool.write { try $0.executeUpdate("DELETE FROM t WHERE a = ?", number) }
                // The pool has one reader, which the loop does not occupy.
                try await check(pool.read { try $0.int("SELECT count(*) FROM t") ?? 0 } < 1000)
            }
        }
        check(count, equals: Self.rowCount)
        try await check(pool.read { try $0.int("SELECT count(*) FROM t") }, equals: 990)
    }

    @Test func `more loops than readers, each reading from the pool, do not deadlock`()
        async throws
    {
        try await withThrowingTaskGroup(of: Int.self) { [pool] group in
            for _ in 0..<12 {
                group.addTask {
                    var sum = 0
                    for try await number in numbers(of: pool) where number.isMultiple(of: 50) {
                        sum += try await pool.read { try $0.int("SELECT 1") ?? 0 }
                    }
                    return sum
                }
            }
            for try await sum in group { check(sum, equals: 20) }
        }
    }

    #if os(Linux)
        @Test func `leaving a loop closes its connection`() async throws {
            await #expect(processExitsWith: .success) {
                let test = try RowSequenceTests()
                for _ in 0..<20 {
                    for try await number in test.numbers(of: test.pool) where number == 3 { break }
                }
                await #expect(throws: Failure.self) {
                    for try await number in test.numbers(of: test.pool) where number == 3 {
                        throw Failure()
                    }
                }
                // The last connection may be closed a moment later, on the thread of its rows.
                // SQLite keeps descriptors of the database file itself as long as the writer has a
                // lock.
                while Descriptors.count(of: test.database.path + "-wal") > 1 { usleep(1000) }
            }
        }
    #endif

    @Test func `changing the key does not disturb a loop`() async throws {
        var count = 0
        for try await number in numbers(of: pool) {
            count += 1
            if number == 100 {
                try await pool.changeEncryptionKey(with: .raw(Data(count: 32)))
            }
        }
        check(count, equals: Self.rowCount)
        try await check(numbers(of: pool).reduce(0) { count, _ in count + 1 }, equals: count)
    }

    // MARK: - The end

    @Test func `closing the pool ends the loop and does not wait for it`() async throws {
        var iterator = numbers(of: pool).makeAsyncIterator()
        try await check(iterator.next(), equals: 1)
        await pool.close()
        check(!FileManager.default.fileExists(atPath: database.path + "-wal"))
        // Rows that were already read still arrive.
        var count = 1
        let error = await #expect(throws: SecureStorageError.self) {
            while try await iterator.next() != nil { count += 1 }
        }
        check(error, equals: .closed)
        check(count <= 64)
        try await check(iterator.next() == nil)
        await #expect(throws: SecureStorageError.closed) {
            for try await _ in numbers(of: pool) {}
        }
    }

    @Test func `closing a queue's store ends its loops`() async throws {
        await pool.close()
        let queue = try queue()
        var iterator = queue.rows(as: Int.self) { try $0.executeQuery("SELECT a FROM t") }
            .makeAsyncIterator()
        try await check(iterator.next(), equals: 1)
        try await queue.inDatabase { $0.close() }
        await #expect(throws: SecureStorageError.closed) {
            while try await iterator.next() != nil {}
        }
        await #expect(throws: SecureStorageError.closed) {
            for try await _ in queue.rows(as: Int.self, { try $0.executeQuery("SELECT 1") }) {}
        }
    }

    @Test func `the pool may be closed inside a closure that maps its rows`() async throws {
        let pool = pool
        let rows = pool.rows(of: { try $0.executeQuery("SELECT a FROM t") }) { _ in pool.close() }
        var iterator = rows.makeAsyncIterator()
        await #expect(throws: SecureStorageError.closed) {
            while try await iterator.next() != nil {}
        }
        while pool.isOpen() { await Task.yield() }
        try await pool.open(with: .raw(TemporaryDatabase.key))
        try await check(pool.read { try $0.int("SELECT 1") }, equals: 1)
    }

    @Test func `errors arrive after the rows before them`() async throws {
        let failing = pool.rows(of: { try $0.executeQuery("SELECT a FROM t ORDER BY a") }) { rs in
            let number = rs.int(forColumnIndex: 0) ?? 0
            if number == 3 { throw Failure() }
            return number
        }
        var seen: [Int] = []
        await #expect(throws: Failure.self) {
            for try await number in failing { seen.append(number) }
        }
        check(seen, equals: [1, 2])
        let error = await #expect(throws: SecureStorageError.self) {
            for try await _ in pool.rows(as: Int.self, { try $0.executeQuery("SELECT nothing") }) {}
        }
        check(error?.code, equals: 1)
        await check(
            #expect(throws: SecureStorageError.self) {
                for try await _ in pool.rows(
                    of: { try $0.executeQuery("DELETE FROM t RETURNING a") }, map: { _ in 1 })
                {}
            }?.code, equals: 8)
    }

    @Test func `cancelling the task ends the query`() async throws {
        let began = DispatchSemaphore(value: 0)
        let pool = pool
        let task = Task {
            for try await _ in pool.rows(
                as: Int.self,
                { db in
                    began.signal()
                    return try db.executeQuery(AsyncQueueTests.endless)
                })
            {}
        }
        await began.signalled()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        try await check(pool.read { try $0.int("SELECT 1") }, equals: 1)
    }

    @Test func `interrupt ends the query`() async throws {
        let pool = pool
        let isOver = Shared(false)
        let interrupter = Thread {
            while !isOver.current {
                pool.interrupt()
                usleep(1000)
            }
        }
        interrupter.start()
        let error = await #expect(throws: SecureStorageError.self) {
            for try await _ in pool.rows(
                as: Int.self,
                {
                    try $0.executeQuery(AsyncQueueTests.endless)
                })
            {}
        }
        isOver.withLock { $0 = true }
        check(error?.code, equals: 9)
    }
}
