/// A ratio in one case, such as `ours/c` 1.10.
struct Figure: Sendable, Codable {
    var name: String
    var ratio: Double
}

extension CaseResult {
    /// The medians of the rounds' ratios.
    var figures: [Figure] {
        var figures: [Figure] = []
        for other in Side.allCases where other != .ours {
            guard let ratio = ratio(seconds(.ours), seconds(other)) else { continue }
            figures.append(Figure(name: "ours/\(other.rawValue)", ratio: ratio))
        }
        // If this exceeds the limit of a bar, the bar is out of reach.
        if let limit = ratio(seconds(.c), seconds(.grdb)) {
            figures.append(Figure(name: "c/grdb", ratio: limit))
        }
        guard let reference = benchmark.reference else { return figures }
        for side in benchmark.sides {
            let runner = reference.sides.contains(side) ? side : reference.sides[0]
            guard let ratio = ratio(seconds(side), seconds(runner, of: reference.name)) else {
                continue
            }
            figures.append(
                Figure(
                    name: "\(side.rawValue)/\(reference.label)",
                    ratio: reference.threads.map { Double($0) / ratio } ?? ratio))
        }
        return figures
    }

    private func ratio(_ one: [Double]?, _ other: [Double]?) -> Double? {
        guard let one, let other, !one.isEmpty else { return nil }
        return median(zip(one, other).map { $0 / $1 })
    }
}

/// The target for a figure.
struct Bar: Sendable {
    enum Limit {
        case atMost(Double)
        case atLeast(Double)
        case atLeastFigure(String)
    }

    var caseName: String
    var figure: String
    var limit: Limit

    /// Times of what waits: for the disk, for other threads, for a derived key.
    ///
    /// What only computes is counted in instructions instead; see `Case.ownCost`.
    static let all = [
        Bar("queue-write", "ours/c", .atMost(1.20)),
        Bar("kv-put", "ours/c", .atMost(1.20)),
        Bar("group-write-1", "ours/ungrouped", .atMost(1.05)),
        Bar("pool-2-readers", "ours/one-reader", .atLeast(1.7)),
        Bar("pool-2-readers", "ours/one-reader", .atLeastFigure("grdb/one-reader")),
        Bar("open-raw", "ours/c", .atMost(1.30)),
        Bar("pool-open-passphrase", "ours/key-derivation", .atMost(1.15)),
        Bar("rekey", "ours/c", .atMost(1.10)),
        Bar("verify", "ours/c", .atMost(1.10)),
        Bar("backup", "ours/c", .atMost(1.10)),
        Bar("blob-write", "ours/c", .atMost(1.11)),
        Bar("blob-read", "ours/c", .atMost(1.11)),
        Bar("vault-get", "ours/store-get", .atMost(1.5)),
    ]

    private init(_ caseName: String, _ figure: String, _ limit: Limit) {
        self.caseName = caseName
        self.figure = figure
        self.limit = limit
    }

    /// Compares the figure with the bar, or returns nil when it was not measured.
    func verdict(_ figures: [Figure]) -> Verdict? {
        func ratio(_ name: String) -> Double? { figures.first { $0.name == name }?.ratio }
        guard let value = ratio(figure) else { return nil }
        switch limit {
        case .atMost(let limit):
            return Verdict(
                bar: self, value: value, condition: "<= \(limit.ratio)", isMet: value <= limit)
        case .atLeast(let limit):
            return Verdict(
                bar: self, value: value, condition: ">= \(limit.ratio)", isMet: value >= limit)
        case .atLeastFigure(let name):
            guard let limit = ratio(name) else { return nil }
            return Verdict(
                bar: self, value: value, condition: ">= \(limit.ratio) \(name)",
                isMet: value >= limit)
        }
    }
}

struct Verdict: Sendable {
    var bar: Bar
    var value: Double
    var condition: String
    var isMet: Bool
}
