internal import Foundation

/// The text of a statement, split into words: just enough SQL to read `CREATE VIRTUAL TABLE`.
struct VirtualTableText {
    private let text: [Character]

    init(_ text: String) { self.text = Array(text) }

    /// The module and its arguments, each as it is written.
    var virtualTable: (module: String, arguments: [String])? {
        var position = 0
        for word in ["CREATE", "VIRTUAL", "TABLE"] {
            guard next(&position)?.uppercased() == word else { return nil }
        }
        guard var name = next(&position) else { return nil }
        if name.uppercased() == "IF" {
            _ = next(&position)
            _ = next(&position)
            name = next(&position) ?? ""
        }
        guard !name.isEmpty, next(&position)?.uppercased() == "USING",
            let module = next(&position)
        else { return nil }
        guard next(&position) == "(" else { return (Self.unquoted(module), []) }
        var arguments = [""]
        var depth = 0
        while position < text.count {
            let start = position
            guard let word = next(&position) else { break }
            switch word {
            case ")" where depth == 0: return (Self.unquoted(module), arguments)
            case "," where depth == 0: arguments.append("")
            default:
                depth += word == "(" ? 1 : word == ")" ? -1 : 0
                // Without the comments before it.
                let isApart = position - word.count > start
                arguments[arguments.count - 1] += (isApart ? " " : "") + word
            }
        }
        return (Self.unquoted(module), arguments)
    }

    /// Returns a name, a quoted text, or a single other character, skipping blanks and comments
    /// before it.
    private func next(_ position: inout Int) -> String? {
        while skipBlank(&position) || skipComment(&position) {}
        guard position < text.count else { return nil }
        let start = position
        let first = text[position]
        position += 1
        if let end = ["'": "'", "\"": "\"", "`": "`", "[": "]"][first] as Character? {
            while position < text.count {
                position += 1
                guard text[position - 1] == end else { continue }
                // A doubled quote is a literal one.
                guard position < text.count, text[position] == end, end != "]" else { break }
                position += 1
            }
        } else if Self.isPartOfName(first) {
            while position < text.count, Self.isPartOfName(text[position]) { position += 1 }
        }
        return String(text[start..<position])
    }

    private func skipBlank(_ position: inout Int) -> Bool {
        guard position < text.count, text[position].isWhitespace else { return false }
        position += 1
        return true
    }

    private func skipComment(_ position: inout Int) -> Bool {
        guard position + 1 < text.count else { return false }
        switch (text[position], text[position + 1]) {
        case ("-", "-"):
            while position < text.count, !text[position].isNewline { position += 1 }
        case ("/", "*"):
            position += 2
            while position < text.count,
                !(text[position] == "*" && position + 1 < text.count && text[position + 1] == "/")
            {
                position += 1
            }
            position = min(position + 2, text.count)
        default: return false
        }
        return true
    }

    private static func isPartOfName(_ character: Character) -> Bool {
        character.isLetter || character.isNumber || character == "_" || character == "$"
            || !character.isASCII
    }

    /// Returns a name without its quotes.
    static func unquoted(_ word: String) -> String {
        guard let first = word.first, "'\"`[".contains(first), word.count > 1 else { return word }
        let quote = String(first)
        return String(word.dropFirst().dropLast())
            .replacingOccurrences(of: quote + quote, with: quote)
    }
}
