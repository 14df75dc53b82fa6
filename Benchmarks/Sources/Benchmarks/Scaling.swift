/// The growth of cost and memory with a table, with a cache of 2 MB that is smaller than any of
/// them.
struct Scaling {
    /// One side at one size.
    struct Point: Codable, Sendable {
        var name: String
        var side: String
        var rows: Int
        /// The time of a row that is written or read, or of a lookup.
        var microsecondsPerRow: Double
        var peakKilobytes: Int
    }

    static let sizes = [10_000, 100_000, 1_000_000, 3_000_000]

    private static let cases = [
        Case(name: "insert-cold", template: .empty, writes: true),
        Case(name: "lookup-cold"),
        Case(name: "scan-cold"),
    ]

    static func head() -> String {
        "case".padded(14) + "rows".leftPadded(9)
            + Side.allCases.map { "\($0.title) us".leftPadded(10) }.joined()
            + Side.allCases.map { "\($0.title) MB".leftPadded(10) }.joined()
    }

    /// Measures the sides at each size, and calls `say` with each line of the table when it is
    /// complete.
    static func measure(
        _ files: Files, sizes: [Int], rounds: Int, say: (String) throws -> Void
    ) throws -> [Point] {
        var points: [Point] = []
        for rows in sizes {
            for one in cases {
                // Writing large tables takes long and varies less.
                let once = one.writes && rows >= 1_000_000
                let result = try one.measure(
                    files, rows: rows, rounds: once ? 1 : min(rounds, 3), warmUp: !once)
                let calls = one.name == "lookup-cold" ? min(rows, 200_000) : rows
                let row = one.sides.map { side in
                    Point(
                        name: one.name, side: side.rawValue, rows: rows,
                        microsecondsPerRow: median(result.seconds(side) ?? []) / Double(calls)
                            * 1e6,
                        peakKilobytes: result.peak(side) ?? 0)
                }
                points += row
                try say(
                    one.name.padded(14) + String(rows).leftPadded(9)
                        + row.map { $0.microsecondsPerRow.ratio.leftPadded(10) }.joined()
                        + row.map { String($0.peakKilobytes / 1024).leftPadded(10) }.joined())
            }
            try files.removeAll()
        }
        return points
    }

    /// Compares the cost per row at 3 million rows with that at 100 thousand, and a scan's memory;
    /// C's values are shown too.
    static func barLines(_ points: [Point]) -> [String] {
        func growth(_ name: String, _ side: Side, _ value: (Point) -> Double) -> Double? {
            func point(_ rows: Int) -> Point? {
                points.first { $0.name == name && $0.side == side.rawValue && $0.rows == rows }
            }
            guard let small = point(100_000), let large = point(3_000_000) else { return nil }
            return value(large) / value(small)
        }
        func line(
            _ name: String, _ what: String, limit: Double, _ value: (Point) -> Double
        ) -> String? {
            guard let ours = growth(name, .ours, value), let c = growth(name, .c, value) else {
                return nil
            }
            return "bar " + name.padded(14) + "\(what) at 3,000,000/at 100,000 rows".padded(38)
                + ours.ratio.padded(7) + "<= \(limit.ratio)".padded(9)
                + (ours <= limit ? "met" : "missed").padded(8) + "C: \(c.ratio)"
        }
        return cases.compactMap { line($0.name, "cost", limit: 1.5) { $0.microsecondsPerRow } }
            + [line("scan-cold", "memory", limit: 1.1) { Double($0.peakKilobytes) }]
            .compactMap { $0 }
    }
}
