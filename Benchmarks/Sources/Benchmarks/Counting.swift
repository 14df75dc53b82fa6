import Foundation

/// Instructions per operation, counted by valgrind: they hardly vary, so that small changes of the
/// library's own cost show, which the noise of a shared machine hides in times.
///
/// Only what runs inside of `benchmark_region` counts. C's instructions are the cost of the engine;
/// what a library executes above them is its own.
enum Counting {
    static let cases = Case.all.filter { $0.ownCost != nil }

    /// The most that a figure may grow.
    static let tolerance = 1.05

    /// Enough that what happens once per run does not count, and few enough for a short run.
    static let rows = 5000

    struct Count: Sendable {
        var name: String
        /// Instructions per operation, by side.
        var instructions: [Side: Double]
        /// Those of the library with an observer of statements.
        var observed: Double?

        func above(_ side: Side) -> Double? {
            guard let c = instructions[.c], let own = instructions[side] else { return nil }
            return own - c
        }

        var ratio: Double? {
            guard let ours = above(.ours), let grdb = above(.grdb) else { return nil }
            return ours / grdb
        }

        /// The whole cost with an observer of statements, as a multiple of that without.
        var observedRatio: Double? {
            guard let observed, let ours = instructions[.ours] else { return nil }
            return observed / ours
        }

        var line: String {
            func text(_ number: Double?) -> String { number.map { "\(Int($0.rounded()))" } ?? "-" }
            return "count \(name) c \(text(instructions[.c])) ours-above-c \(text(above(.ours))) "
                + "grdb-above-c \(text(above(.grdb))) ratio \(ratio?.ratio ?? "-")"
        }
    }

    /// Counts the cases on each side, all of them in one program per side.
    static func measure(_ files: Files, only names: [String]) throws -> [Count] {
        let wanted = cases.filter { names.isEmpty || names.contains($0.name) }
        var counts = wanted.map { Count(name: $0.name, instructions: [:]) }
        func perOperation(_ totals: [Int]) -> [Double] {
            totals.enumerated().map { index, total in
                // As `Job.writes`: of single calls that write there are fewer.
                Double(total) / Double(wanted[index].writesEachCall ? rows / 20 : rows)
            }
        }
        for side in Side.encrypted {
            let totals = try totals(of: wanted.map { ($0.name, $0.template) }, side, files)
            for (index, count) in perOperation(totals).enumerated() {
                counts[index].instructions[side] = count
            }
        }
        let observed = try totals(
            of: wanted.map { ($0.name + "-observed", $0.template) }, .ours, files)
        for (index, count) in perOperation(observed).enumerated() {
            counts[index].observed = count
        }
        return counts
    }

    /// Returns the instructions of each case's region.
    private static func totals(
        of cases: [(name: String, template: Template)], _ side: Side, _ files: Files
    ) throws -> [Int] {
        let directory = try files.makeDirectory("counts-\(side.rawValue)")
        let valgrind = [
            "valgrind", "--tool=callgrind", "--quiet", "--collect-atstart=no",
            "--toggle-collect=benchmark_region", "--dump-after=benchmark_region",
            "--callgrind-out-file=\(directory.path)/counts",
        ]
        let worker = try side.start(in: valgrind, directory)
        for one in cases {
            // What a process does once, in the first run, does not count.
            for _ in 1...2 {
                let file = try files.file(one.template, rows: rows, for: side, copied: true)
                _ = try worker.run(one.name, rows: rows, at: file)
            }
        }
        worker.end()
        return try cases.indices.map { index in
            // One for the end of each region, numbered from 1.
            let dump = directory.appendingPathComponent("counts.\(index * 2 + 2)")
            let text = try String(contentsOf: dump, encoding: .utf8)
            guard
                let line = text.split(separator: "\n").last(where: { $0.hasPrefix("totals:") }),
                let total = line.split(separator: " ").last.flatMap({ Int($0) })
            else { throw BenchmarkFailure("valgrind has counted nothing in \(cases[index].name)") }
            return total
        }
    }

    // MARK: - Bars

    /// The most that an observer of statements may cost, as a multiple of the whole.
    static let observedLimit = 1.10

    /// Returns a line for each case with a limit of its own cost, and for the observer.
    static func barLines(_ counts: [Count]) -> [String] {
        let observed = counts.compactMap { count in
            count.observedRatio.map { ratio in
                "bar \(count.name.padded(20)) observed/not \(ratio.threeDecimals) "
                    + "<= \(observedLimit.ratio) " + (ratio <= observedLimit ? "met" : "missed")
            }
        }
        return ownBarLines(counts) + observed + interpolationLine(counts)
    }

    /// The most that interpolated values may cost, as a multiple of the same ones in an array.
    static let interpolationLimit = 1.15

    private static func interpolation(_ counts: [Count]) -> Double? {
        func all(_ name: String) -> Double? {
            counts.first { $0.name == name }?.instructions[.ours]
        }
        guard let values = all("lookup-values"), let interpolated = all("lookup-interpolated")
        else { return nil }
        return interpolated / values
    }

    private static func interpolationLine(_ counts: [Count]) -> [String] {
        guard let ratio = interpolation(counts) else { return [] }
        return [
            "bar \("lookup-interpolated".padded(20)) interpolated/values \(ratio.threeDecimals) "
                + "<= \(interpolationLimit.ratio) "
                + (ratio <= interpolationLimit ? "met" : "missed")
        ]
    }

    private static func ownBarLines(_ counts: [Count]) -> [String] {
        counts.compactMap { count in
            guard case .atMost(let limit) = Case.named(count.name)?.ownCost,
                let ratio = count.ratio
            else { return nil }
            return "bar \(count.name.padded(20)) own/grdb-own \(ratio.ratio) <= \(limit.ratio) "
                + (ratio <= limit ? "met" : "missed")
        }
    }

    // MARK: - The table that is kept

    /// Compares the counts with those of a table, each line of which is one of `Count.line`.
    ///
    /// - Returns: What has grown too much, and where an observer of statements costs too much.
    static func growth(of counts: [Count], since table: String) -> [String] {
        var kept: [String: Double] = [:]
        for line in table.split(separator: "\n") {
            let words = line.split(separator: " ").map(String.init)
            guard words.count > 5, words[0] == "count", words[4] == "ours-above-c" else { continue }
            kept[words[1]] = Double(words[5])
        }
        let observed = counts.compactMap { count -> String? in
            guard let ratio = count.observedRatio, ratio > observedLimit else { return nil }
            return "\(count.name): \(ratio.threeDecimals) with an observer of statements"
        }
        let interpolated = interpolation(counts).flatMap { ratio in
            ratio > interpolationLimit
                ? "lookup-interpolated: \(ratio.threeDecimals) of lookup-values" : nil
        }
        return observed + [interpolated].compactMap { $0 }
            + counts.compactMap { count in
                guard let now = count.above(.ours) else { return nil }
                guard let before = kept[count.name] else {
                    return "\(count.name) is not in the table"
                }
                guard now > before * tolerance else { return nil }
                return
                    "\(count.name): \(Int(now)) instructions above C, \(Int(before)) in the table"
            }
    }
}
