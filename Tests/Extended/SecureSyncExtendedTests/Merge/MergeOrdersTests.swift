import Foundation
import SecureStorage
import SecureSync
import TestSupport
import Testing
@testable import SecureSyncTests

/// Every causal order in which the transactions of three members can reach a fourth;
/// `SECURESTORAGE_MERGE_ORDERS` sets how many scripts, `SECURESTORAGE_MERGE_STEPS` how many
/// transactions each member has.
struct MergeOrdersTests {
    @Test func `in every order of delivery, every state is the one of the definitions`() throws {
        for seed in Campaign.seeds(environmentNumber("SECURESTORAGE_MERGE_ORDERS", default: 4)) {
            var random = SplitMix64(seed: seed)
            let simulation = try MergeSimulation(members: 3, clockOffsets: [0, 500, -500])
            // A beginning that all know.
            try simulation.write(0, (0..<6).map { _ in MergeSimulationTests.statement(&random) })
            try simulation.deliverAll { _ in 0 }
            for _ in 0..<environmentNumber("SECURESTORAGE_MERGE_STEPS", default: 2) {
                for member in 0..<3 {
                    try simulation.write(
                        member,
                        (0..<Int.random(in: 1...3, using: &random)).map { _ in
                            MergeSimulationTests.statement(&random)
                        })
                }
            }
            var search = Search(simulation: simulation, seed: seed)
            let file = try CapturedFile(MergeSimulation.schema, member: .numbered(9)) {
                MergeSimulation.declare(&$0)
            }
            try file.write { try search.visit(file) }
            check(search.orders > 0)
            guard !search.hasFailed else { return }
        }
    }

    /// Goes through all orders in one transaction, with a savepoint for each step.
    private struct Search {
        let simulation: MergeSimulation
        let seed: UInt64
        var taken = [0, 0, 0]
        var path: [Int] = []
        var orders = 0
        var hasFailed = false

        init(simulation: MergeSimulation, seed: UInt64) {
            self.simulation = simulation
            self.seed = seed
        }

        mutating func visit(_ file: CapturedFile) throws {
            guard !hasFailed else { return }
            var isEnd = true
            for sender in 0..<3 where taken[sender] < simulation.logs[sender].count {
                let transaction = simulation.logs[sender][taken[sender]]
                let isNext = zip(transaction.known, taken).enumerated().allSatisfy {
                    $0.offset == sender || $0.element.0 <= $0.element.1
                }
                guard isNext else { continue }
                isEnd = false
                let name = "step_\(path.count)"
                try file.db.startSavePoint(name)
                _ = try file.capture.apply(transaction.changes, in: file.db)
                taken[sender] += 1
                path.append(sender)
                let changes = taken.indices.flatMap { member in
                    simulation.logs[member].prefix(taken[member]).flatMap(\.changes)
                }
                if try !MergeSimulation.look(file, after: changes, "seed \(seed), order \(path)") {
                    hasFailed = true
                }
                try visit(file)
                path.removeLast()
                taken[sender] -= 1
                try file.db.rollbackToSavePoint(name)
                try file.db.releaseSavePoint(name)
                guard !hasFailed else { return }
            }
            if isEnd { orders += 1 }
        }
    }
}
