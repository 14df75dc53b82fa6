internal import SecureStorage

/// What the screen shows of the state.
struct BrowserView {
    let model: BrowserModel

    /// The lines of the screen, of which none is wider than it.
    var lines: [StyledLine] {
        let size = model.size
        guard !size.isTooSmall else {
            let text = "the terminal is too small"
            return [StyledLine(DisplayWidth.cut(text, to: max(1, size.columns)))]
        }
        var body: [StyledLine]
        if let pane = model.pane {
            body = [title(pane)] + pane.shown.map { StyledLine($0) }
        } else if let rows = model.rows {
            body = self.rows(rows)
        } else {
            body = list
        }
        body = Array(body.prefix(size.lines - 1))
        while body.count < size.lines - 1 { body.append(StyledLine()) }
        return body + [lastLine]
    }

    /// The place of the text cursor, from 1, in the last line; nil when nothing is typed.
    var cursorColumn: Int? {
        guard let prompt = model.prompt, !model.size.isTooSmall else { return nil }
        if case .confirm = prompt { return nil }
        return typed(prompt).cursor + 1
    }

    // MARK: - Bodies

    private func bar(_ left: String, _ right: String) -> StyledLine {
        let width = model.size.columns
        let shown = DisplayWidth.cut(" " + Visible.text(left), to: max(1, width - 2))
        let room = width - DisplayWidth.of(shown) - 2
        let rest = room > 4 ? DisplayWidth.cut(Visible.text(right), to: room) : ""
        let blanks = width - DisplayWidth.of(shown) - DisplayWidth.of(rest) - 1
        return StyledLine(
            shown + String(repeating: " ", count: max(0, blanks)) + rest + " ", .title)
    }

    private func title(_ pane: TextPane) -> StyledLine {
        let last = min(pane.lineCount, pane.top + pane.height)
        return bar(pane.title, "lines \(pane.top + 1)-\(last) of \(pane.lineCount)")
    }

    private var list: [StyledLine] {
        let entries = model.list.shown
        let width = model.size.columns
        let counts = entries.map { model.list.counts[$0.name]?.text ?? "…" }
        let countWidth = max(4, counts.map { DisplayWidth.of($0) }.max() ?? 0)
        let kindWidth = 13
        let nameWidth = width - countWidth - kindWidth - 5
        let isEmpty = model.list.entries.isEmpty && !model.isBusy
        var lines = [
            bar(
                model.file,
                "\(model.list.entries.count) tables and views"
                    + (model.isWritable ? ", writable" : ", read-only"))
        ]
        lines.append(
            StyledLine(
                " " + pad("name", nameWidth) + "  " + pad("kind", kindWidth)
                    + pad("rows", countWidth, isRight: true) + "  ", .header))
        if isEmpty { lines.append(StyledLine(" the file has no tables", .dim)) }
        for (entry, count) in zip(entries, counts) {
            let isChosen = entry == model.list.current
            let style = isChosen ? StyledLine.Style.chosenRow : .plain
            var line = StyledLine(" " + pad(Visible.text(entry.name), nameWidth) + "  ", style)
            line.add(pad(entry.kind.rawValue, kindWidth), isChosen ? style : .dim)
            line.add(pad(count, countWidth, isRight: true), isChosen ? style : .number)
            line.fill(to: width, style)
            lines.append(line)
        }
        return lines
    }

    private func rows(_ screen: RowsScreen) -> [StyledLine] {
        let width = model.size.columns
        let left = "\(model.file) › \(screen.source.table)"
        var right = position(screen)
        if let filter = screen.source.filter { right = "where \(filter)   \(right)" }
        guard let shape = screen.shape else { return [bar(left, "")] }
        let layout = RowLayout(screen, width: width)
        var header = StyledLine()
        for (index, column) in layout.columns.enumerated() {
            if index > 0 { header.add("  ", .header) }
            header.add(
                pad(
                    Visible.text(shape.columns[column]), layout.widths[index],
                    isRight: layout.isRight[column]), .header)
        }
        header.fill(to: width, .header)
        var lines = [bar(left, right), header]
        if screen.window.rows.isEmpty { lines.append(StyledLine(" no rows", .dim)) }
        for (index, row) in screen.window.shown.enumerated() {
            let isChosen = screen.window.top + index == screen.window.cursor
            lines.append(line(row, layout, isChosen ? screen.column : nil))
        }
        return lines
    }

