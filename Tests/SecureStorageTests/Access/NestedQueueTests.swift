import Foundation
import SecureStorage
import Testing
import TestSupport

/// Blocks of several queues and pools, nested in each other.
struct NestedQueueTests {
    private static func queue() throws -> SecureDatabaseQueue {
        SecureDatabaseQueue(databaseStore: try TemporaryDatabase().openStore())
    }

    /// Takes the turns of `count` queues on as many threads; each thread takes its own queue's
    /// turn, then the next queue's.
    ///
    /// - Returns: The errors of the inner calls.
    private func circle(
        of count: Int, _ take: @escaping @Sendable (Int, () throws -> Void) throws -> Void
    ) -> [SecureStorageError] {
        let errors = Shared<[SecureStorageError]>([])
        let gate = Gate(count: count)
        onThreads(count) { number in
            do {
                try take(number) {
                    gate.pass()
                    try take((number + 1) % count) {}
                }
            } catch {
                errors.withLock { $0 += [error as? SecureStorageError].compactMap { $0 } }
            }
        }
        return errors.current
    }

    @Test(arguments: [2, 3, 5])
    func `when queues are nested in a circle, one call throws and the others continue`(count: Int)
        throws
    {
        let queues = try (0..<count).map { _ in try Self.queue() }
        for _ in 0..<50 {
            let errors = circle(of: count) { number, body in
                try queues[number].inDatabase { _ in try body() }
            }
            check(errors.map(\.code), equals: [6])
            check("\(errors)".contains("same order"))
        }
        // All queues are still usable.
        for queue in queues { try check(queue.inDatabase { try $0.int("SELECT 1") }, equals: 1) }
    }

    @Test
    func `when a queue and two pools' writers are nested in a circle, one call throws`() throws {
        let queue = try Self.queue()
        let databases = try (0..<2).map { _ in try TemporaryDatabase() }
        let pools = try databases.map { try $0.openPool() }
        let errors = circle(of: 3) { number, body in
            if number == 2 {
                try queue.inDatabase { _ in try body() }
            } else {
                try pools[number].write { _ in try body() }
            }
        }
        check(errors.map(\.code), equals: [6])
    }

    @Test
    func `when blocks of tasks are nested in a circle, one call throws`() async throws {
        let queues = try (0..<2).map { _ in try Self.queue() }
        let gate = Gate(count: 2)
        let tasks = (0..<2).map { number in
            Task {
                try await queues[number].inDatabase { _ in
                    gate.pass()
                    return try queues[1 - number].inDatabase { try $0.int("SELECT 1") }
                }
            }
        }
        var errors: [SecureStorageError] = []
        for task in tasks {
            do {
                try await check(task.value, equals: 1)
            } catch { errors += [error as? SecureStorageError].compactMap { $0 } }
        }
        check(errors.map(\.code), equals: [6])
    }

    @Test
    func `the call of a task that a synchronous block starts runs after the block`() async throws {
        let queue = try Self.queue()
        let blockHasEnded = Shared(false)
        func start() throws -> Task<Bool, any Error> {
            try queue.inDatabase { _ in
                let task = Task {
                    try await queue.inDatabase { _ in blockHasEnded.current }
                }
                usleep(20_000)
                blockHasEnded.withLock { $0 = true }
                return task
            }
        }
        try await check(start().value)
    }

    @Test
    func `queues nested at random never deadlock, and a fixed order never fails`() throws {
        let queues = try (0..<4).map { _ in try Self.queue() }
        let failures = Shared(0)
        onThreads(8) { thread in
            for round in 0..<300 {
                let inOrder = thread.isMultiple(of: 2)
                let numbers = (0..<4).shuffled().prefix(3)
                let chosen = inOrder ? numbers.sorted() : Array(numbers)
                do {
                    try queues[chosen[0]].inDatabase { _ in
                        try queues[chosen[1]].inDatabase { _ in
                            try queues[chosen[2]].inDatabase { db in
                                guard try db.int("SELECT \(round)") == round else {
                                    throw CocoaError(.featureUnsupported)
                                }
                            }
                        }
                    }
                } catch {
                    if (error as? SecureStorageError)?.code != 6 { failures.withLock { $0 += 1 } }
                }
            }
        }
        check(failures.current, equals: 0)
        onThreads(8) { _ in
            for _ in 0..<300 {
                let chosen = (0..<4).shuffled().prefix(2).sorted()
                do {
                    try queues[chosen[0]].inDatabase { _ in
                        try queues[chosen[1]].inDatabase { _ in }
                    }
                } catch { failures.withLock { $0 += 1 } }
            }
        }
        check(failures.current, equals: 0)
    }
}
