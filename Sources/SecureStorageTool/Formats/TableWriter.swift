internal import SecureStorage

/// Rows in aligned columns under a line of titles, cut to the width of the terminal except in
/// Markdown.
///
/// The first rows determine the widths of the columns, so results of any length appear immediately.
struct TableWriter: RowWriter {
    private static let rowsThatDecide = 200
    /// A size limit, so that giant values are not held back.
    private static let bytesThatDecide = 1 << 20
    private static let narrowest = 6

    /// What is drawn around the cells.
    enum Style {
        case plain, box, markdown

        var gap: String {
            switch self {
            case .plain: "  "
            case .box: " │ "
            case .markdown: " | "
            }
        }

        /// What precedes and follows a row.
        var edges: (String, String) {
            switch self {
            case .plain: ("", "")
            case .box: ("│ ", " │")
            case .markdown: ("| ", " |")
            }
        }
    }

    private struct Cell {
        var text: String
        var isNumber: Bool
        var isNull: Bool
    }

    private let output: Output
    private let options: RowOptions
    private let style: Style
    private var showsHeaders: Bool { options.showsHeaders || style == .markdown }
    /// nil when nothing is cut.
    private let width: Int?
    private var titles: [String] = []
    private var waiting: [[Cell]] = []
    private var waitingBytes = 0
    private var widths: [Int]?
    private var isRight: [Bool] = []

    init(to output: Output, _ options: RowOptions = RowOptions(), style: Style = .plain) {
        self.output = output
        self.options = options
        self.style = style
        width = output.isTerminal && style != .markdown ? Terminal.width() : nil
    }

    mutating func begin(_ columns: [String]) { titles = columns.map { shown($0) } }

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
        if style == .box, let widths, !widths.isEmpty { try writeRule("└─", "─┴─", "─┘") }
    }

    private func shown(_ text: String) -> String {
        let text = Visible.text(text)
        return style == .markdown ? text.replacing("|", with: "\\|") : text
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
        var text = ValueText.shown(value, nullText: options.nullText)
        if style == .markdown { text = text.replacing("|", with: "\\|") }
        return Cell(text: text, isNumber: isNumber, isNull: value == .null)
    }

    private mutating func writeWaiting() throws {
        // Without rows, the titles are not shown either.
        guard !waiting.isEmpty else { return }
        let columns = titles.indices
        isRight = columns.map { column in
            if let width = fixedWidth(column) { return width < 0 }
            return waiting.allSatisfy { $0[column].isNumber || $0[column].isNull }
                && waiting.contains { $0[column].isNumber }
        }
        let wanted = columns.map { column in
            fixedWidth(column).map { abs($0) }
                ?? waiting.reduce(showsHeaders ? DisplayWidth.of(titles[column]) : 0) {
                    max($0, DisplayWidth.of($1[column].text))
                }
        }
        widths = fitted(wanted)
        if style == .box { try writeRule("┌─", "─┬─", "─┐") }
        if showsHeaders {
            try write(titles.map { Cell(text: $0, isNumber: false, isNull: false) })
            switch style {
            case .plain: try writeRule("", style.gap, "")
            case .box: try writeRule("├─", "─┼─", "─┤")
            case .markdown:
                let rules = zip(widths ?? [], isRight).map {
                    String(repeating: "-", count: max($0, 1) + 1) + ($1 ? ":" : "-")
                }
                try output.write(line: "|" + rules.joined(separator: "|") + "|")
            }
        }
        for row in waiting { try write(row) }
        waiting = []
    }

    private func writeRule(_ start: String, _ gap: String, _ end: String) throws {
        let rules = (widths ?? []).map { String(repeating: "─", count: $0) }
        try output.write(line: start + rules.joined(separator: gap) + end)
    }

    /// Returns the width that the user has chosen, negative for alignment to the right.
    private func fixedWidth(_ column: Int) -> Int? {
        guard column < options.widths.count, options.widths[column] != 0 else { return nil }
        return options.widths[column]
    }

    /// Returns widths that fit the terminal; the widest columns shrink first.
    private func fitted(_ wanted: [Int]) -> [Int] {
        guard let width else { return wanted }
        var widths = wanted
        let edges = style.edges.0.count + style.edges.1.count
        let room = width - edges - style.gap.count * (widths.count - 1)
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
        var line = style.edges.0
        for (column, cell) in cells.enumerated() {
            let limit = widths?[column] ?? 0
            let isCut = width != nil || fixedWidth(column) != nil
            let text = isCut ? DisplayWidth.cut(cell.text, to: limit) : cell.text
            let blanks = String(repeating: " ", count: max(0, limit - DisplayWidth.of(text)))
            if column > 0 { line += style.gap }
            line += isRight[column] ? blanks + text : text + blanks
        }
        if style == .plain { while line.last == " " { line.removeLast() } }
        try output.write(line: line + style.edges.1)
    }
}
