import Foundation

/// The file that `--json` writes.
struct JSONReport: Encodable {
    struct SideReport: Encodable {
        var medianSeconds: Double
        var seconds: [Double]
        var peakKilobytes: Int
    }

    struct CaseReport: Encodable {
        var name: String
        var sides: [String: SideReport]
        /// The references that ran in the same rounds for comparison.
        var references: [String: SideReport]
        var ratios: [String: Double]
    }

    struct BarReport: Encodable {
        var name: String
        var figure: String
        var value: Double
        var condition: String
        var met: Bool
    }

    var date: String
    var machine: Machine
    var rows: Int
    var rounds: Int
    var cases: [CaseReport]
    var bars: [BarReport]
    var scaling: [Scaling.Point]

    init(
        _ results: [CaseResult], scaling: [Scaling.Point], machine: Machine, rows: Int, rounds: Int
    ) {
        date = Date().formatted(.iso8601)
        self.machine = machine
        self.rows = rows
        self.rounds = rounds
        cases = results.map { result in
            var one = CaseReport(
                name: result.benchmark.name, sides: [:], references: [:],
                ratios: Dictionary(uniqueKeysWithValues: result.figures.map { ($0.name, $0.ratio) })
            )
            for (cell, runs) in result.runs {
                let side = SideReport(
                    medianSeconds: median(runs.map(\.seconds)), seconds: runs.map(\.seconds),
                    peakKilobytes: runs.map(\.peakKilobytes).max() ?? 0)
                if cell.name == result.benchmark.name {
                    one.sides[cell.side.rawValue] = side
                } else {
                    one.references["\(cell.side.rawValue) \(cell.name)"] = side
                }
            }
            return one
        }
        bars = Report.verdicts(results).map {
            BarReport(
                name: $0.bar.caseName, figure: $0.bar.figure, value: $0.value,
                condition: $0.condition, met: $0.isMet)
        }
        self.scaling = scaling
    }

    func write(to file: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        try (encoder.encode(self) + Data("\n".utf8)).write(to: URL(fileURLWithPath: file))
    }
}
