import Foundation
import SecureStorage
import Testing
import TestSupport

struct AsyncQueueTests {
    let database: TemporaryDatabase
    let queue: SecureDatabaseQueue

    init() throws {
        database = try TemporaryDatabase()
        queue = SecureDatabaseQueue(databaseStore: try database.openStore())
        try queue.inDatabase { try $0.executeUpdate("CREATE TABLE t (a INTEGER)") }
    }

    struct Failure: Error {}

    /// A query that runs far longer than any test.
    static let endless = """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n
        """

    private func count() async throws -> Int? {
        try await queue.inDatabase { try $0.int(forQuery: "SELECT count(*) FROM t") }
    }

    // MARK: - Blocks

    @Test func `a block returns its value and throws its error`() async throws {
        try await check(queue.inDatabase { _ in 42 }, equals: 42)
        await #expect(throws: Failure.self) { try await queue.inDatabase { _ in throw Failure() } }
    }

    @Test func `each kind of transaction commits, or rolls back when its block returns true`()
        async throws
    {
        let queue = queue
        for rollsBack in [false, true] {
            try await queue.inDeferredTransaction {
                try $0.executeUpdate("INSERT INTO t VALUES (1)")
                return rollsBack
            }
            try await queue.inImmediateTransaction {
                try $0.executeUpdate("INSERT INTO t VALUES (2)")
                return rollsBack
            }
            try await queue.inExclusiveTransaction {
                try $0.executeUpdate("INSERT INTO t VALUES (3)")
                return rollsBack
            }
            try await check(count(), equals: 3)
        }
    }

    @Test func `waiting and running calls take no thread from other tasks`() async throws {
        let queue = queue
        let gate = DispatchSemaphore(value: 0)
        // Far more calls than the cooperative pool has threads; only the first one runs.
        let calls = (0..<200).map { (number: Int) in
            Task { try await queue.inDatabase { _ in if number == 0 { gate.wait() } } }
        }
        let others = await withTaskGroup(of: Int.self) { group in
            for number in 1...100 { group.addTask { number } }
            return await group.reduce(0, +)
        }
        check(others, equals: 5050)
        gate.signal()
        for call in calls { try await call.value }
    }

    @Test func `synchronous calls inside an asynchronous block are part of it`() async throws {
        let queue = queue
        let other = SecureDatabaseQueue(databaseStore: try TemporaryDatabase().openStore())
        try await queue.inExclusiveTransaction { db in
            try db.executeUpdate("INSERT INTO t VALUES (1)")
            try other.inDatabase { _ in
                try queue.inExclusiveTransaction {
                    try $0.executeUpdate("INSERT INTO t VALUES (2)")
                    return true
                }
            }
            return false
        }
        try await check(count(), equals: 1)
    }

