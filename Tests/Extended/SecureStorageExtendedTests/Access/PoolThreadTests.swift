import Foundation
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// A pool used by many threads.
struct PoolThreadTests {
    let database: TemporaryDatabase
    let pool: SecureDatabasePool

    init() throws {
        database = try TemporaryDatabase()
        pool = try database.openPool()
        try pool.write { db in
            try db.executeStatements("CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (0)")
        }
    }

    private func makePool(readers: Int) throws -> SecureDatabasePool {
        try database.openPool { $0.maximumReaderCount = readers }
    }

    private func inNewThread(_ body: @escaping @Sendable () throws -> Void) -> DispatchSemaphore {
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            do { try body() } catch { Issue.record(error) }
            done.signal()
        }
        return done
    }

    @Test func `16 threads of calls on a pool lose no update`() throws {
        let threads = 16
        let calls = Threads.callsPerThread
        onThreads(threads) { thread in
            for call in 0..<calls {
                do {
                    switch (thread + call) % 8 {
                    case 0:
                        try pool.write { db in
                            let value = try db.int("SELECT a FROM t") ?? 0
                            try db.executeUpdate("UPDATE t SET a = ?", values: [value + 1])
                        }
                    case 1:
                        try pool.writeWithoutTransaction { db in
                            try db.executeUpdate("UPDATE t SET a = a + 1")
                        }
                    case 2:
                        try pool.write { db in
                            let before = try pool.read { try $0.int("SELECT a FROM t") } ?? 0
                            try db.executeUpdate("UPDATE t SET a = ?", values: [before + 1])
                        }
                    case 3 where call % 128 == 3:
                        pool.releaseMemory()
                    default:
                        let values = try pool.read { db in
                            [try db.int("SELECT a FROM t"), try db.int("SELECT a FROM t")]
                        }
                        check(values[0], equals: values[1])
                    }
                } catch {
                    Issue.record(error)
                }
            }
        }
        let writes = (0..<threads).map { thread in
            (0..<calls).filter { ($0 + thread) % 8 < 3 }.count
        }
        try check(pool.read { try $0.int("SELECT a FROM t") }, equals: writes.reduce(0, +))
    }

    @Test func `readers and writers do not wait for each other`() throws {
        let writing = DispatchSemaphore(value: 0)
        let read = DispatchSemaphore(value: 0)
        let writer = inNewThread { [pool] in
            try pool.write { db in
                try db.executeUpdate("UPDATE t SET a = 1")
                writing.signal()
                // Longer than the reader would wait if it had to.
                check(read.wait(timeout: .now() + 20), equals: .success)
                try db.executeUpdate("UPDATE t SET a = 2")
            }
        }
        writing.wait()
        // A new reader, then one that is already open.
        for _ in 1...2 { try check(pool.read { try $0.int("SELECT a FROM t") }, equals: 0) }
        try pool.read { db in
            read.signal()
            writer.wait()
            let value = try db.int("SELECT a FROM t")
            check(value, equals: 0)
        }
        try check(pool.read { try $0.int("SELECT a FROM t") }, equals: 2)
    }

    @Test
    func `reads are not held up by a writer`() throws {
        let (writing, read) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let writer = inNewThread { [pool] in
            try pool.write { db in
                try db.executeUpdate("UPDATE t SET a = 1")
                writing.signal()
                check(read.wait(timeout: .now() + 60) == .success, "a hundred reads have ended")
            }
        }
        writing.wait()
        for _ in 1...100 { try check(pool.read { try $0.int("SELECT a FROM t") }, equals: 0) }
        read.signal()
        writer.wait()
    }

    @Test func `as many reads run concurrently as there are readers`()
        throws
    {
        let pool = try makePool(readers: 3)
        let running = Shared(0)
        let most = Shared(0)
        let gate = Gate(count: 3)
        onThreads(3) { _ in
            #expect(throws: Never.self) { try pool.read { _ in gate.pass() } }
        }
        onThreads(12) { _ in
            for _ in 1...50 {
                #expect(throws: Never.self) {
                    try pool.read { _ in
                        let now = running.withLock { count -> Int in
                            count += 1
                            return count
                        }
                        most.withLock { $0 = max($0, now) }
                        sched_yield()
                        running.withLock { $0 -= 1 }
                    }
                }
            }
        }
        check(most.current <= 3)
    }

    #if os(Linux)
        @Test(arguments: [false, true])
        func `readers and writers are admitted in order of arrival`(writes: Bool) throws {
            let pool = try makePool(readers: 1)
            let gate = DispatchSemaphore(value: 0)
            let order = Shared<[Int]>([])
            Threads.arrive(20) {
                gate.signal()
            } _: { number in
                let block: (SecureDatabaseStore) -> Void = { _ in
                    if number == 0 { gate.wait() }
                    order.withLock { $0.append(number) }
                }
                do {
                    if writes { try pool.write(block) } else { try pool.read(block) }
                } catch {
                    Issue.record(error)
                }
            }
            check(order.current, equals: Array(0..<20))
        }

        @Test
        func `close waits for running blocks and refuses waiting ones`() throws {
            let pool = try makePool(readers: 1)
            let gate = DispatchSemaphore(value: 0)
            let events = Shared<[String]>([])
            // Threads 0 and 1 are in their blocks, 2 and 3 wait for them, and 4 closes the pool.
            Threads.arrive(5) {
                check(!pool.isOpen())
                check(storageError { try pool.read { _ in } }, equals: .closed)
                // This is the waiting reader; the waiting writer is refused when its turn comes.
                while events.current.isEmpty { sched_yield() }
                check(events.current, equals: ["refused"])
                gate.signal()
                gate.signal()
            } _: { number in
                let block: (SecureDatabaseStore) throws -> Void = { db in
                    gate.wait()
                    _ = try db.int("SELECT a FROM t")
                    events.withLock { $0.append("done") }
                }
                let error = storageError {
                    switch number {
                    case 0: try pool.read(block)
                    case 1: try pool.write(block)
                    case 2: try pool.read { _ in }
                    case 3: try pool.write { _ in }
                    default:
                        pool.close()
                        events.withLock { $0.append("closed") }
                    }
                }
                if error == .closed { events.withLock { $0.append("refused") } }
            }
            check(events.current.filter { $0 == "done" }.count, equals: 2)
            check(events.current.filter { $0 == "refused" }.count, equals: 2)
            let closed = try require(events.current.firstIndex(of: "closed"))
            check(events.current[..<closed].filter { $0 == "done" }.count, equals: 2)
        }
    #endif

    @Test
    func `close inside a block takes effect when the block has ended`() throws {
        try pool.write { db in
            try db.executeUpdate("UPDATE t SET a = 1")
            pool.close()
            check(!pool.isOpen())
            check(
                storageError { try pool.open(with: .raw(TemporaryDatabase.key)) }?.kind,
                equals: .openFailed)
            // A read inside the running block is part of it.
            try check(pool.read { try $0.int("SELECT a FROM t") }, equals: 1)
        }
        check(storageError { try pool.read { _ in } }, equals: .closed)
        try check(database.fileNames(), equals: ["test.db"])
        try pool.open(with: .raw(TemporaryDatabase.key))
        let value = try pool.read { db in
            pool.close()
            return try db.int("SELECT a FROM t")
        }
        check(value, equals: 1)
        try check(database.fileNames(), equals: ["test.db"])
    }

    @Test func `many threads open and close a pool under load`() throws {
        pool.close()
        onThreads(8) { thread in
            for round in 1...40 {
                do {
                    switch (thread + round) % 4 {
                    case 0: pool.close()
                    case 1: try pool.open(with: .raw(TemporaryDatabase.key))
                    case 2: try pool.write { try $0.executeUpdate("UPDATE t SET a = a + 1") }
                    default:
                        _ = try pool.read { try $0.int("SELECT a FROM t") }
                        pool.releaseMemory()
                    }
                } catch SecureStorageError.closed {
                    // The pool was closed at that moment.
                } catch {
                    Issue.record(error)
                }
            }
        }
        pool.close()
        try check(database.fileNames(), equals: ["test.db"])
        try check(database.openStore().int("SELECT count(*) FROM t"), equals: 1)
    }

    @Test func `interrupt ends the statements of all connections`() throws {
        let endless =
            "WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
        let codes = Shared<[Int?]>([])
        let begun = Gate(count: 4)
        let threads = (0..<3).map { number in
            inNewThread { [pool] in
                let block: (SecureDatabaseStore) throws -> Void = { db in
                    begun.pass()
                    _ = try db.int(endless)
                }
                let error = storageError {
                    if number == 0 { try pool.write(block) } else { try pool.read(block) }
                }
                codes.withLock { $0.append(error?.code) }
            }
        }
        begun.pass()
        // A statement that has not begun yet is not interrupted.
        while codes.current.count < 3 {
            pool.interrupt()
            usleep(1000)
        }
        for thread in threads { thread.wait() }
        check(codes.current, equals: [9, 9, 9])
        try check(pool.read { try $0.int("SELECT a FROM t") }, equals: 0)
        try pool.write { try $0.executeUpdate("UPDATE t SET a = 1") }
        // Nothing runs now, so this interrupt must not end the checkpoint at close either.
        pool.interrupt()
        pool.close()
        try check(database.fileNames(), equals: ["test.db"])
    }
}
