import Foundation

/// The tests without a mutant: how long each takes, and which mutants it reaches.
struct Baseline: Sendable {
    /// In the order of their durations.
    private(set) var tests: [Test] = []
    /// Those that fail in the copy, so that they say nothing about mutants.
    private(set) var failing: [String] = []
    /// Whether it was measured in an earlier run, of the same build.
    let isOld: Bool

    struct Test: Sendable {
        let name: String
        /// Without the start of its process.
        let seconds: Double
        let reached: Set<Int>
        /// Those of its name, and of its type's.
        let words: Set<String>

        /// The module that it is in, and is of, such as `Vaults`, the end of its library's name.
        var subject: String {
            let module = name.prefix { $0 != "." }
            for end in ["ExtendedTests", "Tests"] where module.hasSuffix(end) {
                return String(module.dropLast(end.count))
            }
            return String(module)
        }
    }

    /// Measures all tests, or returns what was measured for the same build.
    static func measured(
        _ bundle: TestBundle, _ mutants: [Mutant], tree: Tree, workers: Int
    ) async throws -> Baseline {
        let store = tree.work.appendingPathComponent("baseline")
        let build = try Self.build(bundle, mutants)
        if let text = try? String(contentsOf: store, encoding: .utf8), text.hasPrefix(build) {
            return Baseline(text, isOld: true)
        }
        let names = try await bundle.tests()
        note("measuring \(names.count) tests without a mutant")
        let results = try await concurrently(names, workers: workers) { name -> String in
            // A machine with much to do makes tests fail that wait for a moment only.
            for _ in 1...2 {
                if let test = try await measure(name, bundle, mutants.count) { return test }
            }
            note("left out, since it fails without a mutant: \(name)")
            return "- \(name)"
        }
        let text = build + results.joined(separator: "\n")
        try text.write(to: store, atomically: true, encoding: .utf8)
        return Baseline(text, isOld: false)
    }

    /// Reads lines of seconds, numbers of mutants and a name, or of `-` and a name.
    init(_ text: String, isOld: Bool) {
        self.isOld = isOld
        let lines = text.split(separator: "\n").dropFirst().map {
            $0.split(separator: " ", maxSplits: 2)
        }
        let start = lines.compactMap { Double($0[0]) }.min() ?? 0
        for fields in lines {
            if let seconds = Double(fields[0]) {
                tests.append(
                    Test(
                        name: String(fields[2]), seconds: seconds - start,
                        reached: Set(fields[1].split(separator: ",").compactMap { Int($0) }),
                        words: fields[2].drop { $0 != "." }.words))
            } else {
                failing.append(fields[1...].joined(separator: " "))
            }
        }
        tests.sort { ($0.seconds, $0.name) < ($1.seconds, $1.name) }
    }

    /// Returns a line that tells a build from others.
    private static func build(_ bundle: TestBundle, _ mutants: [Mutant]) throws -> String {
        let attributes = try FileManager.default.attributesOfItem(atPath: bundle.path)
        let date = (attributes[.modificationDate] as? Date)?.timeIntervalSince1970 ?? 0
        let identities = mutants.map(\.site.identity).joined(separator: "\n")
        return "\(date) \(Sample.rank(identities, 0))\n"
    }

    private static func measure(
        _ name: String, _ bundle: TestBundle, _ count: Int
    ) async throws -> String? {
        let file = FileManager.default.temporaryDirectory
            .appendingPathComponent("reached-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(count: count).write(to: file)
        chmod(file.path, 0o666)
        let begin = ContinuousClock.now
        let outcome = try await bundle.run(
            [name], environment: [MutantSwitch.reachVariable: file.path], limit: 1800)
        let seconds = (ContinuousClock.now - begin) / .seconds(1)
        guard outcome == .passed else { return nil }
        let reached = try Data(contentsOf: file).enumerated().filter { $0.element != 0 }
        let numbers = reached.map { "\($0.offset)" }.joined(separator: ",")
        return String(format: "%.2f ", seconds) + "\(numbers.isEmpty ? "," : numbers) \(name)"
    }
}

/// Returns the results of all items, of which some are worked on at a time.
func concurrently<Item: Sendable, Result: Sendable>(
    _ items: [Item], workers: Int, _ work: @escaping @Sendable (Item) async throws -> Result
) async throws -> [Result] {
    try await withThrowingTaskGroup(of: Result.self) { group in
        var results: [Result] = []
        var waiting = items[...]
        for item in waiting.prefix(workers) { group.addTask { try await work(item) } }
        waiting = waiting.dropFirst(workers)
        while let result = try await group.next() {
            results.append(result)
            if let item = waiting.popFirst() { group.addTask { try await work(item) } }
        }
        return results
    }
}
