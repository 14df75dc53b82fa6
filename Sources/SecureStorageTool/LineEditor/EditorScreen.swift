internal import Foundation

/// Draws the text that is being typed, over several rows of the terminal, and places the cursor.
struct EditorScreen {
    private let descriptor: Int32
    /// The row of the cursor below the first drawn one.
    private var cursorRow = 0
    private var drawn: (prompt: String, text: EditedText, room: Int)?
    /// What precedes the second and all following lines of a text.
    private let continuation: String

    init(_ descriptor: Int32, continuation: String) {
        self.descriptor = descriptor
        self.continuation = continuation
    }

    /// Rows of a text, and the place of the cursor in them.
    struct Layout: Equatable {
        var rows = [""]
        var row = 0
        var column = 0

        /// - Parameters:
        ///   - prompt: What precedes the first line.
        ///   - text: What is typed.
        ///   - continuation: What precedes all other lines.
        ///   - width: The columns of the terminal, at least 2.
        init(_ prompt: String, _ text: EditedText, continuation: String, width: Int) {
            var column = 0
            func add(_ character: Character, to layout: inout Layout) {
                let shown = character == "\t" ? "    " : Visible.text(String(character))
                let columns = DisplayWidth.of(shown)
                if column + columns > width, column > 0 {
                    layout.rows.append("")
                    column = 0
                }
                layout.rows[layout.rows.count - 1] += shown
                column += columns
            }
            func add(_ text: String, to layout: inout Layout) {
                for character in text {
                    if character == "\n" {
                        layout.rows.append("")
                        column = 0
                        for character in continuation { add(character, to: &layout) }
                    } else {
                        add(character, to: &layout)
                    }
                }
            }
            for character in prompt { add(character, to: &self) }
            add(text.before, to: &self)
            // A cursor after a full row is in the next one.
            if column >= width, text.after.first != "\n" {
                rows.append("")
                column = 0
            }
            (row, self.column) = (rows.count - 1, min(column, width - 1))
            add(text.after, to: &self)
        }

        /// Keeps at most `height` rows, those around the cursor.
        mutating func clip(to height: Int) {
            guard rows.count > height else { return }
            let first = min(max(0, row - height + 1), rows.count - height)
            rows = Array(rows[first..<(first + height)])
            row -= first
        }
    }

    /// Whether the terminal marks pasted text.
    private var marksPastes = false

    /// Makes the terminal mark pasted text, whose tabs and line feeds are then no keys.
    mutating func begin() {
        send("\u{1b}[?2004h")
        marksPastes = true
        forget()
    }

    /// Ends what ``begin()`` began.
    mutating func end() {
        if marksPastes { send("\u{1b}[?2004l") }
        marksPastes = false
    }

    /// Draws the text where the last one was drawn.
    mutating func show(_ prompt: String, _ text: EditedText) {
        let size = Terminal.size(of: descriptor) ?? (80, 24)
        if let rest = appended(prompt, text, size.columns) {
            send(rest)
        } else {
            var layout = Layout(
                prompt, text, continuation: continuation, width: max(size.columns, 2))
            layout.clip(to: max(size.rows, 1))
            var bytes = erasing() + layout.rows.joined(separator: "\r\n")
            let below = layout.rows.count - 1 - layout.row
            if below > 0 { bytes += "\u{1b}[\(below)A" }
            bytes += "\r"
            if layout.column > 0 { bytes += "\u{1b}[\(layout.column)C" }
            send(bytes)
            cursorRow = layout.row
            drawn = (prompt, text, size.columns - layout.column)
        }
    }

    /// Returns the characters to send when the text has only grown at its end, within its row.
    private mutating func appended(
        _ prompt: String, _ text: EditedText, _ width: Int
    ) -> String? {
        guard let drawn, drawn.prompt == prompt, drawn.text.after.isEmpty, text.after.isEmpty,
            text.before.hasPrefix(drawn.text.before)
        else { return nil }
        let rest = String(text.before.dropFirst(drawn.text.before.count))
        // An accent that was typed after its letter changes what is drawn.
        guard drawn.text.before + rest == text.before, Visible.text(rest) == rest else {
            return nil
        }
        let room = drawn.room - DisplayWidth.of(rest)
        guard room > 0 else { return nil }
        self.drawn = (prompt, text, room)
        return rest
    }

    /// Ends the drawn text: the cursor goes to the row below it.
    mutating func finish() {
        if let drawn {
            var text = drawn.text
            text.moveToEnd()
            show(drawn.prompt, text)
        }
        end()
        send("\r\n")
        forget()
    }

    /// Removes the drawn text, so that something else can be shown in its place.
    mutating func erase() {
        send(erasing())
        forget()
    }

    mutating func clearAll() {
        send("\u{1b}[H\u{1b}[2J")
        forget()
    }

    /// The drawn text is no longer on the screen, or is left there.
    mutating func forget() {
        cursorRow = 0
        drawn = nil
    }

    private func erasing() -> String {
        (cursorRow > 0 ? "\u{1b}[\(cursorRow)A" : "") + "\r\u{1b}[J"
    }

    func send(_ text: String) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            // A terminal that is gone is noticed when it is read.
            guard count > 0 || errno == EINTR else { return }
            if count > 0 { rest = rest.dropFirst(count) }
        }
    }
}
