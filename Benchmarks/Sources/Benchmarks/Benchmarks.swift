import ArgumentParser
import Foundation

/// Measures each case by hand on the C API and through the library, in turns, and prints the ratios.
@main
struct Benchmarks: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "The library beside the same work on the C API, in one run.",
        discussion: """
            Each round measures every side once, one after the other; the figures are medians of the \
            rounds, and the ratio is the median of the rounds' ratios. Times on a shared machine mean \
            little, ratios of one run do.
            """)

    @Option(help: "Rows, and calls per round for the cases of single calls.")
    var rows = 200_000

    @Option(help: "Rounds; at least 3 to have a median.")
    var rounds = 5

    @Argument(help: "The cases to run; all of them when none is named.")
    var cases: [String] = []

    func validate() throws {
        guard (1...10_000_000).contains(rows), (1...1000).contains(rounds) else {
            throw ValidationError("rows are 1 to 10,000,000 and rounds 1 to 1,000")
        }
        let unknown = cases.filter { name in !Case.all.contains { $0.name == name } }
        guard unknown.isEmpty else {
            let known = Case.all.map(\.name).joined(separator: ", ")
            throw ValidationError("no case \(unknown.joined(separator: ", ")); there are \(known)")
        }
    }

    func run() throws {
        let chosen = Case.all.filter { cases.isEmpty || cases.contains($0.name) }
        let data = try SampleData(rows: rows)
        print("case".padded(20), "C ms".padded(10), "ours ms".padded(10), "ours/C")
        for benchmark in chosen {
            let result = try benchmark.measure(data, rounds: rounds)
            print(
                benchmark.name.padded(20), result.c.milliseconds.padded(10),
                result.ours.milliseconds.padded(10), String(format: "%.2f", result.ratio))
            print("ratio \(benchmark.name) ours/c \(String(format: "%.2f", result.ratio))")
        }
    }
}

extension String {
    fileprivate func padded(_ width: Int) -> String {
        padding(toLength: width, withPad: " ", startingAt: 0)
    }
}

extension Double {
    /// Of seconds.
    fileprivate var milliseconds: String { String(format: "%.1f", self * 1000) }
}
