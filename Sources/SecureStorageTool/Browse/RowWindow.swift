/// The rows that are in memory: a few pages around the cursor.
struct RowWindow: Equatable {
    private(set) var rows: [BrowsedRow] = []
    /// The row at the top of the screen, and the chosen one.
    private(set) var top = 0
    private(set) var cursor = 0
    private(set) var isAtStart = true
    private(set) var isAtEnd = true
    /// The number of rows before the first one in memory, if it is known.
    private(set) var offset: Int? = 0
    /// The lines of the screen for rows.
    private(set) var height = 1

    var shown: ArraySlice<BrowsedRow> { rows[top..<min(rows.count, top + height)] }
    var current: BrowsedRow? { rows.indices.contains(cursor) ? rows[cursor] : nil }
    /// The number of the chosen row, from 1.
    var number: Int? { offset.map { $0 + cursor + 1 } }

    mutating func setHeight(_ lines: Int) {
        height = max(1, lines)
        settle()
    }

    /// Replaces all rows, or adds those of the next or previous page; `total` is the number of all
    /// rows, if it is known.
    mutating func take(_ page: RowPage, total: Int? = nil) {
        switch page.place {
        case .after(let key) where rows.last?.key == key:
            rows += page.rows
            isAtEnd = page.isAtEnd
            let surplus = rows.count - limit
            if surplus > 0 {
                let removed = min(surplus, top)
                rows.removeFirst(removed)
                top -= removed
                cursor = max(top, cursor - removed)
                offset = offset.map { $0 + removed }
                if removed > 0 { isAtStart = false }
            }
        case .before(let key) where rows.first?.key == key:
            rows = page.rows + rows
            top += page.rows.count
            cursor += page.rows.count
            isAtStart = page.isAtStart
            offset = isAtStart ? 0 : offset.map { max(0, $0 - page.rows.count) }
            let surplus = min(rows.count - limit, rows.count - (top + height))
            if surplus > 0 {
                rows.removeLast(surplus)
                isAtEnd = false
            }
        default: replace(with: page, total)
        }
        settle()
    }

    /// Forgets rows that have other columns than those that follow.
    mutating func clear() {
        rows = []
        (top, cursor, offset) = (0, 0, 0)
        (isAtStart, isAtEnd) = (true, true)
    }

    private mutating func replace(with page: RowPage, _ total: Int?) {
        (rows, isAtStart, isAtEnd) = (page.rows, page.isAtStart, page.isAtEnd)
        (top, cursor) = (0, 0)
        switch page.place {
        case .last:
            cursor = max(0, rows.count - 1)
            top = max(0, rows.count - height)
            offset = isAtStart ? 0 : total.map { $0 - rows.count }
        case .from(.offset(let row)): offset = row
        default: offset = page.place == .first ? 0 : nil
        }
    }

    /// A few screens, whatever their height.
    private var limit: Int { 6 * height + 100 }

    // MARK: - Movement

    /// Chooses the row with a key, or the one that is now in its line of the screen.
    mutating func choose(_ key: RowKey, line: Int) {
        cursor = rows.firstIndex { $0.key == key } ?? min(top + line, rows.count - 1)
        settle()
    }

    /// The line of the screen in which the chosen row is.
    var line: Int { cursor - top }

    enum Step: Equatable {
        case by(Int)
        case page(Int)
    }

    /// Moves the cursor as far as rows are in memory.
    ///
    /// - Returns: The place of the rows that are missing for the rest of the way, and the rest.
    mutating func move(_ step: Step) -> (PagePlace, Step)? {
        guard !rows.isEmpty else { return nil }
        let lines: Int
        switch step {
        case .by(let count): lines = count
        case .page(let count): lines = count * max(1, height - 1)
        }
        let wanted = cursor + lines
        // A page moves the screen as well, as it does in `less`.
        if case .page = step { top = max(0, min(top + lines, rows.count - height)) }
        cursor = max(0, min(wanted, rows.count - 1))
        settle()
        if wanted >= rows.count, !isAtEnd, let last = rows.last {
            return (.after(last.key), .by(wanted - cursor))
        }
        if wanted < 0, !isAtStart, let first = rows.first {
            return (.before(first.key), .by(wanted))
        }
        return nil
    }

    /// The rows that the screen has room for, but that are not in memory.
    var missing: PagePlace? {
        guard let first = rows.first, let last = rows.last else { return nil }
        if !isAtEnd, rows.count - top < height { return .after(last.key) }
        if !isAtStart, rows.count < height { return .before(first.key) }
        return nil
    }

    private mutating func settle() {
        cursor = max(0, min(cursor, rows.count - 1))
        if cursor < top { top = cursor }
        if cursor >= top + height { top = cursor - height + 1 }
        // No empty lines at the end while rows are before the top.
        if isAtEnd { top = min(top, max(0, rows.count - height)) }
        top = max(0, top)
    }
}
