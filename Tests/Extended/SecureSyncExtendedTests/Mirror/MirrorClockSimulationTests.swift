import TestSupport
import Testing

struct MirrorClockSimulationTests {
    /// `SECURESTORAGE_HISTORIES=10000` tries that many; the default is smaller.
    ///
    /// In the first one, a state and the next generation once had the same time.
    @Test(
        arguments: [60_054]
            + Campaign.seeds(Campaign.count("SECURESTORAGE_HISTORIES", usually: 1)))
    func `whatever the clock does, what is promised is there, and nothing else is given`(
        seed: UInt64
    ) async throws {
        var simulation = try MirrorClockSimulation(seed: seed)
        try await simulation.run(steps: 64)
        check(simulation.findings.isEmpty, "seed \(seed): \(simulation.findings.prefix(4))")
    }
}
