import Foundation

/// Changes the libraries' sources in many small ways, and finds out which of these no test notices.
///
/// All mutants are in one build, each behind a condition: the environment says which of them is on.
/// First each test runs without a mutant, and what it reaches is recorded. Then the tests that
/// reach a mutant run against it, until one fails.
@main
struct Mutants {
    @MainActor static func main() async {
        endChildrenOnSignals()
        do {
            exit(try await run() ? 0 : 1)
        } catch {
            note("\(error)")
            exit(2)
        }
    }

    /// Returns whether enough mutants were killed.
    private static func run() async throws -> Bool {
        let options = try Options(environment: ProcessInfo.processInfo.environment)
        let tree = Tree(root: URL(fileURLWithPath: FileManager.default.currentDirectoryPath))
        try FileManager.default.createDirectory(at: tree.copy, withIntermediateDirectories: true)
        let files = try await tree.files()
        let equivalent = try EquivalentMutants(
            String(
                contentsOf: tree.root.appendingPathComponent("Tests/Mutants/equivalent.txt"),
                encoding: .utf8))
        let all = try tree.sites(files)
        let sites = all.filter { !equivalent.identities.contains($0.identity) }
        note("\(sites.count) sites; building \(options.count) of them")
        let mutants = try await Build(tree: tree, files: files).run { refused in
            Sample(
                of: sites.filter { !refused.contains($0.identity) }, count: options.count,
                seed: options.seed
            ).sites
        }
        let bundle = TestBundle(directory: tree.copy.path)
        let baseline = try await Baseline.measured(
            bundle, mutants, tree: tree, workers: options.workers)
        let gone = equivalent.identities.subtracting(all.map(\.identity))
        let report = Report(
            mutants, tree: tree,
            remarks: """
                \(mutants.count) of \(sites.count) sites, from seed \(options.seed). Left out are \
                \(equivalent.identities.count - gone.count) equivalent mutants, and \
                \(baseline.failing.count) tests that fail without a mutant.
                """
                    + gone.sorted().map { "\n\nKnown as equivalent, but no longer there:\n\($0)" }
                    .joined(),
            keeping: { options.keepsKilled ? $0.isKilled : baseline.isOld })
        try await tryMutants(of: report, bundle, baseline, options)
        print(await report.text)
        let score = await report.score
        print(String(format: "%.1f %% killed, of at least %.0f %%", score, options.least))
        return score >= options.least
    }

    private static func tryMutants(
        of report: Report, _ bundle: TestBundle, _ baseline: Baseline, _ options: Options
    ) async throws {
        // In random order: a run that is ended has judged a sample, too.
        let part = await report.waiting.filter {
            $0.number % options.part.of == options.part.number - 1
        }
        let waiting = part.sorted {
            Sample.rank($0.site.identity, options.seed)
                < Sample.rank($1.site.identity, options.seed)
        }
        note("\(waiting.count) mutants against \(baseline.tests.count) tests")
        _ = try await concurrently(waiting, workers: options.workers) { mutant in
            let trial = Trial(
                mutant: mutant, bundle: bundle, baseline: baseline, budget: options.budget)
            let verdict = try await trial.verdict()
            try await report.add(verdict, of: mutant)
            if !verdict.isKilled { note("alive: \(mutant.site.identity)") }
        }
    }

    /// The children are in sessions of their own, where no signal of a terminal reaches them.
    @MainActor private static func endChildrenOnSignals() {
        for number in [SIGHUP, SIGINT, SIGTERM] {
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                Child.sessions.endAll()
                exit(128 + number)
            }
            source.resume()
            signals.append(source)
        }
    }

    @MainActor private static var signals: [any DispatchSourceSignal] = []
}