    private func line(_ row: BrowsedRow, _ layout: RowLayout, _ chosen: Int?) -> StyledLine {
        var line = StyledLine()
        let rowStyle = chosen == nil ? StyledLine.Style.plain : .chosenRow
        for (index, column) in layout.columns.enumerated() {
            let cell = row.cells[column]
            if index > 0 { line.add("  ", rowStyle) }
            let style: StyledLine.Style
            if let chosen {
                style = chosen == column ? .chosenCell : .chosenRow
            } else {
                style = cell.value == .null ? .dim : cell.isNumber ? .number : .plain
            }
            line.add(pad(cell.text, layout.widths[index], isRight: layout.isRight[column]), style)
        }
        if chosen != nil { line.fill(to: model.size.columns, rowStyle) }
        return line
    }

    private func position(_ screen: RowsScreen) -> String {
        guard let row = screen.window.current else { return "" }
        let count = screen.source.filter == nil ? model.list.counts[screen.source.table] : nil
        let total = count.map { $0 == .unknown ? "" : " of \($0.text)" } ?? ""
        let columns =
            screen.shape.map { "column \(screen.column + 1) of \($0.columns.count)   " } ?? ""
        if let number = screen.window.number { return "\(columns)row \(number)\(total)" }
        return "\(columns)key \(row.key.text)"
    }

    private func pad(_ text: String, _ width: Int, isRight: Bool = false) -> String {
        guard width > 0 else { return "" }
        let text = DisplayWidth.cut(text, to: width)
        let blanks = String(repeating: " ", count: max(0, width - DisplayWidth.of(text)))
        return isRight ? blanks + text : text + blanks
    }

    // MARK: - The last line

    private var lastLine: StyledLine {
        let width = model.size.columns
        if let prompt = model.prompt {
            if case .confirm(let question, _) = prompt {
                return StyledLine(
                    DisplayWidth.cut(Visible.text(question), to: width - 6) + " (y/n)", .note)
            }
            return StyledLine(typed(prompt).text)
        }
        switch model.message {
        case .error(let text):
            return StyledLine(DisplayWidth.cut(Visible.text(text), to: width), .error)
        case .note(let text), .progress(let text):
            return StyledLine(DisplayWidth.cut(Visible.text(text), to: width), .note)
        case nil: break
        }
        if model.isBusy { return StyledLine("reading …", .dim) }
        return StyledLine(DisplayWidth.cut(hints, to: width), .dim)
    }

    private var hints: String {
        if model.pane != nil { return "↑↓ scroll  g/G ends  q back  ? help" }
        if model.rows == nil {
            return "Enter rows  s schema  / search  r read again  q end  ? help"
        }
        let changes = model.isWritable ? "  e edit  d delete" : ""
        return "Enter value  / search  f filter  s schema  g/G ends\(changes)  q back  ? help"
    }

    /// The prompt, with the part of the input around the cursor, and the cursor's column from 0.
    private func typed(_ prompt: BrowserModel.Prompt) -> (text: String, cursor: Int) {
        let label =
            switch prompt {
            case .search(let isForward): isForward ? "/" : "?"
            case .filter: "where: "
            case .edit(let place, _):
                DisplayWidth.cut("new \(Visible.text(place.columnName))", to: 20) + ": "
            case .confirm: ""
            }
        let room = model.size.columns - DisplayWidth.of(label) - 1
        let pieces = model.input.characters.map { Visible.text(String($0)) }
        let widths = pieces.map { DisplayWidth.of($0) }
        var start = 0
        var before = widths[..<model.input.cursor].reduce(0, +)
        while before > room, start < model.input.cursor {
            before -= widths[start]
            start += 1
        }
        var shown = ""
        var used = 0
        for index in pieces.indices.dropFirst(start) {
            guard used + widths[index] <= room else { break }
            used += widths[index]
            shown += pieces[index]
        }
        return (label + shown, DisplayWidth.of(label) + before)
    }
}
