internal import SecureStorage

/// Rows in aligned columns under a line of titles, cut to the width of the terminal except in
/// Markdown.
///
/// The first rows determine the widths of the columns, so results of any length appear immediately.
/// If the terminal has no room for all columns, each row is several lines, one for each column.
struct TableWriter: RowWriter {
    private static let rowsThatDecide = 200
    /// A size limit, so that giant values are not held back.
    private static let bytesThatDecide = 1 << 20
    /// With fewer characters of each, nobody would know the columns.
    private static let narrowest = 8

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
    /// Whether the columns of a row are below each other.
    private var isInLines = false
    private var isFirst = true

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
            try writeRow(cells)
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
        if style == .box, !isInLines, let widths, !widths.isEmpty {
            try writeRule("└─", "─┴─", "─┘")
        }
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
        isInLines = !hasRoom(for: wanted)
        widths = isInLines ? [] : fitted(wanted)
        if isInLines {
            for row in waiting { try writeRow(row) }
            waiting = []
            return
        }
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

    private mutating func writeRow(_ cells: [Cell]) throws {
        guard isInLines else { return try write(cells) }
        if !isFirst { try output.write(line: "") }
        isFirst = false
        let longest = titles.reduce(0) { max($0, DisplayWidth.of($1)) }
        for (title, cell) in zip(titles, cells) {
            let blanks = String(repeating: " ", count: longest - DisplayWidth.of(title))
            let line = "\(blanks)\(title) = \(cell.text)"
            try output.write(line: width.map { DisplayWidth.cut(line, to: $0) } ?? line)
        }
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

    /// The characters that a line has for its cells; nil when nothing is cut.
    private func room(for count: Int) -> Int? {
        let edges = style.edges.0.count + style.edges.1.count
        return width.map { $0 - edges - style.gap.count * (count - 1) }
    }

    private func hasRoom(for wanted: [Int]) -> Bool {
        guard let room = room(for: wanted.count), options.widths.isEmpty else { return true }
        return wanted.count < 2 || wanted.reduce(0) { $0 + min($1, Self.narrowest) } <= room
    }

    /// Returns widths that fit the terminal; the widest columns shrink first.
    private func fitted(_ wanted: [Int]) -> [Int] {
        guard let room = room(for: wanted.count) else { return wanted }
        var widths = wanted
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
