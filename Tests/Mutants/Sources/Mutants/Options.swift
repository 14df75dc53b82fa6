import Foundation

/// What a run does, from the environment: `make campaign NAME=mutants COUNT=50`.
struct Options: Sendable {
    /// How many mutants are drawn from all libraries together.
    let count: Int
    /// Another seed draws other mutants.
    let seed: UInt64
    /// Which share of the mutants this run tries: the second of eight is 2/8.
    let part: (number: Int, of: Int)
    /// For each mutant, how many seconds of tests are run before it counts as a survivor.
    let budget: Double
    /// The least score, in percent, with which the run succeeds.
    let least: Double
    /// Whether those that the last run killed count as killed, though the sources have changed.
    let keepsKilled: Bool
    /// How many test processes run at a time: tests wait for a disk, a process or a clock.
    let workers: Int

    init(environment: [String: String]) throws {
        func number(_ name: String, _ usual: Int) throws -> Int {
            guard let text = environment[name], !text.isEmpty else { return usual }
            guard let number = Int(text), number >= 0 else {
                throw Failure("\(name) is no number: \(text)")
            }
            return number
        }
        count = try number("COUNT", 320)
        seed = UInt64(try number("SEED", 1))
        budget = Double(try number("BUDGET", 600))
        least = Double(try number("LEAST", 85))
        keepsKilled = environment["SURVIVORS"]?.isEmpty == false
        workers = try number("JOBS", 2 * ProcessInfo.processInfo.activeProcessorCount)
        let part = environment["PART"].flatMap { $0.isEmpty ? nil : $0 } ?? "1/1"
        let numbers = part.split(separator: "/").compactMap { Int($0) }
        guard numbers.count == 2, (1...max(numbers[1], 1)).contains(numbers[0]) else {
            throw Failure("PART is not like 2/8: \(part)")
        }
        self.part = (numbers[0], numbers[1])
    }
}

/// Why a run cannot go on.
struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
