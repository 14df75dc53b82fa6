import Foundation
import Testing
import TestSupport

@testable import SecureStorage

struct TurnWaitTests {
    let database: TemporaryDatabase
    let recorder = ReportRecorder()

    init() throws {
        database = try TemporaryDatabase()
        try database.openStore().executeUpdate("CREATE TABLE t (a INTEGER)")
    }

    /// Runs `second` while a block of `first` holds what it needs for 0.1 s.
    ///
    /// - Returns: How long `second` took.
    private func overlap(
        _ first: @escaping @Sendable (() -> Void) throws -> Void,
        _ second: () throws -> Void
    ) throws -> Duration {
        let hasBegun = DispatchSemaphore(value: 0)
        let hasEnded = DispatchSemaphore(value: 0)
        let holder = Thread {
            try? first {
                hasBegun.signal()
                Thread.sleep(forTimeInterval: 0.1)
            }
            hasEnded.signal()
        }
        holder.start()
        hasBegun.wait()
        let took = try ContinuousClock().measure { try second() }
        hasEnded.wait()
        return took
    }

    /// - Parameters:
    ///   - operation: Of the statement that has waited.
    ///   - whole: How long its call took.
    private func expectOneWait(in operation: String, of whole: Duration) {
        let waits = recorder.reports.filter { $0.turnWait > .zero }
        check(waits.count, equals: 1)
        check(waits.first?.operation, equals: operation)
        check(waits.first.map { $0.turnWait > .milliseconds(50) }, equals: true)
        // The statement's own duration does not contain the wait.
        check(waits.first.map { $0.duration + $0.turnWait <= whole }, equals: true)
    }

    @Test func `the first statement of a queue's call has its wait for the turn`() throws {
        let queue = SecureDatabaseQueue(
            databaseStore: try database.openStore(configure: recorder.observe))
        let whole = try overlap { hold in
            try queue.inDatabase { _ in hold() }
        } _: {
            try queue.inDatabase { db in
                try db.executeUpdate("INSERT INTO t VALUES (1)")
                try db.executeUpdate("DELETE FROM t")
            }
        }
        expectOneWait(in: "INSERT", of: whole)
    }

    @Test func `a call that need not wait has none`() throws {
        let queue = SecureDatabaseQueue(
            databaseStore: try database.openStore(configure: recorder.observe))
        try queue.write { try $0.executeUpdate("INSERT INTO t VALUES (1)") }
        check(recorder.reports.map(\.operation), equals: ["BEGIN", "INSERT", "COMMIT"])
        check(recorder.reports.allSatisfy { $0.turnWait == .zero })
    }

    @Test func `an asynchronous call has its wait, too`() async throws {
        let queue = SecureDatabaseQueue(
            databaseStore: try database.openStore(configure: recorder.observe))
        let (begun, beginning) = AsyncStream.makeStream(of: Void.self)
        async let first: Void = queue.inDatabase { _ in
            beginning.finish()
            // The task may take its time to arrive.
            while !queue.store.turn.hasWaiters { Thread.sleep(forTimeInterval: 0.001) }
            Thread.sleep(forTimeInterval: 0.1)
        }
        for await _ in begun {}
        let whole = try await ContinuousClock().measure {
            try await queue.write { try $0.executeUpdate("INSERT INTO t VALUES (1)") }
        }
        try await first
        expectOneWait(in: "BEGIN", of: whole)
    }

    @Test func `a pool's writer and its readers have theirs`() throws {
        let pool = try database.openPool {
            recorder.observe(&$0)
            $0.maximumReaderCount = 1
        }
        let write = try overlap { hold in
            try pool.write { _ in hold() }
        } _: {
            try pool.write { try $0.executeUpdate("INSERT INTO t VALUES (1)") }
        }
        expectOneWait(in: "BEGIN", of: write)
        recorder.clear()
        let read = try overlap { hold in
            try pool.read { _ in hold() }
        } _: {
            _ = try pool.read { try $0.int(forQuery: "SELECT count(*) FROM t") }
        }
        expectOneWait(in: "BEGIN", of: read)
    }
}
