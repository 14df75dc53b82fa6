import ArgumentParser
import Foundation

/// Measures each case in turn with C code, the library, GRDB, and C code without encryption.
@main
struct Benchmarks: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "The library beside the same work in C, with GRDB and without encryption.",
        discussion: """
            Each round measures every side once, one after the other, each in a program of its own; \
            the times are medians of the rounds, and the ratios medians of the rounds' ratios. Times \
            on a shared machine mean little, ratios of one run do. Opening the file and, but for \
            scan-cold, reading its pages into the cache is not timed.
            """)

    @Option(help: "Rows; calls per round are as many, 200,000 at most, a 20th where each writes.")
    var rows = 200_000

    @Option(help: "Rounds; at least 3 to have a median.")
    var rounds = 5

    @Option(help: "Writes all figures to this file.")
    var json: String?

    @Flag(
        help: "Measures 10 thousand to 3 million rows instead, which takes long and 2 GB of disk.")
    var scaling = false

    @Flag(help: "Counts instructions with valgrind instead of measuring times.")
    var count = false

    @Option(help: "With --count: fails if a case needs 5 % more instructions than in this file.")
    var check: String?

    @Argument(help: "The cases to run; all of them when none is named.")
    var cases: [String] = []

    func validate() throws {
        guard (1...10_000_000).contains(rows), (1...1000).contains(rounds) else {
            throw ValidationError("rows are 1 to 10,000,000 and rounds 1 to 1,000")
        }
        let names = count ? Counting.cases.map(\.name) : Case.all.map(\.name)
        let unknown = cases.filter { !names.contains($0) }
        guard unknown.isEmpty else {
            let known = names.joined(separator: ", ")
            throw ValidationError("no case \(unknown.joined(separator: ", ")); there are \(known)")
        }
        guard !scaling || cases.isEmpty else {
            throw ValidationError("--scaling has its own cases")
        }
        guard check == nil || count else { throw ValidationError("--check needs --count") }
        guard !count || (!scaling && json == nil) else {
            throw ValidationError("--count prints its figures only")
        }
        if let json {
            let folder = URL(fileURLWithPath: json).deletingLastPathComponent().path
            guard FileManager.default.isWritableFile(atPath: folder) else {
                throw ValidationError("cannot write \"\(json)\": no such folder, or not writable")
            }
        }
    }

    func run() throws {
        // A side that ends must cause an error, not SIGPIPE.
        signal(SIGPIPE, SIG_IGN)
        if count { return try countInstructions() }
        var versions: [String: String] = [:]
        for side in Side.allCases { versions[side.rawValue] = try side.start().versions }
        let machine = Machine(versions)
        try say(machine.summary)
        for side in Side.allCases { try say("\(side.title): \(versions[side.rawValue] ?? "")") }

        if let load = Machine.load, load > 0.7 {
            try say(
                "note: others work on this machine (load \(load.ratio)); ratios vary more, and two "
                    + "readers may not find a second core")
        }

        let files = try Files()
        var results: [CaseResult] = []
        var points: [Scaling.Point] = []
        if scaling {
            try say("\n" + Scaling.head())
            points = try Scaling.measure(files, sizes: Scaling.sizes, rounds: rounds) {
                try say($0)
            }
            try say("")
            for line in Scaling.barLines(points) { try say(line) }
        } else {
            results = try measure(files)
        }
        if let json {
            try JSONReport(results, scaling: points, machine: machine, rows: rows, rounds: rounds)
                .write(to: json)
        }
    }

    private func countInstructions() throws {
        let counts = try Counting.measure(try Files(), only: cases)
        for count in counts { try say(count.line) }
        for line in Counting.barLines(counts) { try say(line) }
        guard let check else { return }
        let table = try String(contentsOfFile: check, encoding: .utf8)
        let growth = Counting.growth(of: counts, since: table)
        for line in growth { try say("grown " + line) }
        if !growth.isEmpty { throw ExitCode.failure }
    }

    private func measure(_ files: Files) throws -> [CaseResult] {
        try say("\(rows) rows, \(rounds) rounds\n\n" + Report.head())
        var results: [CaseResult] = []
        for benchmark in Case.all where cases.isEmpty || cases.contains(benchmark.name) {
            let result = try benchmark.measure(files, rows: rows, rounds: rounds)
            try say(Report.line(result))
            results.append(result)
        }
        try say("")
        for result in results { try Report.ratioLines(result).forEach { try say($0) } }
        try say("")
        let verdicts = Report.verdicts(results)
        for verdict in verdicts { try say(Report.barLine(verdict)) }
        let met = verdicts.filter(\.isMet).count
        try say("\(met) of \(verdicts.count) bars are met")
        return results
    }
}
