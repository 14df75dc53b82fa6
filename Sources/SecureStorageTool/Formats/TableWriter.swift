internal import SecureStorage

/// Rows in aligned columns under a line of titles, cut to the width of the terminal.
///
/// The first rows determine the widths of the columns, so results of any length appear immediately.
struct TableWriter: RowWriter {
    private static let rowsThatDecide = 200
    /// A size limit, so that giant values are not held back.
    private static let bytesThatDecide = 1 << 20
    private static let gap = "  "
    private static let narrowest = 6

    private struct Cell {
        var text: String
        var isNumber: Bool
        var isNull: Bool
    }

    private let output: Output
    private let showsHeaders: Bool
    /// nil when nothing is cut.
    private let width: Int?
    private var titles: [String] = []
    private var waiting: [[Cell]] = []
    private var waitingBytes = 0
    private var widths: [Int]?
    private var isRight: [Bool] = []

    init(to output: Output, showsHeaders: Bool) {
        self.output = output
        self.showsHeaders = showsHeaders
        width = output.isTerminal ? Terminal.width() : nil
    }

    mutating func begin(_ columns: [String]) { titles = columns.map { Visible.text($0) } }

    mutating func write(_ row: SecureDatabaseResultSet) throws {
        try write(titles.indices.map { row.stored($0) })
    }

    mutating func write(_ values: [SQLiteValue]) throws {
        let cells = values.map { cell($0) }
        guard widths == nil else {
            try write(cells)
            return
        }
        waiting.append(cells)
        waitingBytes += cells.reduce(0) { $0 + $1.text.utf8.count }
        if waiting.count == Self.rowsThatDecide || waitingBytes > Self.bytesThatDecide {
            try writeWaiting()
        }
    }

    mutating func end() throws {
        if widths == nil { try writeWaiting() }
    }

    private func cell(_ value: SQLiteValue) -> Cell {
        var value = value
        // Keep no more of a giant value than can be visible.
        if let width {
            switch value {
            case .text(let text) where text.utf8.count > 16 * width:
                value = .text(String(text.prefix(width + 1)))
            case .blob(let bytes) where bytes.count > width: value = .blob(bytes.prefix(width))
            default: break
            }
        }
        let isNumber =
            switch value {
            case .integer, .real: true
            default: false
            }
        return Cell(text: ValueText.shown(value), isNumber: isNumber, isNull: value == .null)
    }

    private mutating func writeWaiting() throws {
        // Without rows, the titles are not shown either.
        guard !waiting.isEmpty else { return }
        let columns = titles.indices
        isRight = columns.map { column in
            waiting.allSatisfy { $0[column].isNumber || $0[column].isNull }
                && waiting.contains { $0[column].isNumber }
        }
        let wanted = columns.map { column in
            waiting.reduce(showsHeaders ? DisplayWidth.of(titles[column]) : 0) {
                max($0, DisplayWidth.of($1[column].text))
            }
        }
        widths = fitted(wanted)
        if showsHeaders {
            try write(titles.map { Cell(text: $0, isNumber: false, isNull: false) })
            let rules = (widths ?? []).map { String(repeating: "─", count: $0) }
            try output.write(line: rules.joined(separator: Self.gap))
        }
        for row in waiting { try write(row) }
        waiting = []
    }

    /// Returns widths that fit the terminal; the widest columns shrink first.
    private func fitted(_ wanted: [Int]) -> [Int] {
        guard let width else { return wanted }
        var widths = wanted
        let room = width - Self.gap.count * (widths.count - 1)
        while widths.reduce(0, +) > room, let widest = widths.max(), widest > Self.narrowest {
            let excess = widths.reduce(0, +) - room
            let next = widths.filter { $0 < widest }.max() ?? Self.narrowest
            let count = widths.count { $0 == widest }
            let step = max(1, min(widest - max(next, Self.narrowest), (excess + count - 1) / count))
            widths = widths.map { $0 == widest ? $0 - step : $0 }
        }
        return widths
    }

    private func write(_ cells: [Cell]) throws {
        var line = ""
        for (column, cell) in cells.enumerated() {
            let limit = widths?[column] ?? 0
            let text = width == nil ? cell.text : DisplayWidth.cut(cell.text, to: limit)
            let blanks = String(repeating: " ", count: max(0, limit - DisplayWidth.of(text)))
            if column > 0 { line += Self.gap }
            line += isRight[column] ? blanks + text : text + blanks
        }
        while line.last == " " { line.removeLast() }
        try output.write(line: line)
    }
}

/// Rows as one `column = value` per line, with an empty line between rows.
struct LineWriter: RowWriter {
    private let output: Output
    private var names: [String] = []
    private var isFirst = true

    init(to output: Output) { self.output = output }

    mutating func begin(_ columns: [String]) {
        let columns = columns.map { Visible.text($0) }
        let width = columns.map { DisplayWidth.of($0) }.max() ?? 0
        names = columns.map {
            String(repeating: " ", count: width - DisplayWidth.of($0)) + $0
        }
    }

    mutating func write(_ row: SecureDatabaseResultSet) throws {
        if !isFirst { try output.write(line: "") }
        isFirst = false
        for (column, name) in names.enumerated() {
            try output.write(line: "\(name) = \(ValueText.shown(row.stored(column)))")
        }
    }

    mutating func end() {}
}
