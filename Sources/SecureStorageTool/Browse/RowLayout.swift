internal import SecureStorage

/// The columns that the screen has room for, and their widths.
struct RowLayout: Equatable {
    /// The first column on the screen.
    let first: Int
    let widths: [Int]
    /// Whether a column's values are aligned at the right.
    let isRight: [Bool]

    static let gap = 2
    private static let widest = 40

    var columns: Range<Int> { first..<first + widths.count }

    /// - Parameters:
    ///   - screen: The first column on the screen moves as little as is needed to show the chosen
    ///     one.
    ///   - width: The columns of the terminal.
    init(_ screen: RowsScreen, width: Int) {
        let names = screen.shape?.columns ?? []
        let rows = screen.window.shown
        let wanted = names.indices.map { column in
            rows.reduce(max(1, DisplayWidth.of(Visible.text(names[column])))) {
                max($0, DisplayWidth.of($1.cells[column].text))
            }
        }
        let total = wanted.reduce(0) { $0 + $1 + Self.gap } - Self.gap
        // If all fit, none is cut.
        let limit = total <= width ? width : min(Self.widest, width)
        let limited = wanted.map { min($0, limit) }
        var start = min(screen.firstColumn, screen.column)
        func end(of column: Int) -> Int {
            limited[start...column].reduce(0) { $0 + $1 + Self.gap } - Self.gap
        }
        while start < screen.column, screen.column < limited.count, end(of: screen.column) > width {
            start += 1
        }
        var shown: [Int] = []
        var room = width
        for column in limited.indices.dropFirst(start) where room > 0 {
            shown.append(min(limited[column], room))
            room -= limited[column] + Self.gap
        }
        // The last one has what is left over.
        if let last = shown.last, room + Self.gap > 0, start + shown.count <= wanted.count {
            let column = start + shown.count - 1
            shown[shown.count - 1] = max(last, min(wanted[column], last + room + Self.gap))
        }
        first = start
        widths = shown
        isRight = names.indices.map { column in
            rows.contains { $0.cells[column].isNumber }
                && rows.allSatisfy {
                    $0.cells[column].isNumber || $0.cells[column].value == .null
                }
        }
    }
}
