/// What a terminal shows after it has received bytes: the sequences of xterm that the program
/// sends, on the main and on the alternate screen.
struct TerminalScreen {
    private(set) var main: [[Character]]
    private(set) var alternate: [[Character]]
    private(set) var isAlternate = false
    private var line = 0
    private var column = 0
    private var saved = (line: 0, column: 0)
    /// Sequences that the terminal would act on and that the program has no reason to send.
    private(set) var unknown: [String] = []
    private let columns: Int

    init(_ bytes: some Sequence<UInt8>, columns: Int, lines: Int) {
        self.columns = columns
        main = Array(repeating: Array(repeating: " ", count: columns), count: lines)
        alternate = main
        var text = Array(String(decoding: Array(bytes), as: UTF8.self).unicodeScalars)[...]
        while let scalar = text.popFirst() { take(scalar, &text) }
    }

    /// The lines that are shown, without the blanks at their ends.
    var lines: [String] { Self.text(isAlternate ? alternate : main) }
    var mainLines: [String] { Self.text(main) }

    private static func text(_ cells: [[Character]]) -> [String] {
        cells.map { line in
            // The second cell of a wide character is empty.
            var text = String(line.filter { $0 != "\0" })
            while text.last == " " { text.removeLast() }
            return text
        }
    }

    private var cells: [[Character]] {
        get { isAlternate ? alternate : main }
        set { if isAlternate { alternate = newValue } else { main = newValue } }
    }

    private mutating func take(
        _ scalar: Unicode.Scalar, _ rest: inout ArraySlice<Unicode.Scalar>
    ) {
        switch scalar {
        case "\u{1b}": sequence(&rest)
        case "\r": column = 0
        case "\n":
            line += 1
            if line == cells.count {
                cells = cells.dropFirst() + [Array(repeating: " ", count: columns)]
                line -= 1
            }
        case "\u{8}": column = max(0, column - 1)
        case _ where scalar.value < 0x20 || (0x7f..<0xa0).contains(scalar.value):
            unknown.append("\(scalar.value)")
        default: put(scalar)
        }
    }

    private mutating func put(_ scalar: Unicode.Scalar) {
        let width = scalar.properties.generalCategory == .nonspacingMark ? 0 : Self.width(scalar)
        guard width > 0 else {
            if column > 0 {
                cells[line][column - 1] = Character("\(cells[line][column - 1])\(scalar)")
            }
            return
        }
        guard column + width <= columns else { return }
        cells[line][column] = Character(scalar)
        if width == 2 { cells[line][column + 1] = "\0" }
        column += width
    }

    private static func width(_ scalar: Unicode.Scalar) -> Int {
        0x2e80...0xd7a3 ~= scalar.value || 0xff00...0xff60 ~= scalar.value ? 2 : 1
    }

    private mutating func sequence(_ rest: inout ArraySlice<Unicode.Scalar>) {
        guard rest.first == "[" else {
            unknown.append("ESC \(rest.first.map { String($0) } ?? "")")
            return
        }
        rest = rest.dropFirst()
        var parameters = ""
        while let scalar = rest.popFirst() {
            guard 0x40...0x7e ~= scalar.value else {
                parameters.unicodeScalars.append(scalar)
                continue
            }
            perform(Character(scalar), parameters)
            return
        }
    }

    private mutating func perform(_ command: Character, _ parameters: String) {
        let numbers = parameters.split(separator: ";").map { Int($0) ?? 0 }
        let blanks: [Character] = Array(repeating: " ", count: columns)
        switch (command, parameters) {
        case ("H", _):
            line = min(cells.count, max(1, numbers.first ?? 1)) - 1
            column = min(columns, max(1, numbers.count > 1 ? numbers[1] : 1)) - 1
        case ("G", _): column = min(columns, max(1, numbers.first ?? 1)) - 1
        case ("K", ""): cells[line].replaceSubrange(column..., with: blanks[column...])
        case ("J", "2"): cells = cells.map { _ in blanks }
        case ("h", "?1049"):
            saved = (line, column)
            isAlternate = true
            alternate = alternate.map { _ in blanks }
        case ("l", "?1049"):
            isAlternate = false
            (line, column) = saved
        case ("m", _), ("h", "?25"), ("l", "?25"), ("h", "?7"), ("l", "?7"): break
        // Bash's bracketed paste.
        case ("h", "?2004"), ("l", "?2004"): break
        default: unknown.append("\(parameters)\(command)")
        }
    }
}
