import Testing

@testable import Mutants

struct TrialTests {
    @Test func `slow tests of other libraries come last`() async throws {
        let baseline = Baseline(
            "build\n9.00 3 SecureStorageTests.A/slow()\n5.00 3 VaultsTests.B/other()\n"
                + "0.50 3,4 VaultsTests.C/fast()\n0.10 4 SecureStorageTests.D/elsewhere()\n- E/no()",
            isOld: false)
        #expect(baseline.failing == ["E/no()"])
        #expect(
            baseline.tests.map(\.subject) == ["SecureStorage", "Vaults", "Vaults", "SecureStorage"])
        let site = SiteFinder.sites(in: "1", file: "Sources/SecureStorage/F.swift")[0]
        let trial = Trial(
            mutant: Mutant(number: 3, site: site), bundle: TestBundle(directory: "/"),
            baseline: baseline, budget: 1)
        #expect(
            "plaintextHeaderSizes, `two words`".words == ["plaintext", "header", "size", "word"])
        #expect(trial.candidates.map(\.seconds) == [0.4, 8.9, 4.9])
        #expect(Trial.batches(trial.candidates).map(\.count) == [2, 1])
    }

    @Test func `a child is ended with all that it has started`() async throws {
        let marker = "sleep 41\(Int.random(in: 100...999))"
        let begin = ContinuousClock.now
        let end = try await Child.run(
            ["bash", "-c", "\(marker) & setsid -w true; echo begun; wait"], in: "/",
            output: "/tmp/mutants-test-output", limit: 60, ending: "begun")
        #expect(end == .said)
        #expect(ContinuousClock.now - begin < .seconds(30))
        let left = try await Child.run(
            ["pgrep", "-fx", marker], in: "/", output: "/tmp/mutants-test-output")
        #expect(left == .exited(1))
    }
}
