internal import SecureStorage

extension BrowserModel {
    mutating func ask(_ prompt: Prompt, _ text: String = "") {
        self.prompt = prompt
        input = LineInput(text)
    }

    mutating func takeInPrompt(_ key: Key) -> [Effect] {
        guard let prompt else { return [] }
        if case .confirm(_, let request) = prompt {
            self.prompt = nil
            if key == .text("y") { return start(request) }
            message = .note("nothing was changed")
            return []
        }
        switch key {
        case .escape, .control("c"): self.prompt = nil
        case .enter:
            self.prompt = nil
            return end(prompt, input.text)
        // Leaves the prompt, as in `less`.
        case .backspace where input.characters.isEmpty && !prompt.isEdit: self.prompt = nil
        default: input.take(key)
        }
        return []
    }

    private mutating func end(_ prompt: Prompt, _ text: String) -> [Effect] {
        switch prompt {
        case .search(let isForward):
            if !text.isEmpty { searchText = text }
            return searchAgain(isForward: isForward)
        case .filter:
            let isEmpty = text.allSatisfy { $0 == " " }
            let filter = isEmpty ? nil : text
            guard let old = rows?.source, old.filter != filter else { return [] }
            return start(
                .page(RowSource(table: old.table, filter: filter), .first, limit: pageLength))
        case .edit(let place, let old):
            guard let new = Self.value(of: text, like: old) else {
                message = .note("nothing was changed")
                return []
            }
            let shown = DisplayWidth.cut(ValueText.shown(new), to: 40)
            ask(
                .confirm(
                    "set \(place.columnName) of the row \(place.key.text) to \(shown)?",
                    .update(place, old: old, new: new)))
            return []
        case .confirm: return []
        }
    }

    /// Returns the typed value, or nil if it is the old one.
    ///
    /// A number stays one if it can; the column's type converts the rest.
    static func value(of text: String, like old: SQLiteValue) -> SQLiteValue? {
        if text == ValueText.shown(old) { return nil }
        if text == ValueText.null { return .null }
        if text == "'\(ValueText.null)'" { return .text(ValueText.null) }
        switch old {
        case .integer, .real:
            if let number = Int64(text) { return .integer(number) }
            if let number = Double(text), number.isFinite { return .real(number) }
        default: break
        }
        return .text(text)
    }

    mutating func searchAgain(isForward: Bool) -> [Effect] {
        guard let searchText else {
            message = .error("no text was searched; / begins")
            return []
        }
        isForwardSearch = isForward
        guard let rows else {
            if !list.find(searchText, isForward: isForward) { message = .error("not found") }
            return []
        }
        return start(
            .search(
                rows.source, TextSearch(text: searchText, isForward: isForward),
                from: rows.window.current?.key, limit: pageLength))
    }
}

extension BrowserModel.Prompt {
    /// Whether an empty line means something.
    var isEdit: Bool {
        if case .edit = self { true } else { false }
    }
}
