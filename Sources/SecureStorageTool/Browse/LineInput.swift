/// A line that is being typed at the bottom of the screen.
struct LineInput: Equatable {
    private(set) var characters: [Character]
    /// The number of characters before the cursor.
    private(set) var cursor: Int

    /// SQLite refuses patterns of more than 50,000 bytes.
    static let longest = 4096

    init(_ text: String = "") {
        characters = Array(text)
        cursor = characters.count
    }

    var text: String { String(characters) }

    private mutating func insert(_ character: Character) {
        guard characters.count < Self.longest else { return }
        let before = characters
        characters.insert(character, at: cursor)
        // A combining mark joins the character before it.
        let joined = Array(String(characters))
        cursor = min(cursor + joined.count - before.count, joined.count)
        characters = joined
    }

    mutating func take(_ key: Key) {
        switch key {
        case .text(let text):
            for character in text { insert(character) }
        case .backspace:
            guard cursor > 0 else { return }
            cursor -= 1
            characters.remove(at: cursor)
        case .delete, .control("d"):
            if cursor < characters.count { characters.remove(at: cursor) }
        case .left, .control("b"): cursor = max(0, cursor - 1)
        case .right, .control("f"): cursor = min(characters.count, cursor + 1)
        case .home, .control("a"): cursor = 0
        case .end, .control("e"): cursor = characters.count
        case .control("u"):
            characters.removeFirst(cursor)
            cursor = 0
        case .control("k"): characters.removeSubrange(cursor...)
        case .control("w"):
            let end = cursor
            while cursor > 0, characters[cursor - 1] == " " { cursor -= 1 }
            while cursor > 0, characters[cursor - 1] != " " { cursor -= 1 }
            characters.removeSubrange(cursor..<end)
        default: break
        }
    }
}
