/// A case and a side: one column of a case's rounds.
struct Cell: Hashable, Sendable {
    var name: String
    var side: Side
}

/// All rounds of one case.
struct CaseResult: Sendable {
    let benchmark: Case
    /// The runs in the order of the rounds.
    var runs: [Cell: [Measurement]] = [:]

    func seconds(_ side: Side, of name: String? = nil) -> [Double]? {
        runs[Cell(name: name ?? benchmark.name, side: side)]?.map(\.seconds)
    }

    /// The peak memory in kilobytes.
    func peak(_ side: Side) -> Int? {
        runs[Cell(name: benchmark.name, side: side)]?.map(\.peakKilobytes).max()
    }
}

extension Case {
    /// Runs all sides in turn, each once per round.
    ///
    /// With `warmUp`, a first round fills caches and is not counted.
    func measure(_ files: Files, rows: Int, rounds: Int, warmUp: Bool = true) throws -> CaseResult {
        let cells =
            sides.map { Cell(name: name, side: $0) }
            + (reference.map { one in one.sides.map { Cell(name: one.name, side: $0) } } ?? [])
        var workers: [Side: WorkerProcess] = [:]
        for cell in cells where workers[cell.side] == nil {
            workers[cell.side] = try cell.side.start()
        }
        var result = CaseResult(benchmark: self)
        for round in 0..<(warmUp ? rounds + 1 : rounds) {
            var checksums: [String: [(side: Side, checksum: UInt64)]] = [:]
            for cell in cells {
                guard let worker = workers[cell.side] else { continue }
                let file = try files.file(template, rows: rows, for: cell.side, copied: writes)
                let run = try worker.run(cell.name, rows: rows, at: file)
                checksums[cell.name, default: []].append((cell.side, run.checksum))
                if round > 0 || !warmUp { result.runs[cell, default: []].append(run) }
            }
            for (name, sums) in checksums where Set(sums.map(\.checksum)).count > 1 {
                let list = sums.map { "\($0.side.title) \($0.checksum)" }.joined(separator: ", ")
                throw BenchmarkFailure(
                    "\(name): the sides have not done the same work; checksums: \(list)")
            }
        }
        return result
    }
}

func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    guard !sorted.isEmpty else { return .nan }
    // For an even count, the mean of the two middle values.
    return (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
}
