internal import SecureStorage

/// The size of a screen in columns and lines.
struct ScreenSize: Equatable, Sendable {
    var columns: Int
    var lines: Int

    static let smallest = ScreenSize(columns: 40, lines: 8)

    var isTooSmall: Bool {
        columns < Self.smallest.columns || lines < Self.smallest.lines
    }
}

/// The state of the browser, which keys and answers of the database change.
///
/// It knows neither the terminal nor the database.
struct BrowserModel {
    /// What the program does after a key.
    enum Effect: Equatable {
        case request(BrowserRequest)
        /// Ends the request that is running.
        case interrupt
        case suspend
        case quit(status: Int32)
    }

    /// What is typed at the bottom.
    enum Prompt: Equatable {
        case search(isForward: Bool)
        case filter
        case edit(CellPlace, old: SQLiteValue)
        /// Asks for `y`, for a change.
        case confirm(String, BrowserRequest)
    }

    enum Message: Equatable {
        /// Disappears with the end of the request.
        case progress(String)
        case note(String)
        case error(String)
    }

    let file: String
    let isWritable: Bool
    var size: ScreenSize
    var list = TableList()
    var rows: RowsScreen?
    /// Covers the rows or the list: a schema, a value or the help.
    var pane: TextPane?
    var prompt: Prompt?
    var input = LineInput()
    var message: Message?
    /// The request whose answer is awaited; other keys than Ctrl-C and Esc wait for it.
    var running: BrowserRequest?
    /// The rest of a movement that waits for rows.
    var movement: RowWindow.Step?
    var searchText: String?
    var isForwardSearch = true
    /// The row, and its line on the screen, that is chosen again when the rows were read again.
    var kept: (key: RowKey, line: Int)?
    /// Whether a value is read to be edited.
    var isBeforeEdit = false

    init(file: String, isWritable: Bool, size: ScreenSize) {
        self.file = file
        self.isWritable = isWritable
        self.size = size
    }

    var isBusy: Bool { running != nil }

    /// The lines between the titles and the last one.
    var bodyHeight: Int { max(1, size.lines - 3) }

    mutating func resize(to size: ScreenSize) -> [Effect] {
        self.size = size
        layOut()
        return isBusy ? [] : missingRows()
    }

    mutating func layOut() {
        let height = bodyHeight
        let width = size.columns
        list.setHeight(height)
        rows?.window.setHeight(height)
        // One line more: a pane has no titles of columns.
        pane?.setSize(width: width, height: height + 1)
    }

    /// Returns the effect that starts a request.
    mutating func start(_ request: BrowserRequest) -> [Effect] {
        running = request
        return [.request(request)]
    }

    /// The number of rows in a page.
    var pageLength: Int { 2 * bodyHeight }

    mutating func load(_ place: PagePlace) -> [Effect] {
        guard let rows else { return [] }
        return start(.page(rows.source, place, limit: pageLength))
    }

    mutating func missingRows() -> [Effect] {
        rows?.window.missing.map { load($0) } ?? []
    }

    /// Shows the rows of a table.
    mutating func open(_ table: String) -> [Effect] {
        var screen = RowsScreen(source: RowSource(table: table))
        screen.window.setHeight(bodyHeight)
        rows = screen
        return load(.first)
    }
}

/// The list of tables and views, with their row counts.
struct TableList: Equatable {
    private(set) var entries: [TableEntry] = []
    private(set) var counts: [String: RowCount] = [:]
    private(set) var cursor = 0
    private(set) var top = 0
    private var height = 1

    var current: TableEntry? { entries.indices.contains(cursor) ? entries[cursor] : nil }
    var shown: ArraySlice<TableEntry> { entries[top..<min(entries.count, top + height)] }

    /// The next visible table without a count.
    var uncounted: String? { shown.first { counts[$0.name] == nil }?.name }

    mutating func setHeight(_ lines: Int) {
        height = max(1, lines)
        move(by: 0)
    }

    mutating func take(_ new: [TableEntry]) {
        let chosen = current
        entries = new
        counts = [:]
        cursor = entries.firstIndex { $0 == chosen } ?? min(cursor, max(0, entries.count - 1))
        move(by: 0)
    }

    mutating func take(_ count: RowCount, of name: String) { counts[name] = count }

    mutating func forgetCount(of name: String) { counts[name] = nil }

    mutating func choose(_ name: String) {
        if let index = entries.firstIndex(where: { $0.name == name }) {
            cursor = index
            move(by: 0)
        }
    }

    mutating func move(by count: Int) {
        cursor = max(0, min(cursor + count, entries.count - 1))
        if cursor < top { top = cursor }
        if cursor >= top + height { top = cursor - height + 1 }
        top = max(0, min(top, max(0, entries.count - height)))
    }

    /// Finds a part of a name, from the next entry on and around the end.
    mutating func find(_ text: String, isForward: Bool) -> Bool {
        guard !entries.isEmpty else { return false }
        let text = text.lowercased()
        for distance in 1...entries.count {
            let step = isForward ? distance : entries.count - distance
            let index = (cursor + step) % entries.count
            if entries[index].name.lowercased().contains(text) {
                move(by: index - cursor)
                return true
            }
        }
        return false
    }
}

/// The rows of a table on the screen.
struct RowsScreen: Equatable {
    var source: RowSource
    var shape: TableShape?
    var window = RowWindow()
    /// The chosen column, and the first one on the screen.
    var column = 0
    var firstColumn = 0
}

extension BrowserModel {
    /// The table whose rows are to be counted next.
    var uncounted: String? {
        guard let rows else { return list.uncounted }
        let name = rows.source.table
        return list.counts[name] == nil && rows.shape != nil ? name : nil
    }

    /// Moves the first column on the screen so that the chosen one is visible.
    mutating func settleColumns() {
        guard let rows else { return }
        self.rows?.firstColumn = RowLayout(rows, width: size.columns).first
    }
}
