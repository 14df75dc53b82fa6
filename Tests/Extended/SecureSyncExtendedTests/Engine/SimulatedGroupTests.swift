import Foundation
import SecureSync
import TestSupport
import Testing

@testable import SecureSyncTests
@testable import SyncSimulator

/// Simulations of devices, each from a seed; `make campaign NAME=sync-simulations` runs thousands
/// and says which meet what.
struct SimulatedGroupTests {
    /// Chosen: together they meet everything.
    ///
    /// After changes that let them meet other things, more are tried.
    private static let seeds: [UInt64] = [4, 5, 9, 36, 4_000_003, 4_200_010, 4_602_285]

    /// A simulation that breaks says what has happened in it.
    private func run(
        _ simulation: inout SimulatedGroup, _ seed: UInt64,
        _ body: (inout SimulatedGroup) async throws -> Void
    ) async {
        do {
            try await body(&simulation)
        } catch {
            Issue.record("seed \(seed): \(error)\n\(simulation.log.joined(separator: "\n"))")
        }
    }

    @Test func `after everything that can happen all devices of a simulation hold the same rows`()
        async throws
    {
        let all = Set(SimulatedGroup.Event.allCases)
        var seen: Set<SimulatedGroup.Event> = []
        for seed in Self.seeds + Array(100..<140)
        where seen != all || Self.seeds.contains(seed) {
            var simulation = SimulatedGroup(seed: seed)
            await run(&simulation, seed) { try await $0.run(steps: 60) }
            seen.formUnion(simulation.seen)
        }
        check(seen, equals: all)
    }

    @Test(arguments: [1, 900_921, 1_002_491, 1_003_026, 1_004_505, 9_410_703] as [UInt64])
    func `what happens at the edges costs no row, and no value yields to one that it knew`(
        seed: UInt64
    ) async throws {
        var simulation = SimulatedGroup(seed: seed)
        simulation.hasEdges = true
        await run(&simulation, seed) { try await $0.run(steps: 60) }
    }

    @Test(arguments: [1, 6_000_963, 6_001_205, 9_400_454] as [UInt64])
    func `readers have the rows of those that write, whatever happens to both`(
        seed: UInt64
    ) async throws {
        var simulation = SimulatedGroup(seed: seed)
        simulation.hasRoles = true
        await run(&simulation, seed) { try await $0.run(steps: 60) }
    }

    @Test(arguments: [37, 42] as [UInt64])
    func `members that write and die before their logs begin lose nothing`(
        seed: UInt64
    ) async throws {
        var simulation = SimulatedGroup(seed: seed)
        await run(&simulation, seed) { try await $0.runBeginnings(3) }
    }
}
