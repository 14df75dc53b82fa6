internal import SecureStorage

extension BrowserModel {
    /// Changes the state for a key.
    mutating func take(_ key: Key) -> [Effect] {
        if isBusy { return takeWhileBusy(key) }
        if key == .control("z") { return [.suspend] }
        if prompt != nil { return takeInPrompt(key) }
        message = nil
        switch key {
        case .control("c"): return [.quit(status: 130)]
        case .text("Q"), .function(10): return [.quit(status: 0)]
        case .control("l"): return []
        case .text("?"), .function(1): return showHelp()
        default: break
        }
        if pane != nil { return takeInPane(key) }
        return rows == nil ? takeInList(key) : takeInRows(key)
    }

    private mutating func takeWhileBusy(_ key: Key) -> [Effect] {
        switch key {
        case .control("c"), .escape: [.interrupt]
        case .control("z"): [.suspend]
        default: []
        }
    }

    private mutating func showHelp() -> [Effect] {
        pane = TextPane("Help", .text(Self.help(isWritable: isWritable)))
        layOut()
        return []
    }

    private mutating func takeInPane(_ key: Key) -> [Effect] {
        switch key {
        case .text("q"), .escape, .backspace, .left, .text("h"): pane = nil
        default: _ = pane?.take(key)
        }
        return []
    }

    // MARK: - The list

    private mutating func takeInList(_ key: Key) -> [Effect] {
        switch key {
        case .text("q"): return [.quit(status: 0)]
        case .down, .text("j"): list.move(by: 1)
        case .up, .text("k"): list.move(by: -1)
        case .pageDown, .text(" "), .control("f"): list.move(by: bodyHeight)
        case .pageUp, .text("b"), .control("b"): list.move(by: -bodyHeight)
        case .home, .text("g"): list.move(by: -list.entries.count)
        case .end, .text("G"): list.move(by: list.entries.count)
        case .enter, .right, .text("l"):
            if let name = list.current?.name { return open(name) }
        case .text("s"), .function(2):
            if let name = list.current?.name { return start(.schema(name)) }
        case .text("r"), .function(5): return start(.tables)
        case .text("/"), .function(3): ask(.search(isForward: true))
        case .text("n"): return searchAgain(isForward: true)
        case .text("N"): return searchAgain(isForward: false)
        default: break
        }
        return []
    }

    // MARK: - Rows

    private mutating func takeInRows(_ key: Key) -> [Effect] {
        switch key {
        case .text("q"), .escape, .backspace: return closeRows()
        case .down, .text("j"): return move(.by(1))
        case .up, .text("k"): return move(.by(-1))
        case .pageDown, .text(" "), .control("f"): return move(.page(1))
        case .pageUp, .text("b"), .control("b"): return move(.page(-1))
        case .text("g"), .text("<"): return load(.first)
        case .text("G"), .text(">"): return load(.last)
        case .left, .text("h"): moveColumn(by: -1)
        case .right, .text("l"), .tab: moveColumn(by: 1)
        case .home, .text("0"), .text("^"): moveColumn(by: -columnCount)
        case .end, .text("$"): moveColumn(by: columnCount)
        case .enter:
            if let place = currentCell { return start(.cell(place)) }
        case .text("s"), .function(2):
            if let rows { return start(.schema(rows.source.table)) }
        case .text("r"), .function(5): return reload()
        case .text("/"), .function(3): ask(.search(isForward: true))
        case .text("n"): return searchAgain(isForward: true)
        case .text("N"): return searchAgain(isForward: false)
        case .text("f"), .text("&"), .function(4):
            ask(.filter, rows?.source.filter ?? "")
        case .text("e"): return beginEdit()
        case .text("d"), .delete: askForDeletion()
        default: break
        }
        return []
    }

    private mutating func closeRows() -> [Effect] {
        if rows?.source.filter != nil {
            rows?.source.filter = nil
            return load(.first)
        }
        rows = nil
        return []
    }

    mutating func reload() -> [Effect] {
        guard let rows else { return [] }
        let window = rows.window
        list.forgetCount(of: rows.source.table)
        kept = window.current.map { ($0.key, window.line) }
        guard !window.isAtStart || window.top > 0, let first = window.shown.first else {
            return load(.first)
        }
        return load(.from(first.key))
    }

    mutating func move(_ step: RowWindow.Step) -> [Effect] {
        guard let (place, rest) = rows?.window.move(step) else { return [] }
        movement = rest
        return load(place)
    }

    private var columnCount: Int { rows?.shape?.columns.count ?? 0 }

    private mutating func moveColumn(by count: Int) {
        guard var rows else { return }
        rows.column = max(0, min(rows.column + count, columnCount - 1))
        self.rows = rows
    }

    /// The chosen cell.
    private var currentCell: CellPlace? {
        guard let rows, let shape = rows.shape, let row = rows.window.current,
            shape.columns.indices.contains(rows.column)
        else { return nil }
        return CellPlace(
            table: shape.name, key: row.key, filter: rows.source.filter, column: rows.column,
            columnName: shape.columns[rows.column])
    }

    // MARK: - Changes

    private mutating func beginEdit() -> [Effect] {
        guard requireChangeable(), let place = currentCell else { return [] }
        isBeforeEdit = true
        return start(.cell(place))
    }

    private mutating func askForDeletion() {
        guard requireChangeable(), let rows, let shape = rows.shape, let row = rows.window.current
        else {
            return
        }
        ask(
            .confirm(
                "delete the row \(row.key.text) of \(shape.name)?",
                .delete(rows.source, row, columns: shape.columns)))
    }

    private mutating func requireChangeable() -> Bool {
        guard isWritable else {
            message = .error("the file is open for reading; start with --write to change it")
            return false
        }
        guard rows?.shape?.hasRows == true else {
            message = .error("only rows of tables can be changed")
            return false
        }
        return true
    }

    static func help(isWritable: Bool) -> String {
        """
        Movement
          ↑ ↓  j k              a row up, down
          ← →  h l  Tab         a column to the left, right
          PgUp PgDn  b Space    a page up, down
          g  G                  the first, the last row
          Home End  0 $         the first, the last column

        Tables and rows
          Enter                 the rows of a table; the whole value of a cell
          s  F2                 the schema
          q  Esc                back; from the list: the end
          Q  F10  Ctrl-C        the end
          r  F5                 read again
          Ctrl-Z                suspend

        Searching
          /  F3                 search a text in all columns (of the list: in the names)
          n  N                  the next, the previous one
          f  F4                 show only rows that fulfil an SQL condition, such as
                                city = 'London' AND born < 1900
          Esc  Ctrl-C           stop a search that is running

        \(isWritable
            ? "Changes, each confirmed and in a transaction of its own\n"
                + "  e                     edit the cell; NULL without quotes is NULL\n"
                + "  d                     delete the row\n"
            : "The file is open for reading. With --write, cells can be edited and rows deleted.\n")
        A text has quotes if it reads NULL. Control characters are shown as \\n or \\x1b.
        """
    }
}
