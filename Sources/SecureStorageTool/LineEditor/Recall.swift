/// The statements and commands that the up key and Ctrl-R bring back.
struct Recall {
    private(set) var entries: [String] = []
    /// The entry that is shown, or the number of entries for the text that is being typed.
    private var position = 0
    /// What was typed before the first use of the up key.
    private var draft = ""

    mutating func remember(_ entry: String) {
        if entries.last != entry { entries.append(entry) }
        begin()
    }

    /// Starts at the end again, with an empty text.
    mutating func begin() {
        position = entries.count
        draft = ""
    }

    /// Returns the entry before the one that is shown; nil at the first one.
    mutating func previous(_ typed: String) -> String? {
        guard position > 0 else { return nil }
        if position == entries.count { draft = typed }
        position -= 1
        return entries[position]
    }

    /// Returns the entry after the one that is shown, or what had been typed; nil at the end.
    mutating func next() -> String? {
        guard position < entries.count else { return nil }
        position += 1
        return position == entries.count ? draft : entries[position]
    }

    /// Returns the index of the last entry before `end` that contains `text`, in any case.
    func find(_ text: String, before end: Int) -> Int? {
        let text = text.lowercased()
        guard !text.isEmpty else { return nil }
        return entries[..<min(max(end, 0), entries.count)]
            .lastIndex { $0.lowercased().contains(text) }
    }
}
