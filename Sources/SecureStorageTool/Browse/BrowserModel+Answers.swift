internal import SecureStorage

extension BrowserModel {
    /// Changes the state for an answer of the database.
    mutating func take(_ answer: BrowserAnswer) -> [Effect] {
        switch answer {
        case .counted(let name, let count):
            list.take(count, of: name)
            return []
        case .progress(let text):
            if isBusy { message = .progress(text) }
            return []
        default: break
        }
        let request = running
        running = nil
        if case .progress = message { message = nil }
        switch answer {
        case .tables(let entries):
            list.take(entries)
            layOut()
        case .page(let page): return show(page, for: request)
        case .found(let page, let columns):
            setShape(page.shape)
            rows?.window.take(page)
            // Where the text is, unless the chosen column has it as well.
            if let first = columns.first, let column = rows?.column, !columns.contains(column) {
                rows?.column = first
            }
            return missingRows()
        case .notFound:
            let isForward = isForwardSearch
            message = .error(
                "not found \(isForward ? "after" : "before") this row; "
                    + (isForward ? "g goes to the first" : "G goes to the last"))
        case .cell(let place, let value): show(value, of: place)
        case .schema(let name, let text):
            pane = TextPane("Schema of \(name)", .text(text))
            layOut()
        case .updated:
            let effects = reload()
            message = .note("the cell was changed")
            return effects
        case .deleted:
            let effects = reload()
            message = .note("the row was deleted")
            return effects
        case .gone(let name):
            (rows, pane, prompt) = (nil, nil, nil)
            let effects = start(.tables)
            message = .error("\(name) no longer exists")
            return effects
        case .failed(let text): fail(.error(text))
        case .interrupted: fail(.note("interrupted"))
        case .counted, .progress: break
        }
        return []
    }

    /// The screen stays as it is.
    private mutating func fail(_ message: Message) {
        (movement, kept) = (nil, nil)
        isBeforeEdit = false
        self.message = message
        // Without a first page nothing could be shown of the table.
        if let rows, rows.shape == nil { self.rows = nil }
    }

    private mutating func show(_ page: RowPage, for request: BrowserRequest?) -> [Effect] {
        guard rows != nil else { return [] }
        let hasChanged = setShape(page.shape)
        if hasChanged {
            rows?.window.clear()
            message = .note("the schema has changed")
        }
        if case .page(let source, _, _) = request { rows?.source = source }
        let total = total
        rows?.window.take(page, total: total)
        if let (key, line) = kept { rows?.window.choose(key, line: line) }
        kept = nil
        list.choose(page.shape.name)
        if hasChanged, page.place != .first {
            movement = nil
            return load(.first)
        }
        if let rest = movement {
            movement = nil
            // Nothing was left: no further page is asked for.
            if !page.rows.isEmpty { return move(rest) }
        }
        return missingRows()
    }

    /// The number of rows, if all were counted.
    private var total: Int? {
        guard let rows, rows.source.filter == nil,
            case .exactly(let count) = list.counts[rows.source.table]
        else { return nil }
        return count
    }

    /// - Returns: Whether it has changed since the last page.
    @discardableResult
    private mutating func setShape(_ shape: TableShape) -> Bool {
        guard var screen = rows else { return false }
        let isOther = screen.shape.map { $0 != shape } ?? false
        screen.shape = shape
        screen.column = max(0, min(screen.column, shape.columns.count - 1))
        rows = screen
        return isOther
    }

    private mutating func show(_ value: WholeValue, of place: CellPlace) {
        if isBeforeEdit {
            isBeforeEdit = false
            edit(value, of: place)
            return
        }
        var title = "\(place.columnName) of row \(place.key.text)"
        switch value.value {
        case .text, .blob:
            title += ", \(value.length) \(value.length == 1 ? "byte" : "bytes")"
            if !value.isWhole {
                title += ", of which the first \(BrowserPages.longestValue >> 20) Mi are shown"
            }
        default: break
        }
        pane = TextPane(title, value.value)
        layOut()
    }

    private mutating func edit(_ value: WholeValue, of place: CellPlace) {
        switch value.value {
        case .blob:
            message = .error("a blob cannot be edited; \"securestorage query\" can set it")
        case .text(let text)
        where Visible.text(text) != text || text.count > LineInput.longest || !value.isWhole:
            message = .error(
                "a text with several lines or control characters cannot be edited here")
        default: ask(.edit(place, old: value.value), ValueText.shown(value.value))
        }
    }
}
