internal import SecureStorage

/// The rows of EXPLAIN QUERY PLAN as a tree, as the `sqlite3` shell draws them.
struct PlanTreeWriter: RowWriter {
    private struct Step {
        let identifier: Int64
        let parent: Int64
        let detail: String
    }

    private let output: Output
    private var steps: [Step] = []

    init(to output: Output) { self.output = output }

    mutating func begin(_ columns: [String]) {}

    mutating func write(_ row: SecureDatabaseResultSet) {
        steps.append(
            Step(
                identifier: row.int64(forColumnIndex: 0) ?? 0,
                parent: row.int64(forColumnIndex: 1) ?? 0,
                detail: Visible.text(row.string(forColumnIndex: 3) ?? "")))
    }

    func end() throws {
        try output.write(line: "QUERY PLAN")
        let children = Dictionary(grouping: steps, by: \.parent)
        try write(children[0] ?? [], children, margin: "")
    }

    private func write(
        _ steps: [Step], _ children: [Int64: [Step]], margin: String
    ) throws {
        for (index, step) in steps.enumerated() {
            let isLast = index == steps.count - 1
            try output.write(line: margin + (isLast ? "`--" : "|--") + step.detail)
            // A step is numbered after its parent, so this ends.
            guard step.identifier > step.parent else { continue }
            let below = margin + (isLast ? "   " : "|  ")
            try write(children[step.identifier] ?? [], children, margin: below)
        }
    }
}

/// The rows of EXPLAIN, with the instructions of loops indented.
struct ProgramWriter: RowWriter {
    private var table: TableWriter
    private var rows: [[SQLiteValue]] = []
    private var columnCount = 0

    /// Instructions that jump back to the start of a loop, as in the `sqlite3` shell.
    private static let loopEnds: Set<String> = ["Next", "SorterNext", "Prev", "VNext", "VPrev"]
    private static let loopStarts: Set<String> = [
        "Yield", "SeekLT", "SeekGT", "RowSetRead", "Rewind",
    ]

    init(to output: Output, _ options: RowOptions, style: TableWriter.Style) {
        var options = options
        options.nullText = ""
        table = TableWriter(to: output, options, style: style)
    }

    mutating func begin(_ columns: [String]) {
        columnCount = columns.count
        table.begin(columns)
    }

    mutating func write(_ row: SecureDatabaseResultSet) {
        rows.append((0..<columnCount).map { row.stored($0) })
    }

    mutating func end() throws {
        var indents = [Int](repeating: 0, count: rows.count)
        for (address, row) in rows.enumerated() {
            guard case .text(let name) = row[1], case .integer(let target) = row[3],
                target >= 0, target < rows.count
            else { continue }
            let start = Int(target)
            if Self.loopEnds.contains(name), start < address {
                for inner in start..<address { indents[inner] += 1 }
            } else if name == "Goto", start < address, Self.startsLoop(rows[start]) {
                for inner in (start + 1)..<address { indents[inner] += 1 }
            }
        }
        for (row, indent) in zip(rows, indents) {
            var row = row
            if case .text(let name) = row[1] {
                row[1] = .text(String(repeating: "  ", count: indent) + name)
            }
            try table.write(row)
        }
        try table.end()
    }

    private static func startsLoop(_ row: [SQLiteValue]) -> Bool {
        guard case .text(let name) = row[1] else { return false }
        return loopStarts.contains(name)
    }
}
