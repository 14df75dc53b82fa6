/// The text that is being typed, with a cursor, and the motions and changes that keys make.
///
/// A position is between two characters as people see them: a base letter and its accent are one.
struct EditedText: Equatable {
    private(set) var before = ""
    private(set) var after = ""
    /// What the last cut took, for ``paste()``.
    private(set) var cut = ""

    var whole: String { before + after }
    var isEmpty: Bool { before.isEmpty && after.isEmpty }

    init(_ text: String = "", cut: String = "") {
        before = text
        self.cut = cut
    }

    // MARK: - Changes

    mutating func insert(_ text: String) { before += text }

    mutating func paste() { before += cut }

    /// Replaces the last characters before the cursor, as a completion does.
    mutating func replace(last count: Int, with text: String) {
        before.removeLast(count)
        before += text
    }

    mutating func deleteBackward() { if !before.isEmpty { before.removeLast() } }
    mutating func deleteForward() { if !after.isEmpty { after.removeFirst() } }

    /// Cuts to the start of the line; at its start, the line feed before it.
    mutating func cutToLineStart() {
        let line = before.suffix(while: { $0 != "\n" })
        cutBackward(max(line.count, before.isEmpty ? 0 : 1))
    }

    /// Cuts to the end of the line; at its end, the line feed.
    mutating func cutToLineEnd() {
        let line = after.prefix { $0 != "\n" }
        cutForward(max(line.count, after.isEmpty ? 0 : 1))
    }

    /// Cuts back to the blank before the word, as terminals do with Ctrl-W.
    mutating func cutTerminalWord() {
        let blanks = before.suffix(while: \.isWhitespace)
        let word = before.dropLast(blanks.count).suffix(while: { !$0.isWhitespace })
        cutBackward(blanks.count + word.count)
    }

    mutating func cutWordBackward() { cutBackward(wordBackward) }
    mutating func cutWordForward() { cutForward(wordForward) }

    private mutating func cutBackward(_ count: Int) {
        guard count > 0 else { return }
        cut = String(before.suffix(count))
        before.removeLast(count)
    }

    private mutating func cutForward(_ count: Int) {
        guard count > 0 else { return }
        cut = String(after.prefix(count))
        after.removeFirst(count)
    }

    // MARK: - Motions

    mutating func moveBackward() { move(-1) }
    mutating func moveForward() { move(1) }
    mutating func moveWordBackward() { move(-wordBackward) }
    mutating func moveWordForward() { move(wordForward) }
    mutating func moveToLineStart() { move(-before.suffix(while: { $0 != "\n" }).count) }
    mutating func moveToLineEnd() { move(after.prefix { $0 != "\n" }.count) }
    mutating func moveToEnd() { move(after.count) }

    /// Moves to the same column of the line above; returns false in the first line.
    mutating func moveUp() -> Bool {
        let column = before.suffix(while: { $0 != "\n" }).count
        guard column < before.count else { return false }
        move(-column - 1)
        let above = before.suffix(while: { $0 != "\n" }).count
        if above > column { move(column - above) }
        return true
    }

    /// Moves to the same column of the line below; returns false in the last line.
    mutating func moveDown() -> Bool {
        guard let end = after.firstIndex(of: "\n") else { return false }
        let column = before.suffix(while: { $0 != "\n" }).count
        move(after.distance(from: after.startIndex, to: end) + 1)
        move(min(column, after.prefix { $0 != "\n" }.count))
        return true
    }

    private mutating func move(_ count: Int) {
        if count < 0 {
            let moved = before.suffix(-count)
            after = moved + after
            before.removeLast(moved.count)
        } else {
            let moved = after.prefix(count)
            before += moved
            after.removeFirst(moved.count)
        }
    }

    private var wordBackward: Int {
        let gap = before.suffix(while: { !Self.isInWord($0) })
        return gap.count + before.dropLast(gap.count).suffix(while: { Self.isInWord($0) }).count
    }

    private var wordForward: Int {
        let gap = after.prefix { !Self.isInWord($0) }
        return gap.count + after.dropFirst(gap.count).prefix { Self.isInWord($0) }.count
    }

    static func isInWord(_ character: Character) -> Bool {
        character.isLetter || character.isNumber || character == "_" || character == "$"
    }
}

extension BidirectionalCollection {
    /// Returns the elements at the end that satisfy a condition.
    func suffix(while condition: (Element) -> Bool) -> SubSequence {
        var start = endIndex
        while start > startIndex {
            let previous = index(before: start)
            guard condition(self[previous]) else { break }
            start = previous
        }
        return self[start...]
    }
}
