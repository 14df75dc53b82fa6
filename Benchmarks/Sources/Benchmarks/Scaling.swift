/// How cost and memory grow with a table, with a cache of 2 MB that holds none of them.
struct Scaling {
    /// One side at one size.
    struct Point: Codable, Sendable {
        var name: String
        var side: String
        var rows: Int
        /// Of a row that is written or read, of a look-up.
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

    /// Measures the sides at each size; `say` is called with each line of the table as it is there.
    static func measure(
        _ files: Files, sizes: [Int], rounds: Int, say: (String) -> Void
    ) throws -> [Point] {
        var points: [Point] = []
        for rows in sizes {
            for one in cases {
                // The large ones take long, and vary less.
                let large = rows >= 1_000_000
                let result = try one.measure(
                    files, rows: rows, rounds: large ? 1 : rounds, warmUp: !large)
                let calls = one.name == "lookup-cold" ? min(rows, 200_000) : rows
                let row = one.sides.map { side in
                    Point(
                        name: one.name, side: side.rawValue, rows: rows,
                        microsecondsPerRow: median(result.seconds(side) ?? []) / Double(calls)
                            * 1e6,
                        peakKilobytes: result.peak(side) ?? 0)
                }
                points += row
                say(
                    one.name.padded(14) + String(rows).leftPadded(9)
                        + row.map { $0.microsecondsPerRow.ratio.leftPadded(10) }.joined()
                        + row.map { String($0.peakKilobytes / 1024).leftPadded(10) }.joined())
            }
            try files.removeAll()
        }
        return points
    }

    /// The cost per row at 3 million rows beside that at 100 thousand, and a scan's memory.
    static func barLines(_ points: [Point]) -> [String] {
        func point(_ name: String, _ rows: Int) -> Point? {
            points.first { $0.name == name && $0.side == Side.ours.rawValue && $0.rows == rows }
        }
        func line(_ name: String, _ what: String, _ value: Double, _ limit: Double) -> String {
            "bar " + name.padded(14) + what.padded(36) + value.ratio.padded(7)
                + "<= \(limit.ratio)".padded(9) + (value <= limit ? "met" : "missed")
        }
        var lines: [String] = []
        for one in cases {
            guard let small = point(one.name, 100_000), let large = point(one.name, 3_000_000)
            else {
                continue
            }
            let ratio = large.microsecondsPerRow / small.microsecondsPerRow
            lines.append(line(one.name, "cost at 3,000,000/at 100,000 rows", ratio, 1.5))
            guard one.name == "scan-cold" else { continue }
            let memory = Double(large.peakKilobytes) / Double(small.peakKilobytes)
            lines.append(line(one.name, "memory at 3,000,000/at 100,000 rows", memory, 1.1))
        }
        return lines
    }
}
