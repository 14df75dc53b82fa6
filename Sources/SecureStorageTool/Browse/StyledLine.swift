/// A line of the screen, in parts of one look each.
struct StyledLine: Equatable {
    var parts: [Part] = []

    struct Part: Equatable {
        let text: String
        let style: Style
    }

    enum Style: Equatable {
        case plain, title, header, chosenRow, chosenCell, dim, number, note, error

        /// The parameters of the escape sequence (SGR); colours are those of htop.
        func sequence(hasColors: Bool) -> String {
            switch self {
            case .plain: ""
            case .title: hasColors ? "30;47" : "7"
            case .header: hasColors ? "30;42" : "1;4"
            case .chosenRow: hasColors ? "30;46" : "7"
            case .chosenCell: hasColors ? "1;37;44" : "7;1;4"
            case .dim: hasColors ? "90" : ""
            case .number: hasColors ? "36" : ""
            case .note: "1"
            case .error: hasColors ? "1;37;41" : "7;1"
            }
        }
    }

    init(_ text: String = "", _ style: Style = .plain) { add(text, style) }

    mutating func add(_ text: String, _ style: Style = .plain) {
        if !text.isEmpty { parts.append(Part(text: text, style: style)) }
    }

    var width: Int { parts.reduce(0) { $0 + DisplayWidth.of($1.text) } }
    var text: String { parts.map(\.text).joined() }

    /// Fills the line up to a width.
    mutating func fill(to width: Int, _ style: Style) {
        add(String(repeating: " ", count: max(0, width - self.width)), style)
    }

    /// The bytes for a terminal, without anything in the text that the terminal would act on.
    func encoded(hasColors: Bool) -> String {
        var result = ""
        var column = 1
        var isCertain = true
        for part in parts {
            // Terminals do not agree on the widths of all characters; the next part begins where
            // it has to.
            if !isCertain { result += "\u{1b}[\(column)G" }
            let text = Visible.text(part.text)
            let sequence = part.style.sequence(hasColors: hasColors)
            result += sequence.isEmpty ? text : "\u{1b}[\(sequence)m\(text)\u{1b}[m"
            column += DisplayWidth.of(text)
            isCertain = text.utf8.allSatisfy { $0 < 0x80 }
        }
        return result
    }
}
