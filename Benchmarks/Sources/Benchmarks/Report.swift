import ArgumentParser
import Foundation

/// The printed output.
enum Report {
    static func head() -> String {
        let sides = Side.allCases.map { "\($0.title) ms".leftPadded(10) }.joined()
        let ratios = Side.allCases.filter { $0 != .ours }
            .map { "ours/\($0.rawValue)".leftPadded(12) }.joined()
        return "case".padded(22) + sides + ratios + "ours MB".leftPadded(9)
    }

    static func line(_ result: CaseResult) -> String {
        let sides = Side.allCases.map { side in
            (result.seconds(side).map { median($0).milliseconds } ?? "-").leftPadded(10)
        }
        let figures = result.figures
        let ratios = Side.allCases.filter { $0 != .ours }.map { side in
            let figure = figures.first { $0.name == "ours/\(side.rawValue)" }
            return (figure?.ratio.ratio ?? "-").leftPadded(12)
        }
        let peak = result.peak(.ours).map { String($0 / 1024) } ?? "-"
        return result.benchmark.name.padded(22) + sides.joined() + ratios.joined()
            + peak.leftPadded(9)
    }

    /// Lines for scripts: `ratio <case> <figure> <x.xx>`.
    static func ratioLines(_ result: CaseResult) -> [String] {
        result.figures.map { "ratio \(result.benchmark.name) \($0.name) \($0.ratio.ratio)" }
    }

    static func verdicts(_ results: [CaseResult]) -> [Verdict] {
        Bar.all.compactMap { bar in
            results.first { $0.benchmark.name == bar.caseName }.flatMap { bar.verdict($0.figures) }
        }
    }

    static func barLine(_ verdict: Verdict) -> String {
        "bar " + verdict.bar.caseName.padded(22) + verdict.bar.figure.padded(20)
            + verdict.value.ratio.padded(7) + verdict.condition.padded(24)
            + (verdict.isMet ? "met" : "missed")
    }
}

/// Prints a line immediately, also into a pipe, because a run takes minutes.
func say(_ line: String) throws {
    do {
        try FileHandle.standardOutput.write(contentsOf: Data("\(line)\n".utf8))
    } catch {
        // The reader, such as `head`, has closed the pipe.
        throw ExitCode.failure
    }
}

extension String {
    func padded(_ width: Int) -> String {
        count < width ? self + String(repeating: " ", count: width - count) : self + " "
    }

    func leftPadded(_ width: Int) -> String {
        count < width ? String(repeating: " ", count: width - count) + self : " " + self
    }
}

extension Double {
    var ratio: String { String(format: "%.2f", self) }
    var threeDecimals: String { String(format: "%.3f", self) }

    /// Seconds, formatted as milliseconds.
    var milliseconds: String { String(format: "%.1f", self * 1000) }
}
