import Foundation

/// The picture that `--svg` writes: the library's time compared with that of each other side.
struct Chart {
    private struct Row {
        var name: String
        var bars: [(other: Side, ratio: Double)]
    }

    private static let others: [(side: Side, color: String)] = [
        (.c, "#4c78a8"), (.grdb, "#f58518"), (.plain, "#9d9d9d"),
    ]
    private static let (left, scale, end, thickness, gap) = (170.0, 130.0, 4.0, 10.0, 10.0)

    private let rows: [Row]
    private let captions: [String]

    init(_ results: [CaseResult], machine: Machine) {
        rows = results.map { result in
            let figures = result.figures
            return Row(
                name: result.benchmark.name,
                bars: Self.others.compactMap { other in
                    figures.first { $0.name == "ours/\(other.side.rawValue)" }
                        .map { (other.side, $0.ratio) }
                })
        }
        .filter { !$0.bars.isEmpty }
        let day = Date().formatted(.iso8601.year().month().day())
        captions =
            ["\(machine.summary), \(day)"]
            + Side.allCases.compactMap { side in
                machine.versions[side.rawValue].map { "\(side.title): \($0)" }
            }
    }

    func write(to file: String) throws {
        try Data(svg.utf8).write(to: URL(fileURLWithPath: file))
    }

    var svg: String {
        var y = 70.0
        var lines: [String] = []
        for row in rows {
            let height = Double(row.bars.count) * Self.thickness
            lines.append(text(row.name, x: Self.left - 8, y: y + height / 2 + 4, anchor: "end"))
            for bar in row.bars {
                let length = min(bar.ratio, Self.end) * Self.scale
                lines.append(
                    """
                    <rect x="\(Self.left)" y="\(y)" width="\(length.short)" \
                    height="\(Self.thickness - 1)" fill="\(Self.color(bar.other))"/>
                    """)
                // A truncated bar is marked by an arrow after its figure.
                lines.append(
                    text(
                        bar.ratio.ratio + (bar.ratio > Self.end ? " →" : ""),
                        x: Self.left + length + 4, y: y + Self.thickness - 2, size: 9))
                y += Self.thickness
            }
            y += Self.gap
        }
        let width = Self.left + Self.end * Self.scale + 60
        return """
            <svg xmlns="http://www.w3.org/2000/svg" width="\(width.short)" height="\((y + 14 + 14 * Double(captions.count)).short)" \
            font-family="sans-serif">
            <rect width="100%" height="100%" fill="white"/>
            \(text("SecureStorage's time, as a multiple of the others': shorter is better", x: 16, y: 22, size: 14))
            \(legend)
            \(axis(to: y))
            \(lines.joined(separator: "\n"))
            \(foot(from: y + 14))
            </svg>

            """
    }

    private var legend: String {
        Self.others.enumerated().map { index, other in
            let x = Self.left + Double(index) * 150
            let names: [Side: String] = [
                .c: "beside C, by hand", .grdb: "beside GRDB", .plain: "beside C, not encrypted",
            ]
            return """
                <rect x="\(x)" y="36" width="10" height="10" fill="\(other.color)"/>
                \(text(names[other.side] ?? "", x: x + 14, y: 45))
                """
        }
        .joined(separator: "\n")
    }

    /// Lines at the whole multiples, with a dark one at 1.
    private func axis(to y: Double) -> String {
        (0...Int(Self.end)).map { value in
            let x = Self.left + Double(value) * Self.scale
            return """
                \(text("\(value)×", x: x, y: 60, size: 9, anchor: "middle"))
                <line x1="\(x)" y1="64" x2="\(x)" y2="\(y.short)" \
                stroke="\(value == 1 ? "#333333" : "#dddddd")"/>
                """
        }
        .joined(separator: "\n")
    }

    private func foot(from y: Double) -> String {
        captions.enumerated().map { index, caption in
            text(caption, x: 16, y: y + 14 * Double(index), size: 10)
        }
        .joined(separator: "\n")
    }

    private static func color(_ side: Side) -> String {
        others.first { $0.side == side }?.color ?? "black"
    }

    private func text(
        _ text: String, x: Double, y: Double, size: Int = 11, anchor: String = "start"
    ) -> String {
        let safe = text.replacingOccurrences(of: "&", with: "&amp;")
            .replacingOccurrences(of: "<", with: "&lt;")
        return """
            <text x="\(x.short)" y="\(y.short)" font-size="\(size)" text-anchor="\(anchor)" \
            paint-order="stroke" stroke="white" stroke-width="3">\(safe)</text>
            """
    }
}

extension Double {
    fileprivate var short: String { String(format: "%.1f", self) }
}
