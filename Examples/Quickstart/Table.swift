/// Rows in aligned columns under a line of titles.
struct Table {
    enum Alignment {
        case left
        case right
    }

    private let columns: [(title: String, alignment: Alignment)]
    private var rows: [[String]] = []

    /// Creates a table; its last column may be cut to fit, so the longest text belongs there.
    init(_ columns: (title: String, alignment: Alignment)...) {
        self.columns = columns
    }

    mutating func add(_ cells: String...) {
        rows.append(cells.map(Report.printable))
    }

    /// Returns the lines of the table, none wider than `width`.
    func text(width: Int) -> [String] {
        let gap = "  "
        let widest = columns.indices.map { column in
            ([columns[column].title] + rows.map { cell($0, column) }).map(\.count).max() ?? 0
        }
        // All columns but the last have a maximum width.
        var widths = widest.map { min($0, 36) }
        let others = widths.dropLast().reduce(0) { $0 + $1 + gap.count }
        if let last = widest.last {
            widths[widths.count - 1] = max(1, min(last, width - others))
        }
        func line(_ cells: [String]) -> String {
            let padded = columns.indices.map { column in
                pad(cell(cells, column), to: widths[column], columns[column].alignment)
            }
            return String(padded.joined(separator: gap).reversed().drop { $0 == " " }.reversed())
        }
        return [line(columns.map(\.title)), widths.map { rule($0) }.joined(separator: gap)]
            + rows.map(line)
    }

    private func cell(_ row: [String], _ column: Int) -> String {
        column < row.count ? row[column] : ""
    }

    private func rule(_ length: Int) -> String { String(repeating: "─", count: length) }

    private func pad(_ text: String, to width: Int, _ alignment: Alignment) -> String {
        guard text.count <= width else { return text.prefix(width - 1) + "…" }
        let blanks = String(repeating: " ", count: width - text.count)
        return alignment == .left ? text + blanks : blanks + text
    }
}