    @Test func `a block that throws or returns true is rolled back`() async throws {
        await #expect(throws: Failure.self) {
            try await queue.inExclusiveTransaction {
                try $0.executeUpdate("INSERT INTO t VALUES (1)")
                throw Failure()
            }
        }
        for begin in [
            queue.inTransaction, queue.inExclusiveTransaction, queue.inDeferredTransaction,
            queue.inImmediateTransaction, queue.inSavePoint,
        ] as [(@escaping @Sendable (SecureDatabaseStore) throws -> Bool) async throws -> Void] {
            try await begin {
                try $0.executeUpdate("INSERT INTO t VALUES (1)")
                return true
            }
        }
        try await check(count(), equals: 0)
        try await queue.checkpoint(.truncate)
    }

    @Test func `result sets that a block leaves open are closed`() async throws {
        try await queue.inDatabase { db in _ = try db.executeQuery("SELECT 1").next() }
        try await check(queue.inDatabase { !$0.hasOpenResultSets })
    }

    @Test func `a thousand tasks lose no update and block no thread that other tasks need`()
        async throws
    {
        try await queue.inDatabase { try $0.executeUpdate("INSERT INTO t VALUES (0)") }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<1000 {
                group.addTask { [queue] in
                    try await queue.inImmediateTransaction { db in
                        let now = try db.int(forQuery: "SELECT a FROM t") ?? 0
                        try db.executeUpdate("UPDATE t SET a = ?", now + 1)
                        return false
                    }
                }
            }
            try await group.waitForAll()
        }
        try await check(queue.inDatabase { try $0.int(forQuery: "SELECT a FROM t") }, equals: 1000)
    }

    @Test func `asynchronous and synchronous calls run in order of arrival`() async throws {
        let gate = DispatchSemaphore(value: 0)
        let entered = DispatchSemaphore(value: 0)
        let queue = queue
        let holder = Thread {
            try? queue.inDatabase { _ in
                entered.signal()
                gate.wait()
            }
        }
        holder.start()
        await entered.signalled()
        let arrivals = Arrivals()
        var tasks: [Task<Void, any Error>] = []
        for number in 0..<20 {
            let arrived = DispatchSemaphore(value: 0)
            if number.isMultiple(of: 2) {
                tasks.append(
                    Task.detached {
                        async let call: Void = queue.inDatabase { _ in arrivals.note(number) }
                        arrived.signal()
                        try await call
                    })
            } else {
                Thread {
                    arrived.signal()
                    try? queue.inDatabase { _ in arrivals.note(number) }
                }.start()
            }
            await arrived.signalled()
            // Gives the call time to get from "about to call" to "in line".
            try await Task.sleep(for: .milliseconds(20))
        }
        gate.signal()
        for task in tasks { try await task.value }
        try await queue.inDatabase { _ in }
        check(arrivals.numbers, equals: Array(0..<20))
    }

    // MARK: - Cancellation

    @Test func `a task cancelled before its call gets an error, and its block does not run`()
        async throws
    {
        let queue = queue
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await queue.inDatabase { try $0.executeUpdate("INSERT INTO t VALUES (1)") }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        try await check(count(), equals: 0)
    }

    @Test func `a task cancelled while waiting gets its error immediately`() async throws {
        let queue = queue
        let gate = DispatchSemaphore(value: 0)
        let (held, started) = AsyncStream.makeStream(of: Void.self)
        let holder = Task {
            try await queue.inDatabase { _ in
                started.finish()
                gate.wait()
            }
        }
        // Otherwise the other task could come first.
        for await _ in held {}
        let waiting = Task {
            try await queue.inDatabase { try $0.executeUpdate("INSERT INTO t VALUES (1)") }
        }
        try await Task.sleep(for: .milliseconds(50))
        waiting.cancel()
        // The holder still has the turn.
        await #expect(throws: CancellationError.self) { try await waiting.value }
        gate.signal()
        try await holder.value
        try await check(count(), equals: 0)
    }

    @Test func `cancelling interrupts the statement and rolls back the transaction`() async throws {
        let queue = queue
        let begun = DispatchSemaphore(value: 0)
        let task = Task {
            try await queue.inExclusiveTransaction { db in
                try db.executeUpdate("INSERT INTO t VALUES (1)")
                begun.signal()
                _ = try db.int(forQuery: Self.endless)
                return false
            }
        }
        await begun.signalled()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        try await check(count(), equals: 0)
    }

    @Test
    func `after a cancellation, neither the rest of the block's statements nor its commit run`()
        async throws
    {
        let queue = queue
        let errors = Arrivals()
        let begun = DispatchSemaphore(value: 0)
        let goOn = DispatchSemaphore(value: 0)
        let task = Task {
            try await queue.inExclusiveTransaction { db in
                try db.executeUpdate("INSERT INTO t VALUES (1)")
                begun.signal()
                goOn.wait()
                // The block ignores the error.
                do { try db.executeUpdate("INSERT INTO t VALUES (2)") } catch { errors.note(1) }
                return false
            }
        }
        await begun.signalled()
        task.cancel()
        goOn.signal()
        await #expect(throws: CancellationError.self) { try await task.value }
        check(errors.numbers, equals: [1])
        try await check(count(), equals: 0)
    }

    @Test func `cancelling one of a hundred calls does not affect the others`() async throws {
        let queue = queue
        let victim = Task { try await queue.inDatabase { try $0.int(forQuery: Self.endless) } }
        let others = (0..<100).map { (number: Int) in
            Task { try await queue.inDatabase { try $0.int(forQuery: "SELECT ?", number) } }
        }
        try await Task.sleep(for: .milliseconds(20))
        victim.cancel()
        await #expect(throws: CancellationError.self) { try await victim.value }
        for (number, task) in others.enumerated() { try await check(task.value, equals: number) }
    }

    @Test func `calls cancelled at random do not affect the others`() async throws {
        let queue = queue
        let committed = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<500 {
                group.addTask {
                    let call = Task {
                        try await queue.inImmediateTransaction { db in
                            try db.executeUpdate("INSERT INTO t VALUES (?)", number)
                            return false
                        }
                    }
                    if number.isMultiple(of: 3) {
                        try? await Task.sleep(for: .microseconds(number * 7 % 900))
                        call.cancel()
                    }
                    do {
                        try await call.value
                        return true
                    } catch is CancellationError {
                        return false
                    }
                }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        check(committed >= 333)
        try await check(count(), equals: committed)
    }
}

/// Numbers, in the order in which threads noted them.
final class Arrivals: @unchecked Sendable {
    // @unchecked: `noted` is only touched under `lock`.
    private let lock = NSLock()
    private var noted: [Int] = []

    var numbers: [Int] { lock.withLock { noted } }

    func note(_ number: Int) { lock.withLock { noted.append(number) } }
}

extension DispatchSemaphore {
    /// Waits on a separate thread, because the threads of tasks are few.
    func signalled() async {
        await withCheckedContinuation { continuation in
            Thread {
                self.wait()
                continuation.resume()
            }.start()
        }
    }
}
