extension StringProtocol {
    /// The text without white space at its ends.
    var trimmed: String {
        String(drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    }

    /// Its beginning, in one line.
    var shortened: String {
        let text = split(whereSeparator: \.isWhitespace).joined(separator: " ")
        return text.count > 60 ? text.prefix(59) + "…" : text
    }
}
