import Foundation
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

@Suite(.serialized) struct ObservationCostTests {
    /// Returns the processor time of the shortest of five rounds, in seconds: a queue runs its
    /// blocks on the thread of the caller.
    private static func seconds(_ body: () throws -> Void) rethrows -> Double {
        var least = Double.infinity
        for _ in 1...5 {
            let began = ThreadTime.now
            try body()
            least = min(least, (ThreadTime.now - began) / .seconds(1))
        }
        return least
    }

    private static func insert(_ count: Int, into queue: SecureDatabaseQueue) throws {
        try queue.inExclusiveTransaction { db in
            for number in 0..<count {
                try db.executeUpdate("INSERT INTO t (a) VALUES (?)", values: [number])
            }
            return false
        }
    }

    private static func commit(_ count: Int, on queue: SecureDatabaseQueue) throws {
        for number in 0..<count {
            try queue.inDatabase {
                try $0.executeUpdate("INSERT INTO t (a) VALUES (?)", values: [number])
            }
        }
    }

    private struct Costs {
        let insert: Double
        let commit: Double
    }

    /// Returns the microseconds of an insert in a transaction and of one that commits by itself.
    private static func costs(of queue: SecureDatabaseQueue) throws -> Costs {
        let insert = try seconds { try Self.insert(4_000, into: queue) } / 4_000 * 1e6
        let commit = try seconds { try Self.commit(400, on: queue) } / 400 * 1e6
        return Costs(insert: insert, commit: commit)
    }

    @Test func `a database that is not observed pays nothing, an observed one little`() throws {
        let observed = try ObservedDatabase { $0.synchronous = .normal }
        let before = try Self.costs(of: observed.queue)
        let (with, withRows) = try Self.observedCosts(observed.queue)
        try observed.run("SELECT 1")
        let after = try Self.costs(of: observed.queue)
        for (name, costs) in [
            ("before", before), ("observed", with), ("observed with row ids", withRows),
            ("after", after),
        ] {
            print("\(name): \(costs.insert) µs an insert, \(costs.commit) µs a commit")
        }
        guard !Sanitizer.isPresent else { return }
        // Wide limits, since other tests run beside this one and the code is not optimised; the
        // figures are printed.
        check(after.insert < before.insert * 4)
        check(with.insert < before.insert * 10)
        check(with.commit < before.commit * 10)
    }

    private static func observedCosts(
        _ queue: SecureDatabaseQueue
    ) throws -> (Costs, withRowIDs: Costs) {
        let changes = queue.changes().makeAsyncIterator()
        let with = try costs(of: queue)
        let rows = queue.changes(rowIDs: true).makeAsyncIterator()
        let withRows = try costs(of: queue)
        withExtendedLifetime((changes, rows)) {}
        return (with, withRows)
    }
}
