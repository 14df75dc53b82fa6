extension StringProtocol {
    /// The text without white space at its ends.
    var trimmed: String {
        String(drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    }

    /// The words in it, also those in names such as `rowCount`, in the singular.
    var words: Set<String> {
        var words: Set<String> = []
        var word = ""
        for character in self + " " {
            if !character.isLowercase {
                if word.hasSuffix("s") { word.removeLast() }
                if word.count > 3 { words.insert(word) }
                word = ""
            }
            if character.isLetter { word += character.lowercased() }
        }
        return words
    }

    /// Its beginning, in one line.
    var shortened: String {
        let text = split(whereSeparator: \.isWhitespace).joined(separator: " ")
        return text.count > 60 ? text.prefix(59) + "…" : text
    }
}
