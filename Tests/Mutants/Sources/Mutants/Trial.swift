/// The tests against one mutant.
struct Trial: Sendable {
    let mutant: Mutant
    let bundle: TestBundle
    let baseline: Baseline
    /// How many seconds of tests are run before it counts as a survivor.
    let budget: Double

    /// How a trial ends.
    enum Verdict: Hashable, Codable, Sendable {
        /// By a test, as its output says.
        case killed(String)
        /// The tests went on for ten times as long as without it.
        case timedOut
        /// How many tests it survived, and how many were too slow for the budget.
        case survived(tests: Int, leftOut: Int)
        case notCovered

        var isKilled: Bool {
            switch self {
            case .killed, .timedOut: true
            case .survived, .notCovered: false
            }
        }
    }

    /// Runs the tests that reach the mutant until one fails.
    func verdict() async throws -> Verdict {
        let tests = candidates
        guard !tests.isEmpty else { return .notCovered }
        var run = 0
        var seconds = 0.0
        for batch in Self.batches(tests) {
            let took = batch.reduce(0) { $0 + $1.seconds }
            guard seconds == 0 || seconds + took <= budget else { break }
            seconds += took
            run += batch.count
            switch try await outcome(batch, limit: 10 * took + 20) {
            case .passed: continue
            case .failed(let text): return .killed(text)
            case .timedOut: return .timedOut
            }
        }
        return .survived(tests: run, leftOut: tests.count - run)
    }

    /// The tests that reach it, the likeliest to kill it first.
    ///
    /// These are fast, are of its library, and have words of its line or file in their names:
    /// nearly all tests reach some lines, and few are about them.
    var candidates: [Baseline.Test] {
        let words = mutant.site.words
        func cost(_ test: Baseline.Test) -> Double {
            let distance = mutant.site.library.hasSuffix(test.subject) ? 1.0 : 3.0
            return distance * test.seconds / Double(1 + 3 * words.intersection(test.words).count)
        }
        return baseline.tests.filter { $0.reached.contains(mutant.number) }
            .map { (cost: cost($0), test: $0) }
            .sorted { ($0.cost, $0.test.name) < ($1.cost, $1.test.name) }
            .map(\.test)
    }

    /// Shares tests among processes: few at first, since most mutants are killed by these.
    static func batches(_ tests: [Baseline.Test]) -> [[Baseline.Test]] {
        var batches: [[Baseline.Test]] = []
        var batch: [Baseline.Test] = []
        for test in tests {
            batch.append(test)
            let seconds = batch.reduce(0) { $0 + $1.seconds }
            if batch.count == 50 || seconds > (batches.isEmpty ? 2 : 10) {
                batches.append(batch)
                batch = []
            }
        }
        return batch.isEmpty ? batches : batches + [batch]
    }

    /// A failure counts when it is there a second time: a machine with much to do makes tests fail
    /// that wait for a moment only.
    private func outcome(
        _ tests: [Baseline.Test], limit: Double
    ) async throws -> TestBundle.Outcome {
        var outcome = TestBundle.Outcome.passed
        for _ in 1...2 {
            outcome = try await bundle.run(
                tests.map(\.name), environment: [MutantSwitch.variable: "\(mutant.number)"],
                limit: limit)
            guard case .failed = outcome else { break }
        }
        return outcome
    }
}
